"""The command line of the browser."""

from __future__ import annotations

_DEAD_END = "socks5://127.0.0.1:9"
"""The proxy of what belongs to no page. Nothing listens there; each page has a proxy of its own."""
_NO_UDP = "disable_non_proxied_udp"
_FEATURES_OFF = (
    *("MediaRouter", "OptimizationHints", "Translate", "BackForwardCache", "PaintHolding", "HttpsUpgrades"),
    *("Prerender2", "IsolateOrigins", "site-per-process", "CertificateTransparencyComponentUpdater"),
)

_LEAN = (
    *("--headless", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu"),
    *("--disable-software-rasterizer", "--mute-audio", "--hide-scrollbars", "--disable-extensions", "--disable-sync"),
    *("--disable-component-update", "--disable-default-apps", "--disable-breakpad", "--disable-crash-reporter"),
    *("--disable-field-trial-config", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    *("--disable-backgrounding-occluded-windows", "--disable-logging", "--log-level=3"),
)
_CLOSED = (
    f"--proxy-server={_DEAD_END}",
    # Without it, pages reach this machine's own servers past the proxy.
    "--proxy-bypass-list=<-loopback>",
    # The first is the headless shell's name of the flag, the second is Chromium's. Each ignores the other's silently.
    f"--force-webrtc-ip-handling-policy={_NO_UDP}",
    f"--webrtc-ip-handling-policy={_NO_UDP}",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    *("--disable-quic", "--no-pings", "--disable-background-networking", "--dns-prefetch-disable"),
    # No popups. Only the headless shell knows it; elsewhere they are closed as they appear.
    "--block-new-web-contents",
    # Frames of other sites run in the process of their page, which has a memory limit and is ended with the page.
    "--disable-site-isolation-trials",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--js-flags=--max-old-space-size=512",
)


def command(program: str, agent: str, profile: str) -> list[str]:
    """There is no --no-sandbox here, and never will be: pages are not to be trusted."""
    return [program, *_LEAN, *_CLOSED, f"--user-agent={agent}", f"--user-data-dir={profile}", "about:blank"]
