"""Translates the rules of a CrawlSpider, and those of a SitemapSpider."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from shoal.spiders.from_scrapy.job_options import link_rules, method_name
from shoal.spiders.from_scrapy.notes import Untranslatable
from shoal.spiders.from_scrapy.read_spider import ScrapySpider, last_name
from shoal.spiders.from_scrapy.selections import Selection

INDENT = "    "
LINKS = "a[href], area[href]"
_EXTRACTOR = ("allow", "deny", "allow_domains", "deny_domains", "restrict_xpaths")
"""The order of its arguments."""
_UNDERSTOOD = {"allow", "deny", "restrict_css", "restrict_xpaths", "unique", "canonicalize"}


def rules_code(spider: ScrapySpider, rename: Callable[[str], str], source: Sequence[str]) -> tuple[list[str], set[str]]:
    """The body of the start callback, and the imports that it needs."""
    if spider.kind == "SitemapSpider":
        return _sitemap(spider, rename)
    lines: list[str] = []
    for rule in link_rules(spider):
        lines += _rule(spider, rule, rename)
    if not lines:
        spider.note(spider.node, "there are no rules that are written out: write page.follow(...) for the links")
        return [f"{INDENT}return None"], set()
    return lines, {"import re"} if any("re.search" in line for line in lines) else set()


def _rule(spider: ScrapySpider, rule: ast.Call, rename: Callable[[str], str]) -> Iterator[str]:
    given = dict(zip(("link_extractor", "callback", "cb_kwargs", "follow"), rule.args, strict=False))
    given |= {one.arg: one.value for one in rule.keywords if one.arg}
    for name in given.keys() - {"link_extractor", "callback", "follow"}:
        spider.note(given[name], f"{name}= of a rule has no equivalent")
    extractor = _extractor(spider, given.get("link_extractor"))
    callback = method_name(given.get("callback"))
    to = f", to={rename(callback)}" if callback is not None else f", to={rename('parse')}"
    yield f"{INDENT}# the rule of line {rule.lineno}"
    for selector in _selectors(spider, extractor, rule):
        follow = f"page.follow({selector!r}{to})"
        tests = _tests(spider, extractor)
        if tests:
            yield f"{INDENT}yield from (request for request in {follow} if {' and '.join(tests)})"
        else:
            yield f"{INDENT}yield from {follow}"


def _extractor(spider: ScrapySpider, node: ast.expr | None) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Call) or not last_name(node.func).endswith("LinkExtractor"):
        if node is not None:
            spider.note(node, "this link extractor is not written out: the rule takes all links")
        return {}
    given = dict(zip(_EXTRACTOR, node.args, strict=False))
    given |= {one.arg: one.value for one in node.keywords if one.arg}
    for name in sorted(given.keys() - _UNDERSTOOD):
        spider.note(given[name], f"{name}= of a link extractor has no equivalent")
    return given


def _texts(spider: ScrapySpider, node: ast.expr | None) -> list[str]:
    if node is None:
        return []
    try:
        found = ast.literal_eval(node)
    except ValueError:
        spider.note(node, "this part of a rule is not a text: it is left out")
        return []
    return [found] if isinstance(found, str) else [str(one) for one in found]


def _selectors(spider: ScrapySpider, extractor: dict[str, ast.expr], rule: ast.Call) -> list[str]:
    found = []
    for text in _texts(spider, extractor.get("restrict_css")):
        found.append(", ".join(f"{part.strip()} a[href]" for part in text.split(",")))
    for text in _texts(spider, extractor.get("restrict_xpaths")):
        found.append(f"{text.rstrip('/')}//a[@href]" if text.startswith("/") else f"//*[{text}]//a[@href]")
    for selector in list(found):
        try:
            Selection(rule, "xpath" if selector.startswith("/") else "css", selector).check(rule)
        except Untranslatable as fault:
            spider.note(rule, str(fault))
            found.remove(selector)
    return found or [LINKS]


def _tests(spider: ScrapySpider, extractor: dict[str, ast.expr]) -> list[str]:
    allow, deny = (_texts(spider, extractor.get(name)) for name in ("allow", "deny"))
    tests = []
    if allow:
        tests.append(" or ".join(f"re.search({one!r}, request.url)" for one in allow))
    tests += [f"not re.search({one!r}, request.url)" for one in deny]
    if len(allow) > 1 and deny:
        tests[0] = f"({tests[0]})"
    return tests


def _sitemap(spider: ScrapySpider, rename: Callable[[str], str]) -> tuple[list[str], set[str]]:
    """Shoal reads the sitemaps, and the start callback gets every page that they name."""
    rules = spider.attributes.get("sitemap_rules")
    if rules is None:
        return [f"{INDENT}yield from {rename('parse')}(page)"], set()
    lines: list[str] = []
    for rule in rules.elts if isinstance(rules, ast.Tuple | ast.List) else ():
        match rule:
            case ast.Tuple(elts=[ast.Constant(str(pattern)), called]) if (name := method_name(called)) is not None:
                test = "if" if not lines else "elif"
                lines += [f"{INDENT}{test} re.search({pattern!r}, page.url):"]
                lines += [f"{INDENT}{INDENT}yield from {rename(name)}(page)"]
    if not lines:
        spider.note(rules, "sitemap_rules is not written out: choose the callback of each page by page.url")
        return [f"{INDENT}return None"], set()
    for name in ("sitemap_follow", "sitemap_alternate_links"):
        if name in spider.attributes:
            spider.note(spider.attributes[name], f"{name} has no equivalent: give include= to @spider")
    return lines, {"import re"}
