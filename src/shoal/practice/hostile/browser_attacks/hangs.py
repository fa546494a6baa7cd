"""Pages that keep the browser busy, or waiting, for ever."""

from __future__ import annotations

from collections.abc import Mapping

HANG = "/never"
"""A path that never answers."""
_WORKER = "new Worker(URL.createObjectURL(new Blob([`{}`])))"

HANGS: Mapping[str, str] = {
    "spin": "for (;;) {}",
    "spin-after-load": "onload = () => setTimeout(() => { for (;;) {} }, 50)",
    "spin-in-microtasks": "(function next() { Promise.resolve().then(next) })()",
    "spin-in-timers": "setInterval(() => { const end = performance.now() + 200; while (performance.now() < end); }, 0)",
    "spin-in-frames": """
        (function draw() {
          const end = performance.now() + 500;
          while (performance.now() < end) document.body.offsetHeight;
          requestAnimationFrame(draw);
        })()""",
    "spin-in-observer": """
        new MutationObserver(() => document.body.append("x")).observe(document.body, { childList: true });
        document.body.append("x")""",
    "spin-in-regex": "/^(a+)+$/.test('a'.repeat(60) + '!')",
    "spin-in-worker": f"for (let n = 0; n < 4; n++) {_WORKER.format('for (;;) {}')}",
    "spin-in-style": """
        document.head.innerHTML += "<style>" + ":has(:has(b)) b ~ b ".repeat(200) + "{color: red}</style>";
        document.body.innerHTML += "<p>".repeat(400) + "<b></b>".repeat(30000);
        setInterval(() => document.body.classList.toggle("x"), 0)""",
    "spin-when-left": """
        onbeforeunload = onpagehide = onunload = () => { for (;;) {} };
        onload = () => location.reload()""",
    "synchronous-calls": f"""
        for (;;) {{
          const call = new XMLHttpRequest();
          call.open("GET", "{HANG}?" + Math.random(), false);
          try {{ call.send() }} catch {{}}
        }}""",
    "waiting-worker": _WORKER.format("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)"),
    "debugger": "for (;;) debugger",
    "script-that-never-comes": f"""document.write('<script src="{HANG}"></' + 'script>')""",
    "style-that-never-comes": f"""document.write('<link rel=stylesheet href="{HANG}"><script></' + 'script>')""",
    "picture-that-never-comes": f"""document.write('<img src="{HANG}">')""",
    "frame-that-never-comes": f"""document.write('<iframe src="{HANG}"></iframe>')""",
    "endless-document": "for (;;) document.write('<p>more')",
    "reopened-document": "setInterval(() => { document.open(); document.write('<p>again') }, 1)",
    "endless-animation": """
        const style = "animation: a .1s infinite; filter: blur(90px); height: 9000px";
        document.body.innerHTML += `<div style="${style}"></div>`.repeat(99)
          + "<style>@keyframes a { to { transform: rotate(1turn) } }</style>\"""",
}
"""Name -> script."""
