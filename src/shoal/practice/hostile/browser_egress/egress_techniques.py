"""The ways out of a page: elements, scripts, and what a worker, a frame or a header can start.

`{canary}` is the place of the canary for HTTP, `{udp}` that of the one for UDP. `{url}` is a URL of the first, with
the name of the way as its path. `{zone}` is a domain whose names no browser may ask for.
"""

from __future__ import annotations

from collections.abc import Mapping

ELEMENTS: Mapping[str, str] = {
    "img": '<img src="{url}">',
    "srcset": '<img srcset="{url} 1x, {url} 2x">',
    "picture": '<picture><source srcset="{url}"><img></picture>',
    "input-image": '<input type="image" src="{url}">',
    "video": '<video src="{url}" autoplay muted></video>',
    "poster": '<video poster="{url}"></video>',
    "audio": '<audio src="{url}" autoplay></audio>',
    "track": '<video autoplay muted src="/silence.wav"><track default kind="captions" src="{url}"></video>',
    "object": '<object data="{url}"></object>',
    "embed": '<embed src="{url}">',
    "iframe": '<iframe src="{url}"></iframe>',
    "frame-srcdoc": """<iframe srcdoc="<img src='{url}'>"></iframe>""",
    "frame-data": """<iframe src="data:text/html,<img src='{url}'>"></iframe>""",
    "frame-script": """<iframe src="javascript:'<img src={url}>'"></iframe>""",
    "frame-refresh": """<iframe srcdoc="<meta http-equiv=refresh content='0;url={url}'>"></iframe>""",
    "frame-refresh-header": '<iframe src="/refresh?to={url}"></iframe>',
    "frame-redirect": '<iframe src="/redirect?to={url}"></iframe>',
    "img-redirect": '<img src="/redirect?to={url}">',
    "script": '<script src="{url}"></script>',
    "script-module": '<script type="module" src="{url}"></script>',
    "script-redirect": '<script src="/redirect?to={url}"></script>',
    "stylesheet": '<link rel="stylesheet" href="{url}">',
    "icon": '<link rel="icon" href="{url}">',
    "preload": '<link rel="preload" as="image" href="{url}">',
    "modulepreload": '<link rel="modulepreload" href="{url}">',
    "prefetch": '<link rel="prefetch" href="{url}">',
    "prerender": '<link rel="prerender" href="{url}">',
    "preconnect": '<link rel="preconnect" href="{url}">',
    "manifest": '<link rel="manifest" href="{url}">',
    "dns-prefetch": '<link rel="dns-prefetch" href="//dns-prefetch.{zone}">',
    "link-to-name": '<a href="http://link-to-name.{zone}/">a name that may be looked up early</a>',
    "speculation-prefetch": """<script type="speculationrules">
        {{"prefetch": [{{"urls": ["{url}"], "eagerness": "immediate"}}]}}</script>""",
    "speculation-prerender": """<script type="speculationrules">
        {{"prerender": [{{"urls": ["/prerendered?to={url}"], "eagerness": "immediate"}}]}}</script>""",
    "attribution": '<img attributionsrc="{url}" src="data:,">',
    "svg-image": '<svg><image href="{url}" width="9" height="9"/></svg>',
    "svg-use": '<svg><use href="{url}#x"/></svg>',
    "svg-image-document": '<object data="/drawing.svg?to={url}"></object>',
    "xslt": '<iframe src="/document.xml?to={url}"></iframe>',
    "css-import": '<style>@import "{url}";</style>',
    "css-background": '<p style="background: url({url})">x</p>',
    "css-list": '<ul style="list-style-image: url({url})"><li>x</ul>',
    "css-content": '<style>#content::after {{ content: url({url}) }}</style><p id="content">x</p>',
    "css-mask": '<p style="mask-image: url({url})">x</p>',
    "css-border": '<p style="border: 9px solid; border-image: url({url}) 9">x</p>',
    "css-filter": '<p style="filter: url({url}#x)">x</p>',
    "css-shape": '<p style="float: left; shape-outside: url({url})">x</p>',
    "css-cursor": '<p style="cursor: url({url}), auto">x</p>',
    "font": '<style>@font-face {{ font-family: egress; src: url({url}) }}</style><p style="font-family: egress">x</p>',
    "file-frame": '<iframe src="file:///etc/passwd"></iframe>',
    "file-img": '<img src="file:///etc/passwd">',
    "file-script": '<script src="file:///etc/passwd"></script>',
    "browser-frame": '<iframe src="chrome://version"></iframe>',
}
"""Name -> HTML."""

SCRIPTS: Mapping[str, str] = {
    "fetch": "fetch('{url}')",
    "fetch-no-cors": "fetch('{url}', {{ mode: 'no-cors' }})",
    "fetch-post": "fetch('{url}', {{ method: 'POST', mode: 'no-cors', body: 'x' }})",
    "fetch-keepalive": "fetch('{url}', {{ keepalive: true, mode: 'no-cors' }})",
    "fetch-later": "fetchLater('{url}', {{ activateAfter: 0 }})",
    "fetch-redirect": "fetch('/redirect?to={url}', {{ mode: 'no-cors' }})",
    "fetch-file": "fetch('file:///etc/passwd')",
    "xhr": "const x = new XMLHttpRequest(); x.open('GET', '{url}'); x.send()",
    "xhr-sync": "const x = new XMLHttpRequest(); x.open('GET', '{url}', false); x.send()",
    "beacon": "navigator.sendBeacon('{url}', 'x')",
    "event-source": "new EventSource('{url}')",
    "web-socket": "new WebSocket('ws://{canary}/web-socket')",
    "web-socket-tls": "new WebSocket('wss://{canary}/web-socket-tls')",
    "web-socket-stream": "new WebSocketStream('ws://{canary}/web-socket-stream')",
    "web-transport": "new WebTransport('https://{udp}/')",
    "stun": "connect([{{ urls: 'stun:{udp}' }}])",
    "stun-name": "connect([{{ urls: 'stun:stun-name.{zone}:3478' }}])",
    "turn": "connect([{{ urls: 'turn:{udp}', username: 'x', credential: 'x' }}])",
    "turn-tcp": "connect([{{ urls: 'turn:{canary}?transport=tcp', username: 'x', credential: 'x' }}])",
    "rtc-candidate": "candidate('{udp}')",
    "worker-fetch": "worker(`fetch('{url}', {{ mode: 'no-cors' }})`)",
    "worker-import": "worker(`importScripts('{url}')`)",
    "worker-socket": "worker(`new WebSocket('ws://{canary}/worker-socket')`)",
    "worker-nested": "worker('new Worker(URL.createObjectURL(new Blob([`fetch(\"{url}\")`])))')",
    "shared-worker": "new SharedWorker('/run.js?code=' + encodeURIComponent(\"fetch('{url}')\"))",
    "service-worker": "navigator.serviceWorker.register('/run.js?code=' + encodeURIComponent(\"fetch('{url}')\"))",
    "service-worker-import": """
        const code = encodeURIComponent("importScripts('{url}')");
        navigator.serviceWorker.register('/run.js?code=' + code, {{ scope: '/x' }})""",
    "audio-worklet": "new AudioContext().audioWorklet.addModule('{url}')",
    "paint-worklet": "CSS.paintWorklet.addModule('{url}')",
    "import": "import('{url}')",
    "font-face": "new FontFace('x', 'url({url})').load()",
    "image-object": "new Image().src = '{url}'",
    "wasm": "WebAssembly.compileStreaming(fetch('{url}', {{ mode: 'no-cors' }}))",
    "cache": "caches.open('x').then((cache) => cache.add(new Request('{url}', {{ mode: 'no-cors' }})))",
    "background-fetch": "navigator.serviceWorker.ready.then((r) => r.backgroundFetch.fetch('x', '{url}'))",
    "frame-blob": "frame(URL.createObjectURL(new Blob([`<img src='{url}'>`], {{ type: 'text/html' }})))",
    "frame-write": "frame('about:blank').contentDocument.write(`<img src='{url}'>`)",
    "form": "submit('get', '{url}')",
    "form-post": "submit('post', '{url}')",
    "ping": """
        const a = document.body.appendChild(document.createElement('a'));
        a.href = '#x'; a.ping = '{url}'; a.click()""",
    "download": """
        const a = document.body.appendChild(document.createElement('a'));
        frame('about:blank').name = 'download';
        Object.assign(a, {{ href: '{url}', download: 'x', target: 'download' }}).click()""",
    "popup": "open('{url}')",
    "popup-written": "open('about:blank').document.write(`<img src='{url}'>`)",
    "credentials": """
        navigator.credentials.get({{ identity: {{ providers: [{{ configURL: '{url}', clientId: 'x' }}] }} }})""",
    "payment": """
        const total = {{ label: 'x', amount: {{ currency: 'EUR', value: '1' }} }};
        new PaymentRequest([{{ supportedMethods: '{url}' }}], {{ total }}).canMakePayment()""",
    "document-write": "document.write(`<img src='{url}'>`)",
    "network-name": "fetch('file://{canary}/share/x').catch(() => 0); frame('file://{canary}/share/x')",
}
"""Name -> script."""

HEADERS: Mapping[str, str] = {
    "Link": '<http://{canary}/header-preload>; rel="preload"; as="image"',
    "Content-Security-Policy-Report-Only": "img-src 'none'; report-uri http://{canary}/csp-report",
    "Reporting-Endpoints": 'default="http://{canary}/reporting-endpoint"',
    "Report-To": '{{"group": "x", "max_age": 9999, "endpoints": [{{"url": "http://{canary}/report-to"}}]}}',
    "NEL": '{{"report_to": "x", "max_age": 9999, "success_fraction": 1.0}}',
    "Alt-Svc": 'h3="{udp}"; ma=9999',
}
LAST = "main-frame"
"""The way that ends the page: it goes there itself."""
