"""Pages as frameworks and people write them, some of which are empty without a browser. All are our own words."""

from __future__ import annotations

_WORDS = "The harbour opens at six, and the first boats leave before the fog has gone. " * 8
_NAV = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("news", "shop", "about", "contact", "help"))
_CARDS = "".join(
    f'<li class="card"><a href="/p/{n}"><img src="/{n}.jpg" alt="">Boat {n}</a> 12.00</li>' for n in range(8)
)
_TAG_MANAGER = (
    "<script>(function(w,d,s,l,i){w[l]=w[l]||[];var j=d.createElement(s);j.src="
    "'https://www.googletagmanager.com/gtm.js?id='+i;d.head.appendChild(j)})(window,document,'script','d','X')</script>"
)
_MENU = "<script>document.querySelector('#menu').onclick = () => document.body.classList.toggle('open')</script>"


def page(body: str, head: str = "") -> str:
    head = f'<meta charset="utf-8"><title>Boats</title>{head}'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'


SHELLS = {
    "react": page(
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>"
        '<script src="/static/js/main.1f2e.js"></script>'
    ),
    "vite": page('<div id="app"></div><script type="module" src="/src/main.ts"></script>'),
    "vue with a plea": page(
        "<noscript><strong>We're sorry but boats doesn't work properly without JavaScript enabled.</strong></noscript>"
        '<div id="app"><!-- built files --></div><script src="/js/chunk-vendors.js"></script>'
    ),
    "angular": page('<app-root></app-root><script src="main.js" type="module"></script>'),
    "angular with a loader": page(
        '<app-root><div class="spinner">Loading...</div></app-root><script src="main.js"></script>'
    ),
    "angularjs": page(
        '<div ng-app="boats"><ng-view></ng-view></div><script src="angular.js"></script><script src="app.js"></script>'
    ),
    "next without server": page(
        '<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{"props":{}}</script>'
        '<script src="/_next/static/chunks/main.js" defer></script>'
    ),
    "nuxt as one page": page(
        '<div id="__nuxt"><div id="loading">Loading</div></div><script>window.__NUXT__={config:{}}</script>'
        '<script src="/_nuxt/entry.js" defer></script>'
    ),
    "gatsby before its build": page('<div id="___gatsby"></div><script src="/app.js"></script>'),
    "svelte": page("<script defer src='/build/bundle.js'></script>"),
    "ember": page(
        '<div id="ember-app"></div><script src="/assets/vendor.js"></script><script src="/assets/boats.js"></script>'
    ),
    "flutter": page('<script src="flutter_bootstrap.js" async></script>'),
    "web assembly": page('<div id="app">Loading...</div><script src="_framework/blazor.webassembly.js"></script>'),
    "custom elements": page('<boat-shop></boat-shop><script type="module" src="/shop.js"></script>'),
    "navigation around an empty mount": page(
        f'<nav><ul>{_NAV}</ul></nav><div id="root"></div><footer>Boats Ltd</footer><script src="/app.js"></script>'
    ),
    "skeleton": page(
        '<div id="root"><div class="skeleton"></div><div class="skeleton"></div></div><script src="/app.js"></script>'
    ),
    "mount filled by an inline script": page(
        '<div id="app"></div><script>fetch("/api").then(r => r.json()).then(d => app.innerHTML = d.html)</script>'
    ),
    "written by an inline script": page("<script>document.write('<ul><li>' + boats.join('<li>') + '</ul>')</script>"),
    "list by jquery": page(
        '<h1>Boats</h1><div id="list"></div><script src="/jquery.js"></script>'
        "<script>$.get('/boats.json', (found) => $('#list').html(found))</script>"
    ),
    "plea in german": page(
        "<noscript>Bitte aktivieren Sie JavaScript, um diese Seite zu sehen.</noscript>"
        f'<header><ul>{_NAV}</ul></header><main></main><script src="/app.js"></script>'
    ),
    "plea in japanese": page(
        '<noscript>JavaScriptを有効にしてください。</noscript><main id="contents"></main><script src="/a.js"></script>'
    ),
    "plea in french, in upper case": page(
        "<NOSCRIPT>VEUILLEZ ACTIVER JAVASCRIPT</NOSCRIPT><MAIN></MAIN><SCRIPT SRC='/A.JS'></SCRIPT>"
    ),
    "redirect by script": page("<script>window.location.href = '/en/'</script>"),
    "redirect by script with a sentence": page(
        "<p>You are being taken to the new site.</p><script>location.replace('https://boats.example/')</script>"
    ),
    "cookie check": page(
        "<script>document.cookie = 'seen=1'; location = location.href + '?seen'</script>Checking your browser"
    ),
    "statistics and a mount": page(f'{_TAG_MANAGER}<div id="root"></div><script src="/main.js"></script>'),
    "inline state of 200 KB": page(
        '<div id="root"></div><script>window.state = "' + "x" * 200_000 + '"</script><script src="/main.js"></script>'
    ),
    "inline style of 100 KB": page(
        '<div id="root"></div><script src="/main.js"></script>', head=f"<style>{'a{b:c}' * 17_000}</style>"
    ),
    "declared shadow root": page(
        f'<boat-list><template shadowrootmode="open"><ul>{_CARDS}</ul></template></boat-list>'
    ),
    "module and a heading": page('<h1>Boats</h1><script type="module">import "/main.js"</script>'),
}

COMPLETE = {
    "article": page(f"<article><h1>Fog</h1><p>{_WORDS * 3}</p></article><script src='/menu.js'></script>"),
    "short article": page(f"<article><h1>Fog</h1><p>{_WORDS}</p></article><script src='/menu.js'></script>"),
    "no script": page("<p>Hello"),
    "it works": "<html><body><h1>It works!</h1></body></html>",
    "not found": page("<h1>404</h1><p>There is no such page. <a href='/'>Home</a></p>" + _TAG_MANAGER),
    "maintenance": page("<h1>We will be back</h1><p>Please try again in an hour.</p>"),
    "react from a server": page(
        f'<div id="root"><main><p>{_WORDS}</p><ul>{_CARDS}</ul></main></div><script src="/main.js"></script>'
    ),
    "next from a server": page(
        f'<div id="__next"><ul>{_CARDS}</ul></div><script id="__NEXT_DATA__" type="application/json">{{}}</script>'
        '<script src="/_next/static/main.js"></script>'
    ),
    "angularjs with content": page(f'<div ng-app="x"><p>{_WORDS}</p></div><script src="angular.js"></script>'),
    "login form": page(
        '<form><input name="user"><input name="password" type="password"></form><script src="/a.js"></script>'
    ),
    "search page": page('<form action="/search"><input name="q"></form><script src="/suggest.js"></script>'),
    "gallery": page(f"<h1>Boats</h1><ul>{_CARDS}</ul><script src='/lightbox.js'></script>"),
    "statistics only": page(f"<p>A small page about boats.</p>{_TAG_MANAGER}"),
    "statistics by source": page(
        "<p>A small page.</p><script async src='https://www.google-analytics.com/analytics.js'></script>"
    ),
    "linked data only": page('<p>A small page.</p><script type="application/ld+json">{"@type": "Boat"}</script>'),
    "a menu by script": page(f"<nav id=menu><ul>{_NAV}</ul></nav><p>{_WORDS[:200]}</p>{_MENU}"),
    "noscript picture": page(
        f"<p>{_WORDS}</p><noscript><img src='https://stats.example/p.gif'></noscript><script src='/a.js'></script>"
    ),
    "plea about comments": page(
        f"<p>{_WORDS}{_WORDS}</p><noscript>Enable JavaScript to see comments.</noscript><script src='/c.js'></script>"
    ),
    "frames": '<html><head><script src="/a.js"></script></head><frameset><frame src="a.html"></frameset></html>',
    "video in a frame": page("<h1>Film</h1><iframe src='/player'></iframe><script src='/resize.js'></script>"),
    "index of a folder": page("<pre>" + "".join(f'<a href="{n}.tar">{n}.tar</a>\n' for n in range(40)) + "</pre>"),
    "contact": page(
        f"<ul>{_NAV}</ul><h1>Contact</h1><p>Quay 4, by the lighthouse. Call before noon, the line is bad.</p>"
        "<script src='/map.js'></script>"
    ),
    "custom elements with content": page(
        f"<site-header>Boats</site-header><amp-img></amp-img><p>{_WORDS}</p><script src='/amp.js'></script>"
    ),
    "chinese, few characters": page("<p>" + "港口每天早上六点开放。" * 40 + "</p><script src='/a.js'></script>"),
    "turbo": page(f"<main><h1>Boats</h1><p>{_WORDS[:300]}</p></main><script src='/turbo.js' type='module'></script>"),
    "a mount beside the text": page(
        f"<article><p>{_WORDS * 4}</p></article><div id='app'></div><script src='/chat.js'></script>"
    ),
    "json": '{"boats": ["<script>"]}',
    "empty": "",
}
