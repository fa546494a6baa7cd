"""Pages that lie to a script of ours that runs among theirs, or change while they are read."""

from __future__ import annotations

from collections.abc import Mapping

_THROW = "() => { throw new Error('faked') }"

FAKED_BUILTINS: Mapping[str, str] = {
    "fake-queries": f"""
        for (const owner of [Document.prototype, Element.prototype, DocumentFragment.prototype]) {{
          owner.querySelector = owner.querySelectorAll = {_THROW};
        }}""",
    "fake-spinning-queries": """
        Document.prototype.querySelector = Element.prototype.getBoundingClientRect = () => { for (;;) {} }""",
    "fake-json": "JSON.stringify = () => '{}'; JSON.parse = () => ({}); Object.prototype.toJSON = () => 'faked'",
    "fake-promises": f"Promise.prototype.then = {_THROW}; window.Promise = undefined",
    "fake-prototypes": """
        for (const name of ["value", "get", "result", "url", "length", "nodeId", "then"]) {
          Object.defineProperty(Object.prototype, name, { get() { for (;;) {} }, set() {} });
        }""",
    "fake-html": """
        for (const name of ["outerHTML", "innerHTML", "textContent", "innerText"]) {
          for (const owner of [Element.prototype, HTMLElement.prototype, Node.prototype]) {
            try { Object.defineProperty(owner, name, { get: () => "faked" }) } catch {}
          }
        }""",
    "fake-time": "Date.now = performance.now = () => 0; window.setTimeout = window.requestAnimationFrame = () => 0",
    "fake-scroll": """
        Object.defineProperty(Element.prototype, "scrollHeight", { get: () => Math.random() * 1e9 });
        Element.prototype.scrollIntoView = Element.prototype.scrollTo = () => { for (;;) {} }""",
    "endless-scroll": """
        onscroll = () => document.body.insertAdjacentHTML("beforeend", "<p style='height: 2000px'>more");
        document.body.insertAdjacentHTML("beforeend", "<p style='height: 9000px'>more")""",
    "endless-more": """
        document.body.innerHTML += "<button id=more>Load more</button>";
        document.querySelector("#more").onclick = (event) => event.target.before("more ")""",
    "fleeing-button": """
        document.body.innerHTML += "<button id=more style='position: fixed'>Load more</button>";
        setInterval(() => document.querySelector("#more").style.left = Math.random() * 9e4 + "px", 1)""",
    "covered-button": """
        document.body.innerHTML += "<button id=more>Load more</button><p style='position: fixed; inset: 0'></p>\"""",
    "no-document-element": "document.documentElement.remove()",
    "no-body": "document.body.remove()",
    "emptied-later": """
        setInterval(() => {
          document.documentElement?.remove(); document.append(document.createElement('html'))
        }, 1)""",
    "growing-while-read": "setInterval(() => document.body.append('x'.repeat(1e5)), 1)",
    "odd-characters": """
        document.title = document.body.title = '\\u0000\\ud800\\udfff\\uffff\\u202e</title>';
        document.body.append('\\ud800')""",
    "many-shadows": """
        let inner = document.body;
        for (let n = 0; n < 5000; n++) {
          const host = inner.appendChild(document.createElement("div"));
          inner = host.attachShadow({ mode: "closed" });
        }""",
    "shadow-in-template": """
        document.body.innerHTML += '<template shadowrootmode=closed>'.repeat(999) + '<script>alert(1)</script>'""",
}
"""Name -> script."""
