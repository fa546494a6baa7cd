"""Pages that do something harmless, such as opening a dialog, without end."""

from __future__ import annotations

from collections.abc import Mapping

ATTACHMENT = "/attachment.bin"
SERVICE_WORKER = "/service-worker.js"
_BLOB = "URL.createObjectURL(new Blob(['setInterval(() => fetch(\"/good/1.html\"), 1)']))"

FLOODS: Mapping[str, str] = {
    "popups": """
        for (let n = 0; n < 200; n++) open('/good/' + n + '.html', '_blank');
        setInterval(() => open('/good/1.html'), 5)""",
    "popups-at-click": "document.onclick = () => { for (let n = 0; n < 50; n++) open('about:blank') }",
    "dialogs": "for (;;) alert(confirm('Really?') + prompt('Why?'))",
    "dialog-when-left": "onbeforeunload = (event) => event.preventDefault(); onload = () => location.reload()",
    "print": "for (let n = 0; n < 1000; n++) print()",
    "downloads": f"""
        setInterval(() => {{
          const link = document.createElement("a");
          link.href = "{ATTACHMENT}";
          link.download = "x";
          link.click();
        }}, 5)""",
    "downloads-of-blobs": """
        const href = URL.createObjectURL(new Blob([new Uint8Array(5e6)]));
        setInterval(() => Object.assign(document.createElement("a"), { href, download: "x" }).click(), 5)""",
    "downloads-in-frames": f"""
        setInterval(() => {{
          const frame = document.createElement("iframe");
          frame.src = "{ATTACHMENT}";
          document.body.append(frame);
        }}, 5)""",
    "console": "for (;;) console.log('x'.repeat(1000))",
    "console-objects": """
        setInterval(() => {
          for (let n = 0; n < 500; n++) console.error({ n, window, list: Array(1e4).fill(n) })
        }, 1)""",
    "errors": """
        setInterval(() => {
          for (let n = 0; n < 99; n++) setTimeout(() => { throw new Error('x'.repeat(999)) })
        }, 1)""",
    "rejections": "setInterval(() => { for (let n = 0; n < 999; n++) Promise.reject(new Error('no')) }, 1)",
    "workers": f"const source = {_BLOB}; setInterval(() => new Worker(source), 5)",
    "shared-workers": f"""
        const source = {_BLOB};
        let n = 0;
        setInterval(() => new SharedWorker(source, {{ name: '' + n++ }}), 5)""",
    "service-workers": f"""
        let n = 0;
        setInterval(() => navigator.serviceWorker.register('{SERVICE_WORKER}', {{ scope: '/' + n++ }}), 5)""",
    "frames": "setInterval(() => document.body.append(document.createElement('iframe')), 1)",
    "frames-in-frames": """
        document.body.innerHTML += `<iframe src="${location.pathname}?${Math.random()}"></iframe>`.repeat(3)""",
    "calls": "for (let n = 0; n < 20000; n++) fetch('/good/1.html?' + n)",
    "call-per-millisecond": "let n = 0; setInterval(() => fetch('/good/1.html?' + n++), 1)",
    "calls-of-megabytes": "for (let n = 0; n < 500; n++) fetch('/megabytes?' + n).then((answer) => answer.text())",
    "pictures": "for (let n = 0; n < 20000; n++) new Image().src = '/good/1.html?' + n",
    "web-sockets": "setInterval(() => new WebSocket('ws://' + location.host + '/good/1.html'), 1)",
    "event-sources": "setInterval(() => new EventSource('/good/1.html'), 1)",
    "beacons": "setInterval(() => navigator.sendBeacon('/good/1.html', 'x'.repeat(60000)), 1)",
    "messages": "onmessage = () => postMessage('x'.repeat(1e5)); for (let n = 0; n < 999; n++) postMessage(n)",
    "titles": "let n = 0; setInterval(() => { for (let i = 0; i < 999; i++) document.title = n++ }, 0)",
    "addresses": "let n = 0; setInterval(() => { try { for (;;) history.pushState(0, '', '/?' + n++) } catch {} }, 0)",
    "fragments": "let n = 0; setInterval(() => location.hash = n++, 0)",
    "cookies": """
        setInterval(() => {
          for (let n = 0; n < 999; n++) document.cookie = Math.random() + '=' + 'x'.repeat(3999)
        }, 0)""",
    "timers": "(function more() { setTimeout(more); setTimeout(more) })()",
    "notifications": "setInterval(() => Notification.requestPermission(), 1)",
    "clipboard-and-devices": """
        setInterval(() => {
          for (const ask of [() => navigator.clipboard.readText(),
            () => navigator.geolocation.getCurrentPosition(() => 0),
            () => navigator.mediaDevices.getUserMedia({ video: true }),
            () => navigator.usb.requestDevice({ filters: [] }),
            () => document.body.requestFullscreen(), () => document.body.requestPointerLock()]) {
            try { Promise.resolve(ask()).catch(() => 0) } catch {}
          }
        }, 1)""",
    "rtc": """
        setInterval(() => {
          const c = new RTCPeerConnection(); c.createDataChannel(''); c.setLocalDescription()
        }, 5)""",
}
"""Name -> script."""
