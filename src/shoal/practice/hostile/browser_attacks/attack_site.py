"""A site of pages made by script, a share of which is hostile, and each attack under its name: `/attack/spin.html`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from shoal.practice.expected_results import ExpectedResults
from shoal.practice.hostile.browser_attacks.endless_navigation import ENDLESS_NAVIGATION, NOTHING
from shoal.practice.hostile.browser_attacks.faked_builtins import FAKED_BUILTINS
from shoal.practice.hostile.browser_attacks.floods import ATTACHMENT, FLOODS, SERVICE_WORKER
from shoal.practice.hostile.browser_attacks.hangs import HANG, HANGS
from shoal.practice.hostile.browser_attacks.memory_exhaustion import MEMORY_EXHAUSTION
from shoal.practice.request import Answer, Routes, Site, Visit

ATTACKS: Mapping[str, str] = {**MEMORY_EXHAUSTION, **HANGS, **FLOODS, **ENDLESS_NAVIGATION, **FAKED_BUILTINS}
"""Name -> script."""
NEVER_S = 3_600.0
_GOOD = "/good/"
_ATTACK = "/attack/"
_ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "credentialless"}


@dataclass(frozen=True)
class HostileScripts:
    """The front page links to good pages and, after every `every` of them, to an attack: each in its turn."""

    good: int = 90
    every: int = 9

    addresses = ("127.0.0.1",)

    @cached_property
    def good_paths(self) -> tuple[str, ...]:
        return tuple(f"{_GOOD}{number}.html" for number in range(1, self.good + 1))

    @cached_property
    def attack_paths(self) -> tuple[str, ...]:
        """As often as needed; the query tells one page with the same attack from another."""
        names = itertools.cycle(self._interleaved_names())
        count = self.good // self.every
        return tuple(f"{_ATTACK}{name}.html?{number}" for number, name in enumerate(itertools.islice(names, count)))

    def answer(self, visit: Visit) -> Answer:
        return self._routes.answer(visit)

    def truth(self) -> dict[str, ExpectedResults]:
        """What must be found whatever the attacks do. An attack itself may have any outcome."""
        return {self.addresses[0]: ExpectedResults(pages=dict.fromkeys(("/", *self.good_paths), 200))}

    @cached_property
    def _routes(self) -> Routes:
        table: dict[str, Site] = {
            "/": self._front_page,
            f"{_GOOD}*": _good_page,
            HANG: lambda visit: Answer(200, b"", delay_s=NEVER_S),
            NOTHING: lambda visit: Answer(204, b""),
            "/megabytes": lambda visit: Answer(200, b"x" * 2_000_000, "text/plain"),
            ATTACHMENT: lambda visit: Answer(
                200, b"x" * 1_000_000, "application/octet-stream", {"Content-Disposition": "attachment"}
            ),
            SERVICE_WORKER: lambda visit: Answer(
                200, b"onfetch = () => {}; for (;;) {}", "text/javascript", {"Service-Worker-Allowed": "/"}
            ),
        }
        for name, script in ATTACKS.items():
            table[f"{_ATTACK}{name}.html"] = table[f"POST {_ATTACK}{name}.html"] = _attack_page(name, script)
        return Routes(table)

    def _interleaved_names(self) -> list[str]:
        """One of each kind, then another of each kind: even few pages have crashes, freezes and floods."""
        kinds = itertools.zip_longest(MEMORY_EXHAUSTION, HANGS, FLOODS, ENDLESS_NAVIGATION, FAKED_BUILTINS)
        return [name for names in kinds for name in names if name]

    def _front_page(self, visit: Visit) -> Answer:
        attacks = iter(self.attack_paths)
        links = []
        for number, path in enumerate(self.good_paths, 1):
            links.append(path)
            if number % self.every == 0:
                links.append(next(attacks))
        items = "".join(f'<li><a href="{path}">{path}</a>\n' for path in links)
        return Answer(200, f"<!doctype html><title>Welcome</title><ul>\n{items}</ul>".encode())


def _good_page(visit: Visit) -> Answer:
    """Its words exist only after its script ran."""
    number = visit.path.removeprefix(_GOOD).removesuffix(".html")
    script = f'document.querySelector("#app").innerHTML = "<h1 class=made>Good page " + {number} + "</h1>"'
    page = f'<!doctype html><title>Good page</title><div id="app"></div><script>{script}</script>'
    return Answer(200, page.encode()) if number.isdecimal() else Answer(404, b"")


def _attack_page(name: str, script: str) -> Site:
    inside = script.replace("</script", "<\\/script")
    page = f"<!doctype html><html><head><title>{name}</title></head><body><h1>{name}</h1><script>{inside}</script>"
    return lambda visit: Answer(200, page.encode(), headers=_ISOLATED)
