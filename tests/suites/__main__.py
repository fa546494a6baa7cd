"""Runs the suites whose checkouts are in a folder: `python -m tests.suites DIR`. Exits with 1 if fewer cases agree."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.suites import (
    google_robots,
    html5lib_encoding,
    html5lib_tokenizer,
    jsonpath,
    price_parser,
    robots_spec,
    scrapy_tests,
    wpt_encoding,
)
from tests.suites.suite import Suite

SUITES = (
    Suite("jsonpath-compliance-test-suite", "jsonpath-standard/jsonpath-compliance-test-suite", jsonpath.run, 703),
    Suite("robotstxt", "google/robotstxt", google_robots.run, 138),
    Suite("robotstxt-spec-test", "google/robotstxt-spec-test", robots_spec.run, 389),
    Suite("price-parser", "scrapinghub/price-parser", price_parser.run, 1_147),
    Suite("html5lib-tests", "html5lib/html5lib-tests", html5lib_encoding.run, 82),
    Suite("html5lib-tests", "html5lib/html5lib-tests", html5lib_tokenizer.run, 6_630),
    Suite("scrapy", "scrapy/scrapy", scrapy_tests.run, 2_288),
    Suite("wpt", "web-platform-tests/wpt", wpt_encoding.run, 72),
)
SHOWN = 20


def main(folder: Path) -> int:
    worse = missing = 0
    for suite in SUITES:
        checkout = folder / suite.name
        if not checkout.is_dir():
            missing += 1
            print(f"{suite.name}: not in {folder}; clone {suite.source} from GitHub there")
            continue
        result = suite.run(checkout)
        print(f"{suite.name}: {result.agreed:,} of {result.total:,} agree (expected at least {suite.least:,})")
        print("".join(f"  {case}\n" for case in result.differences[:SHOWN]), end="")
        worse += result.agreed < suite.least
    return 1 if worse or missing == len(SUITES) else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make suites DIR=folder, with checkouts of the suites in it")
    sys.exit(main(Path(sys.argv[1])))
