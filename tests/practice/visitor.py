"""One GET at a time, directly to the site, whatever proxies the environment names."""

import http.client
from urllib.parse import urlsplit


def get(url: str) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    try:
        connection.request("GET", parts._replace(scheme="", netloc="").geturl(), headers={"User-Agent": "tests"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
