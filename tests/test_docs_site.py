"""The documentation as a site: it builds without a warning, and is searched without a network."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.browser.installed_browser import installed_browser
from tests.dashboard.chromium import chromium
from tests.docs_site import ROOT, write_pages

CONFIG = (ROOT / "mkdocs.yml").read_text()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_the_site_builds_without_a_warning_and_is_searched_without_a_network(tmp_path: Path) -> None:
    write_pages(tmp_path / "build/docs")
    (tmp_path / "mkdocs.yml").write_text(CONFIG)
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--strict", "-f", "mkdocs.yml"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0 and "No issues found" in built.stderr, built.stdout + built.stderr
    with served(tmp_path / "build/site") as url, chromium(installed_browser()) as browser:
        tab = browser.tab()
        tab.open(f"{url}/index.html")
        tab.click(".md-search__button")
        tab.until("document.activeElement.shadowRoot?.activeElement?.matches('input')")
        tab.call("Input.insertText", text="dead letter")
        tab.until("/[0-9]+ results/.test(document.activeElement.shadowRoot.textContent)")
        loaded = tab.js("performance.getEntriesByType('resource').map((one) => one.name)")
        assert loaded and [name for name in loaded if not name.startswith(url)] == []
        assert tab.problems == []
