"""The few scripts that run in a page, in a world of their own: the page can change neither them nor what they see.

Elements are also found in open shadow roots.
"""

from __future__ import annotations

import json

_FIND = """
const find = (css, root = document) => {
  const found = root.querySelector(css);
  if (found) return found;
  for (const host of root.querySelectorAll('*')) {
    const inner = host.shadowRoot && find(css, host.shadowRoot);
    if (inner) return inner;
  }
  return null;
};
"""
_BOX = """
const box = (element) => {
  element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const r = element.getBoundingClientRect();
  return r.width && r.height ? [r.x, r.y, r.width, r.height] : null;
};
"""
_TEXT = """
const shows = (text, root = document.body) => {
  if (!root) return false;
  if ((root.innerText ?? root.textContent).includes(text)) return true;
  for (const host of root.querySelectorAll('*'))
    if (host.shadowRoot && shows(text, host.shadowRoot)) return true;
  return false;
};
"""
HTML_LENGTH = "document.documentElement ? document.documentElement.outerHTML.length : 0"
SCROLL = """
(() => { const e = document.scrollingElement; if (!e) return 0; e.scrollTo(0, 1e9); return e.scrollHeight })()
"""
HEIGHT = "document.scrollingElement ? document.scrollingElement.scrollHeight : 0"
TIMINGS = """
(() => { const n = performance.getEntriesByType('navigation')[0]; return n ? {first_byte: n.responseStart / 1e3,
  parsed: n.domContentLoadedEventEnd / 1e3, loaded: n.loadEventEnd / 1e3} : {} })()
"""
NO_WORKERS = "try { delete Navigator.prototype.serviceWorker; delete window.SharedWorker } catch {}"
"""They have processes of their own, outlive the page, and request things without its headers."""


def is_there(css: str) -> str:
    return _function(_FIND, f"return !!find({json.dumps(css)})")


def shows_text(text: str) -> str:
    return _function(_TEXT, f"return shows({json.dumps(text)})")


def box_of(css: str) -> str:
    """`[x, y, width, height]`; null if it is not visible, false if there is none."""
    return _function(_FIND + _BOX, f"const e = find({json.dumps(css)}); return e ? box(e) : false")


def focus(css: str) -> str:
    body = f"const e = find({json.dumps(css)}); if (!e) return false; e.focus(); if (e.select) e.select(); return true"
    return _function(_FIND, body)


def choose(css: str, value: str) -> str:
    """False if there is no such element, null if it has no such option."""
    body = f"""
const e = find({json.dumps(css)}), wanted = {json.dumps(value)};
if (!e) return false;
const option = [...e.options ?? []].find(o => o.value === wanted || o.label.trim() === wanted.trim());
if (!option) return null;
option.selected = true;
for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {{bubbles: true}}));
return true
"""
    return _function(_FIND, body)


def submit(css: str) -> str:
    """True if it is a form, which was submitted; false if there is none; null if it must be clicked."""
    body = f"""
const e = find({json.dumps(css)});
if (!e) return false;
if (e.tagName !== 'FORM') return null;
e.requestSubmit();
return true
"""
    return _function(_FIND, body)


def _function(declarations: str, body: str) -> str:
    return f"(() => {{{declarations}{body}}})()"
