"""Request -> exchange: libcurl with an address guard, content codings, charsets, cookies and robots.txt."""
