"""Pages in a browser that show the jobs of a home or a fleet, and control them.

The pages are rendered here, on the server; a small script fetches the open page again every few seconds and changes
what differs. They work without the script, too. `source.py` is all that a home and a fleet do differently.
"""
