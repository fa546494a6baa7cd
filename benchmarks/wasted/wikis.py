"""MediaWiki and DokuWiki with articles of two versions each, as their packages set them up."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from benchmarks.wasted.articles import Article, articles
from benchmarks.wasted.logging_server import Content, php_scripts, unused_port

_MEDIAWIKI = Path("/usr/share/mediawiki")
_DOKUWIKI = Path("/usr/share/dokuwiki")
_PASSWORD = "a-long-password-of-loopback"
_MEDIAWIKI_ROUTER = """
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path !== '/' && strpos($path, '/index.php') !== 0 && is_file($_SERVER['DOCUMENT_ROOT'] . $path)) return false;
if (strpos($path, '/index.php') !== 0 && $path !== '/') { http_response_code(404); exit('Not found'); }
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
$_SERVER['PATH_INFO'] = substr($path, strlen('/index.php'));
require $_SERVER['DOCUMENT_ROOT'] . '/index.php';
"""
_DOKUWIKI_ROUTER = """
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/') { header('Location: /doku.php'); exit; }
$file = $_SERVER['DOCUMENT_ROOT'] . $path;
if (!is_file($file)) { http_response_code(404); exit('Not found'); }
if (substr($path, -4) !== '.php') return false;
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = $path;
$_SERVER['SCRIPT_FILENAME'] = $file;
chdir(dirname($file));
require $file;
"""
_DOKUWIKI_FILL = """<?php
define('NOSESSION', 1);
require '{root}/inc/init.php';
foreach (json_decode(file_get_contents('{texts}'), true) as $name => $text) saveWikiText($name, $text, 'measured');
"""


@contextmanager
def mediawiki(scratch: Path) -> Iterator[Content]:
    port = unused_port()
    settings = scratch / "LocalSettings.php"
    install = [
        "--dbtype=sqlite",
        f"--dbpath={scratch}/data",
        f"--confpath={scratch}",
        "--scriptpath=",
    ]
    install += ["--with-extensions", f"--server=http://127.0.0.1:{port}", f"--pass={_PASSWORD}", "Wiki", "Admin"]
    _php(scratch, f"{_MEDIAWIKI}/maintenance/install.php", *install)
    environment = {"MW_CONFIG_FILE": str(settings)}
    for version in (1, 2):
        texts = scratch / f"version-{version}"
        texts.mkdir()
        written = articles()
        for article in written:
            (texts / article.name.capitalize()).write_text(_wikitext(article, version))
        start = "".join(f"* [[{article.name.capitalize()}]]\n" for article in written[:1])
        (texts / "Main_Page").write_text(f"Welcome, {version}.\n\n{start}")
        files = [str(path) for path in sorted(texts.iterdir())]
        importer = f"{_MEDIAWIKI}/maintenance/importTextFiles.php"
        _php(scratch, importer, "--overwrite", "--rc", *files, environment=environment)
    _php(scratch, f"{_MEDIAWIKI}/maintenance/runJobs.php", environment=environment)

    def shown(path: str) -> str | None:
        found = re.fullmatch(r"/index\.php/([^/?]+)", unquote(path))
        return found[1].lower() if found else None

    with php_scripts(_MEDIAWIKI, _MEDIAWIKI_ROUTER, scratch, environment, port) as site:
        yield Content(site, {article.name for article in articles()}, shown)


@contextmanager
def dokuwiki(scratch: Path) -> Iterator[Content]:
    root = scratch / "dokuwiki"
    shutil.copytree(_DOKUWIKI, root)
    for name in ("conf", "data"):
        source = Path("/etc/dokuwiki") if name == "conf" else Path("/var/lib/dokuwiki/data")
        shutil.rmtree(root / name, ignore_errors=True)
        shutil.copytree(source, root / name, ignore_dangling_symlinks=True)
    # Pages that are younger than indexdelay ask not to be indexed.
    settings = "$conf['useacl'] = 0; $conf['savedir'] = './data'; $conf['indexdelay'] = 0;"
    _written(root / "conf/local.php", f"<?php {settings}\n")
    _written(root / "inc/preload.php", f"<?php define('DOKU_CONF', '{root}/conf/');\n")
    for part in (
        "pages",
        "attic",
        "media",
        "media_attic",
        "media_meta",
        "meta",
        "cache",
        "index",
        "locks",
        "tmp",
        "log",
    ):
        (root / "data" / part).mkdir(parents=True, exist_ok=True)
    for version in (1, 2):
        texts = {article.name: _dokuwiki_text(article, version) for article in articles()}
        texts["start"] = f"Welcome, {version}. [[{articles()[0].name}]]\n"
        _written(scratch / "texts.json", json.dumps(texts))
        fill = _written(scratch / "fill.php", _DOKUWIKI_FILL.format(root=root, texts=scratch / "texts.json"))
        _php(scratch, str(fill))

    def shown(path: str) -> str | None:
        found = re.fullmatch(r"/doku\.php\?id=([^&]+)", unquote(path))
        return found[1] if found else None

    with php_scripts(root, _DOKUWIKI_ROUTER, scratch, {}, unused_port()) as site:
        yield Content(site, {article.name for article in articles()}, shown)


def _wikitext(article: Article, version: int) -> str:
    links = "\n".join(f"* [[{name.capitalize()}]]" for name in article.linked)
    return f"{_changed(article.text, version)}\n\n{links}\n\n[[Category:{article.topic.capitalize()}]]\n"


def _dokuwiki_text(article: Article, version: int) -> str:
    links = "\n".join(f"  * [[{name}]]" for name in article.linked)
    return f"====== {article.name} ======\n\n{_changed(article.text, version)}\n\n{links}\n"


def _changed(text: str, version: int) -> str:
    """The first version lacks the last paragraph."""
    plain = re.sub(r"[\[\]{}|=*_<>'\\\\]", "", re.sub(r"(?m)^ +", "", text)).strip()
    return plain if version > 1 else plain.rpartition("\n\n")[0]


def _php(scratch: Path, script: str, *arguments: str, environment: dict[str, str] | None = None) -> None:
    variables = {"PATH": "/usr/bin:/bin", **(environment or {})}
    done = subprocess.run(["php", script, *arguments], cwd=scratch, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{script} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
