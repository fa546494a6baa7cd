"""Takes the pictures of the docs: `python -m tests.dashboard.screenshots FOLDER`, or `make screenshots`.

A fleet crawls the practice shop for some minutes, so that the charts have something to show. The picture of the
terminal is what a command printed, as SVG.
"""

from __future__ import annotations

import sys
import tempfile
import time
from html import escape
from pathlib import Path

from shoal.browser.find_browser import find_browser
from shoal.practice import Shop, running
from shoal.store.fleet.tokens import TokenScope
from tests.cli.conftest import Here
from tests.control.live import Live, serving
from tests.control.live import make_tokens as tokens_of
from tests.dashboard.chromium import Tab, chromium
from tests.dashboard.conftest import logged_in
from tests.fleet.running import Running

SHOP = Shop(hosts=3, categories=6, products=600)
CRAWLED_S = 200.0
RULES = {
    "name": "books",
    "items": [
        {
            "name": "Book",
            "each": "article.product_pod",
            "fields": {"title": "h3 a", "price": {"css": ".price_color", "type": "decimal"}},
        }
    ],
    "follow": ["a"],
}
_LINE_PX, _CHAR_PX, _EDGE_PX = 18, 7.85, 16


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        _terminal(Path(home), folder / "terminal.svg")
    with tempfile.TemporaryDirectory() as home:
        _dashboard(Path(home), folder)


def _dashboard(home: Path, folder: Path) -> None:
    with (
        running(SHOP, log=home / "site.log") as site,
        Running(home, processes=1) as fleet,
        serving(fleet.environment, home) as (url, pid),
        chromium(str(find_browser())) as browser,
    ):
        live = Live(fleet, site, url, fleet.by_hand(tokens_of), pid)
        job = live.submit(
            rules={**RULES, "start": [site.url(host=address) for address in site.addresses]}, politeness={"rate": 1.5}
        )
        time.sleep(CRAWLED_S)
        tab = logged_in(browser.tab(), url, live.tokens[TokenScope.ADMIN])
        _picture(tab, f"{url}/jobs/{job}", folder / "dashboard.png", 860)
        _picture(tab, f"{url}/fleet", folder / "fleet.png", 760)


def _picture(tab: Tab, url: str, path: Path, height: int) -> None:
    tab.open(url)
    tab.until("!document.body.innerText.includes('are being counted')")
    tab.screenshot(path, height)


def _terminal(home: Path, path: Path) -> None:
    shoal = Here(home)
    with running(Shop(hosts=1, categories=2, products=24)) as site:
        command = ["crawl", site.url(), "--allow-private", "--rate", "40", "--retries", "1", "-o", "pages.jsonl"]
        ran = shoal.apart(*command)
    lines = [f"$ shoal {' '.join(command)}", *(ran.out + ran.err).splitlines()]
    path.write_text(terminal_svg([line.replace(str(home), "/home/ann") for line in lines]))


def terminal_svg(lines: list[str]) -> str:
    width = round(max(map(len, lines)) * _CHAR_PX + 2 * _EDGE_PX)
    height = len(lines) * _LINE_PX + 2 * _EDGE_PX
    rows = "".join(_text(line, _EDGE_PX + (n + 1) * _LINE_PX - 5) for n, line in enumerate(lines))
    font = 'font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="13"'
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    ground = f'<rect width="{width}" height="{height}" rx="8" fill="#12161c"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{ground}{rows}</svg>\n'


def _text(line: str, y: int) -> str:
    colour = "#8fd3ff" if line.startswith("$") else "#e6eaf0"
    return f'<text x="{_EDGE_PX}" y="{y}" fill="{colour}" xml:space="preserve">{escape(line)}</text>'


if __name__ == "__main__":
    main(Path(sys.argv[1]))
