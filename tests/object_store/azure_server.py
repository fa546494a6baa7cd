"""A server of Azure's blob storage on loopback (azurite), and the variables by which clients find it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile

import pytest

PROGRAM = Path(__file__).parents[2] / ".venv/azurite/node_modules/.bin/azurite-blob"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Those that azurite is made with."""
_LISTENS = re.compile(rb"successfully listens on (http://\S+)")


class AzureServer:
    def __init__(self, address: str) -> None:
        self.endpoint = f"{address}/{ACCOUNT}"
        self._made = count()

    def env(self) -> dict[str, str]:
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": self.endpoint,
        }

    def new_bucket(self) -> str:
        """Its URL."""
        name = f"container-{next(self._made)}"
        about = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        lines = "\n".join(f"{name}:{value}" for name, value in about.items())
        text = "PUT" + "\n" * 12 + f"{lines}\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        signed = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        headers = {**about, "Authorization": f"SharedKey {ACCOUNT}:{signed}"}
        url = f"{self.endpoint}/{name}?restype=container"
        urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers)).close()
        return f"az://{name}"


@contextmanager
def running_azure() -> Iterator[AzureServer]:
    if not PROGRAM.exists():
        pytest.skip("azurite is missing: make azurite")
    command = ["node", str(PROGRAM), "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck"]
    with TemporaryFile() as log:
        process = subprocess.Popen([*command, "--disableTelemetry"], stdout=log, stderr=subprocess.STDOUT)
        try:
            yield AzureServer(_address_of(process, log.fileno()))
        finally:
            process.kill()
            process.wait()


def _address_of(process: subprocess.Popen[bytes], log: int) -> str:
    while True:
        ended = process.poll() is not None
        said = os.pread(log, 1 << 16, 0)
        if found := _LISTENS.search(said):
            return found[1].decode()
        assert not ended, f"azurite ended: {said.decode()}"
        time.sleep(0.05)
