"""The archive: raw exchanges as WARC/1.1 segments, one gzip member per record, under a folder per job.

A segment is written under another name until it is sealed; what a page row refers to is on the disk before the row is.
"""
