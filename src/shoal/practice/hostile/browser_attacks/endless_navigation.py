"""Pages that go somewhere else, again and again, or nowhere."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.practice.hostile.browser_attacks.floods import ATTACHMENT
from shoal.practice.hostile.browser_attacks.hangs import HANG

NOTHING = "/nothing"
"""A path that answers 204."""
_LEAVE = "location.href = location.pathname + '?' + Math.random()"

ENDLESS_NAVIGATION: Mapping[str, str] = {
    "reload-loop": "location.reload()",
    "reload-loop-after-load": "onload = () => setTimeout(() => location.reload(), 20)",
    "leave-loop": _LEAVE,
    "leave-timer": f"setInterval(() => {{ {_LEAVE} }}, 1)",
    "refresh-loop": """document.head.innerHTML += '<meta http-equiv="refresh" content="0">'""",
    "form-loop": "document.body.innerHTML += '<form method=post></form>'; document.forms[0].submit()",
    "back-and-forth": "history.pushState(0, '', '?x'); setInterval(() => { history.back(); history.forward() }, 1)",
    "leave-to-nothing": f"setInterval(() => location.href = '{NOTHING}', 5)",
    "leave-to-attachment": f"setInterval(() => location.href = '{ATTACHMENT}?' + Math.random(), 5)",
    "leave-to-silence": f"location.href = '{HANG}'",
    "leave-to-program": """
        for (const href of ['mailto:x@x.invalid', 'tel:1', 'ms-word:x', 'steam:x', 'x:x']) location.href = href""",
    "leave-to-browser-pages": """
        for (const href of ["chrome://crash", "chrome://settings", "file:///etc/passwd", "view-source:/",
          "about:config", "devtools://devtools/bundled/inspector.html", "chrome-error://chromewebdata",
          "filesystem:x", "intent:x"]) {
          try { location.href = href } catch {}
          try { open(href) } catch {}
        }""",
    "leave-to-script": "location.href = 'javascript:for(;;){}'",
    "leave-to-blob": """
        location.href = URL.createObjectURL(new Blob(['<script>for(;;){}</script>'], { type: 'text/html' }))""",
    "frame-takes-over": """
        const inside = "<script>setInterval(() => top.location.href = '/?' + Math.random(), 1)</script>";
        document.body.innerHTML += `<iframe srcdoc="${inside}"></iframe>`""",
    "window-closed": "setInterval(() => { close(); stop() }, 1)",
    "long-address": "history.replaceState(0, '', '?' + 'x'.repeat(1.9e6)); location.href = '?' + 'y'.repeat(1.9e6)",
}
"""Name -> script."""
