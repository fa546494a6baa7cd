"""Pages of the practice shop that exist only after a script ran: with a browser they list what the plain page lists."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.exchange import Exchange
from shoal.model.rendering import Rendering, Viewport
from shoal.practice import Running, Shop
from shoal.practice.account import PASSWORD, USER
from tests.browser.rendering import cards, failed, rendered, text_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
HOST = "127.0.0.1"
ALL_THERE = {"wait": "body[data-done]", "timeout": 60}
"""Scripts of these pages set it when the last product is there. A machine under load pauses between two calls."""
STEPS: dict[str, list[dict[str, Any]]] = {
    "scroll": [{"scroll": True}],
    "more": [{"click": "button", "until_gone": True}],
    **{name: [ALL_THERE] for name in ("list", "late", "poll", "chain", "shadow-open", "shadow-closed", "routed")},
}


@pytest.mark.parametrize(
    "name",
    [
        "list",
        "scroll",
        "more",
        "late",
        "poll",
        "chain",
        "either",
        "shadow-open",
        "shadow-closed",
        "shadow-declared",
        "routed",
    ],
)
async def test_a_page_lists_all_products(fetcher: BrowserFetcher, shop_site: Running, shop: Shop, name: str) -> None:
    answer = await rendered(fetcher, shop_site.url(f"/app/{name}.html"), STEPS.get(name, []))
    assert cards(answer) == shop.items(HOST)
    assert answer.status == 200 and answer.rendered is not None
    assert b"<article" not in answer.raw or name in ("either", "shadow-declared")


async def test_calls_of_scripts_are_kept_with_their_answers(fetcher: BrowserFetcher, shop_site: Running) -> None:
    answer = await rendered(fetcher, shop_site.url("/app/list.html"))
    assert answer.rendered is not None
    calls = [call for call in answer.rendered.calls if "/api/products" in call.url]
    assert len(calls) == 3 and {call.status for call in calls} == {200}
    assert all(call.content_type.startswith("application/json") and call.body.startswith(b"{") for call in calls)
    assert calls[0].head.startswith(b"HTTP/1.1 200") and calls[0].request.startswith(b"GET /api/products")


async def test_the_site_is_asked_for_scripts_once_and_for_pictures_never(
    fetcher: BrowserFetcher, shop_site: Running
) -> None:
    for _ in range(2):
        await rendered(fetcher, shop_site.url("/app/list.html"))
    asked = [entry.path for entry in shop_site.log()]
    assert asked.count("/app/app.js") == asked.count("/app/app.css") == 1
    assert not any(path.startswith("/app/photo/") for path in asked)


async def test_pictures_are_loaded_if_asked_for(fetcher: BrowserFetcher, shop_site: Running) -> None:
    await rendered(fetcher, shop_site.url("/app/list.html"), rendering=Rendering(load_images=True))
    assert any(entry.path.startswith("/app/photo/") for entry in shop_site.log())


async def test_a_cookie_that_the_browser_refuses_costs_no_page(fetcher: BrowserFetcher, shop_site: Running) -> None:
    # Chromium takes none of several cookies if it refuses one of them: here, one with a control character.
    page = await rendered(fetcher, shop_site.url("/app/list.html"), cookies="bad=\x01; good=1")
    assert page.status == 200


async def test_a_login_by_steps_serves_later_requests_of_the_jar(fetcher: BrowserFetcher, shop_site: Running) -> None:
    jar = CookieJar()
    steps = [
        {"fill": "[name=user]", "value": USER},
        {"fill": "[name=password]", "value": PASSWORD},
        {"select": "select", "value": "here"},
        {"submit": "button"},
        {"wait": "#orders"},
    ]
    await rendered(fetcher, shop_site.url("/app/login.html"), steps, jar=jar)
    assert any("app_token" in line for line in jar.changed_lines())
    orders = await rendered(fetcher, shop_site.url("/app/orders-plain.html"), jar=jar)
    assert orders.status == 200 and b"<table" in orders.body


async def test_a_way_that_a_script_takes_is_told_and_not_followed(fetcher: BrowserFetcher, shop_site: Running) -> None:
    answer = await rendered(fetcher, shop_site.url("/app/moved.html"))
    assert answer.rendered is not None
    assert answer.rendered.leads_to == shop_site.url("/app/list.html")


async def test_locale_time_zone_and_viewport_are_as_asked(fetcher: BrowserFetcher, shop_site: Running) -> None:
    rendering = Rendering(viewport=Viewport(412, 915, True), locale="de-DE", time_zone="Asia/Tokyo")
    text = text_of(await rendered(fetcher, shop_site.url("/app/where.html"), rendering=rendering))
    assert "de-DE" in text and "Asia/Tokyo" in text and "412" in text


async def test_a_step_that_fails_is_named(fetcher: BrowserFetcher, shop_site: Running) -> None:
    url = shop_site.url("/app/list.html")
    waited = await failed(fetcher, url, [{"scroll": 1}, {"wait": ".nothing", "timeout": 0.3}])
    assert waited.kind == "step"
    assert waited.detail == "step 2 (wait .nothing) failed: no element matches within 0.3 s"
    wrong = await failed(fetcher, url, [{"click": "a[["}])
    assert wrong.detail.startswith("step 1 (click a[[) failed: ") and "selector" in wrong.detail


async def test_pictures_and_pdf_are_taken(fetcher: BrowserFetcher, shop_site: Running) -> None:
    steps: list[dict[str, Any]] = [{"screenshot": True}, {"screenshot": "article"}, {"pdf": True}]
    answer = await rendered(fetcher, shop_site.url("/app/list.html"), steps)
    assert answer.rendered is not None
    assert [picture.kind for picture in answer.rendered.pictures] == ["view", "element", "pdf"]
    page, element, pdf = (picture.body for picture in answer.rendered.pictures)
    assert page.startswith(b"\x89PNG") and element.startswith(b"\x89PNG") and pdf.startswith(b"%PDF")
    assert len(page) > len(element)


async def test_blocked_urls_are_not_requested(fetcher: BrowserFetcher, shop_site: Running) -> None:
    before = len([entry for entry in shop_site.log() if entry.path.startswith("/api/")])
    answer = await rendered(fetcher, shop_site.url("/app/list.html"), rendering=Rendering(block=("/api/*page=1",)))
    assert isinstance(answer, Exchange) and not cards(answer)
    assert len([entry for entry in shop_site.log() if entry.path.startswith("/api/")]) == before
