"""Request -> page: libcurl under an egress guard, content codings, charsets, cookies and robots.txt."""
