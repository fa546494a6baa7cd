"""Start URLs, scope and settings of a Scrapy spider, as arguments of `@spider`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from shoal.spiders.from_scrapy.read_spider import START_METHODS, Method, ScrapySpider, last_name
from shoal.urls.fingerprint import registrable_domain


def _number(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {name: value} if value else {}


def _rate(delay_s: Any) -> dict[str, Any]:
    rate = round(1 / float(delay_s), 3) if delay_s else 0.0
    return {"rate": int(rate) if rate.is_integer() else rate} if rate else {}


def _headers(headers: Any) -> dict[str, Any]:
    return {"header": tuple(f"{name}: {value}" for name, value in dict(headers).items())}


OPTIONS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "CLOSESPIDER_PAGECOUNT": _number("max_pages"),
    "CLOSESPIDER_TIMEOUT": _number("max_seconds"),
    "CONCURRENT_REQUESTS_PER_DOMAIN": _number("per_host"),
    "COOKIES_ENABLED": lambda value: {} if value else {"no_cookies": True},
    "DEFAULT_REQUEST_HEADERS": _headers,
    "DEPTH_LIMIT": _number("max_depth"),
    "DOWNLOAD_DELAY": _rate,
    "DOWNLOAD_MAXSIZE": _number("max_page_bytes"),
    "DOWNLOAD_TIMEOUT": _number("timeout"),
    "RETRY_TIMES": lambda value: {"retries": value},
    "RETRY_ENABLED": lambda value: {} if value else {"retries": 0},
    "USER_AGENT": lambda value: {"header": (f"User-Agent: {value}",)},
}
WITHOUT_LOSS = frozenset(
    (
        *(
            "AUTOTHROTTLE_ENABLED",
            "AUTOTHROTTLE_TARGET_CONCURRENCY",
            "BOT_NAME",
            "CONCURRENT_REQUESTS",
            "DUPEFILTER_CLASS",
        ),
        *("FEED_EXPORT_ENCODING", "JOBDIR", "LOG_ENABLED", "LOG_LEVEL", "SCHEDULER", "TELNETCONSOLE_ENABLED"),
    )
)
"""What Shoal does anyway, or what its command line says."""
INSTEAD = {
    "FEEDS": "choose the output with `shoal crawl -o FILE`",
    "ITEM_PIPELINES": "write steps (@NAME.step) that change items, and give --sink to store them",
    "ROBOTSTXT_OBEY": "Shoal obeys robots.txt unless you give --ignore-robots",
    "HTTPCACHE_ENABLED": "Shoal keeps every response: `shoal extract ID` runs a changed spider over them",
    "DOWNLOADER_MIDDLEWARES": "use options such as --header, --proxy and --render",
    "SPIDER_MIDDLEWARES": "write what they do into the callbacks",
}


def options_of(spider: ScrapySpider, urls: list[str]) -> dict[str, Any]:
    options = _scope(spider, urls)
    settings = spider.constant("custom_settings")
    if settings is None and "custom_settings" in spider.attributes:
        spider.note(
            spider.attributes["custom_settings"], "custom_settings is not a literal: give its settings as options"
        )
    for name, value in (settings or {}).items():
        node = _place_of(spider.attributes["custom_settings"], name)
        _merge(options, _translated(spider, str(name), value, node))
    if (delay := spider.constant("download_delay")) is not None:
        _merge(options, _rate(delay))
    if spider.kind == "SitemapSpider":
        options["sitemaps"] = True
    return options


def _merge(options: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        options[name] = (*options[name], *value) if name == "header" and name in options else value


def _translated(spider: ScrapySpider, name: str, value: Any, node: ast.AST) -> dict[str, Any]:
    if name in OPTIONS:
        try:
            return OPTIONS[name](value)
        except (TypeError, ValueError):
            spider.note(node, f"the setting {name} has the value {value!r}, which is not understood")
            return {}
    if name not in WITHOUT_LOSS and not (name == "ROBOTSTXT_OBEY" and value):
        spider.note(node, f"the setting {name} has no equivalent: {INSTEAD.get(name, 'see docs/from-scrapy.md')}")
    return {}


def _place_of(settings: ast.expr, name: str) -> ast.AST:
    if isinstance(settings, ast.Dict):
        for key in settings.keys:
            if isinstance(key, ast.Constant) and key.value == name:
                return key
    return settings


def _scope(spider: ScrapySpider, urls: list[str]) -> dict[str, Any]:
    """Scrapy limits a spider only by `allowed_domains`."""
    allowed = spider.constant("allowed_domains")
    if not allowed:
        return {"scope": "any"}
    hosts = {urlsplit(url).hostname or "" for url in urls}
    names = [str(name).lower().removeprefix("www.") for name in ([allowed] if isinstance(allowed, str) else allowed)]
    if len(names) == 1 and hosts and all(_is_below(host, names[0]) for host in hosts):
        return {"scope": "domain"} if registrable_domain(names[0]) == names[0] and "." in names[0] else {}
    node = spider.attributes["allowed_domains"]
    spider.note(node, f"allowed_domains ({', '.join(names)}): the scope is any host; add include= with their patterns")
    return {"scope": "any"}


def _is_below(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def start_urls(spider: ScrapySpider) -> tuple[list[str], str]:
    """The start URLs, and the name of the callback that gets their pages."""
    for name in START_METHODS:
        if (method := spider.methods.get(name)) is None:
            continue
        if not _asks_base(method):
            return _requested(spider, method)
        spider.note(method, f"{name} adds requests to those of its base class: yield them from @NAME.on_start")
    attribute = "sitemap_urls" if spider.kind == "SitemapSpider" else "start_urls"
    found = spider.constant(attribute)
    if found is None and attribute in spider.attributes:
        spider.note(spider.attributes[attribute], f"{attribute} is not a list of texts: name the URLs in @spider")
    return [str(url) for url in found] if isinstance(found, list | tuple | set) else [], "parse"


def _requested(spider: ScrapySpider, method: Method) -> tuple[list[str], str]:
    """The texts in the method that are URLs: its requests are usually made of them."""
    urls = [url for node in ast.walk(method) if (url := _url(node))]
    if not urls and isinstance(given := spider.constant("start_urls"), list | tuple):
        urls = [str(url) for url in given]
    callbacks = [name for node in ast.walk(method) if (name := _callback(node))]
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and last_name(node.func).endswith("Request"):
            for keyword in node.keywords:
                if keyword.arg not in ("url", "callback", "dont_filter", None):
                    spider.note(keyword.value, f"{keyword.arg}= of a start request: yield it from @NAME.on_start")
    if urls and (logic := _logic_of(method)) is not None:
        spider.note(logic, f"{method.name} decides what it requests: check the URLs in @spider")
    if not urls:
        spider.note(method, f"the URLs of {method.name} are not written out: name them in @spider")
    return list(dict.fromkeys(urls)), callbacks[0] if callbacks else "parse"


def _asks_base(method: Method) -> bool:
    """`super().start()`"""
    return any(isinstance(node, ast.Call) and last_name(node.func) == "super" for node in ast.walk(method))


def _logic_of(method: Method) -> ast.AST | None:
    """The first part of the method that makes URLs, or chooses them."""
    for node in ast.walk(method):
        match node:
            case ast.If() | ast.IfExp() | ast.BinOp() | ast.JoinedStr():
                return node
            case ast.Call(func=ast.Name("getattr")) | ast.Call(func=ast.Attribute(attr="format" | "urljoin")):
                return node
    return None


def _url(node: ast.AST) -> str | None:
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return text if text.startswith(("http://", "https://")) and len(text) > 8 else None


def _callback(node: ast.AST) -> str | None:
    match node:
        case ast.Call(func=func, args=args, keywords=keywords) if last_name(func).endswith("Request"):
            named = [keyword.value for keyword in keywords if keyword.arg == "callback"] or args[1:2]
            return method_name(named[0]) if named else None
    return None


def called_back(node: ast.AST) -> Iterator[str]:
    """The methods that a call or a rule names as a callback."""
    if isinstance(node, ast.Call):
        named = [one.value for one in node.keywords if one.arg in ("callback", "errback")]
        is_request = last_name(node.func).endswith(("Request", "follow", "follow_all"))
        for one in (*named, *(node.args[1:2] if is_request else ())):
            if (name := method_name(one)) is not None:
                yield name


def method_name(node: ast.expr | None) -> str | None:
    """`self.parse_book` and "parse_book" -> parse_book."""
    match node:
        case ast.Attribute(value=ast.Name("self"), attr=name):
            return name
        case ast.Constant(value=str(name)) if name.isidentifier():
            return name
    return None


def link_rules(spider: ScrapySpider) -> Iterator[ast.Call]:
    """The rules of a CrawlSpider."""
    rules = spider.attributes.get("rules")
    if isinstance(rules, ast.Tuple | ast.List):
        yield from (one for one in rules.elts if isinstance(one, ast.Call) and last_name(one.func) == "Rule")
    elif rules is not None:
        spider.note(rules, "rules is not a list of Rule(...): write page.follow(...) for each")
