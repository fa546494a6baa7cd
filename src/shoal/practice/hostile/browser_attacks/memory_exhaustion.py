"""Pages that take memory or disk. Each stops at 4 GB, so that a browser without a guard does not take the machine."""

from __future__ import annotations

from collections.abc import Mapping

_LIMIT_MB = 4_000
_EVERY_10_MS = f"""
    const kept = [];
    let megabytes = 0;
    const timer = setInterval(() => {{ if ((megabytes += 20) > {_LIMIT_MB}) clearInterval(timer); else take() }}, 10);
    function take() {{ %s }}"""
_FILLED = "new Uint8Array(20e6).fill(megabytes)"


def _take(script: str) -> str:
    """Runs it again and again; each time it takes about 20 MB."""
    return _EVERY_10_MS % script


MEMORY_EXHAUSTION: Mapping[str, str] = {
    # V8 ends the process when its heap is full.
    "crash": "const kept = []; for (;;) kept.push(new Array(1e6).fill(0.5))",
    "crash-after-load": "onload = () => { const kept = []; for (;;) kept.push(new Array(1e6).fill(0.5)) }",
    "deep-recursion": "(function deeper() { try { deeper() } finally { deeper() } })()",
    "heap": _take("kept.push(Array.from({ length: 4e5 }, (_, n) => ({ n, text: 'x' + n })))"),
    "strings": _take("kept.push(new TextDecoder().decode(new Uint8Array(20e6).fill(120)) + megabytes)"),
    "buffers": _take(f"kept.push({_FILLED})"),
    "canvases": _take("""
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = 2200;
        canvas.getContext("2d").fillRect(0, 0, 2200, 2200);
        kept.push(canvas)"""),
    "bitmaps": _take("createImageBitmap(new ImageData(2200, 2200)).then((made) => kept.push(made))"),
    "blobs": _take(f"kept.push(new Blob([{_FILLED}]))"),
    "workers-that-allocate": _take("""
        const source = "const kept = new Uint8Array(18e6).fill(1); setInterval(() => kept[0]++, 1e3)";
        kept.push(new Worker(URL.createObjectURL(new Blob([source]))))"""),
    "wasm": _take("""
        const memory = new WebAssembly.Memory({ initial: 320 });
        new Uint8Array(memory.buffer).fill(1);
        kept.push(memory)"""),
    "audio": _take("kept.push(new AudioBuffer({ length: 5e6, sampleRate: 44100 }).getChannelData(0).fill(1))"),
    "huge-dom": _take("document.body.insertAdjacentHTML('beforeend', '<p><b>x</b>'.repeat(20000))"),
    "deep-dom": """
        let inner = document.body;
        for (let n = 0; n < 200000; n++) inner = inner.appendChild(document.createElement("div"));
        inner.textContent = "deep\"""",
    "huge-text": "document.body.append('x'.repeat(300e6))",
    "huge-attribute": "document.body.title = '&'.repeat(50e6)",
    "huge-picture": "document.body.innerHTML += '<div style=\"height: 10000000px; width: 9000px\">tall</div>'",
    "indexed-db": """
        indexedDB.open("x").onupgradeneeded = ({ target: { result: db } }) => {
          const store = db.createObjectStore("x", { autoIncrement: true });
          for (let n = 0; n < 100; n++) store.add(new Uint8Array(20e6).fill(n));
        }""",
    "cache-storage": """
        caches.open("x").then(async (cache) => {
          for (let n = 0; n < 200; n++) await cache.put("/" + n, new Response(new Uint8Array(20e6).fill(n)));
        })""",
    "file-system": """
        navigator.storage.getDirectory().then(async (folder) => {
          const file = await (await folder.getFileHandle("x", { create: true })).createWritable();
          for (let n = 0; n < 200; n++) await file.write(new Uint8Array(20e6).fill(n));
          await file.close();
        })""",
    "local-storage": "for (let n = 0; n < 1e4; n++) try { localStorage[n] = 'x'.repeat(1e5) } catch {}",
}
"""Name -> script."""
