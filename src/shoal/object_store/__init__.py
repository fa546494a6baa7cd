"""Object stores: buckets of Amazon S3 and what speaks its protocol, Google Cloud Storage, Azure; and local folders.

`open_store(url)` gives the store of one prefix. Every call blocks: call it from a thread, not from an event loop. An
object is there whole or not at all, under its final name. Credentials come from the providers' own variables and files,
never from a URL.
"""
