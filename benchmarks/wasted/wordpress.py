"""WordPress with posts in categories, a third of which have comments, over a MariaDB of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from benchmarks.wasted.articles import articles
from benchmarks.wasted.logging_server import Content, php_scripts, unused_port
from tests.sinks.mariadb_server import PASSWORD, MariadbServer

_WORDPRESS = Path("/usr/share/wordpress")
_CONFIG = """<?php
define('DB_NAME', 'blog'); define('DB_USER', 'shoal'); define('DB_PASSWORD', '{password}');
define('DB_HOST', '127.0.0.1:{port}'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('WP_HOME', '{url}'); define('WP_SITEURL', '{url}');
define('DISABLE_WP_CRON', true); define('WP_HTTP_BLOCK_EXTERNAL', true);
$table_prefix = 'wp_';
defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
_ROUTER = """
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path !== '/' && is_file($_SERVER['DOCUMENT_ROOT'] . $path)) return false;
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
require $_SERVER['DOCUMENT_ROOT'] . '/index.php';
"""
_FILL = """<?php
$_SERVER['HTTP_HOST'] = '{host}'; $_SERVER['REQUEST_URI'] = '/';
define('WP_INSTALLING', true);
require '{root}/wp-load.php';
require '{root}/wp-admin/includes/upgrade.php';
wp_install('Blog', 'admin', 'admin@example.org', true, '', 'a-long-password-of-loopback');
global $wp_rewrite;
$wp_rewrite->set_permalink_structure('/%year%/%monthnum%/%day%/%postname%/');
$wp_rewrite->flush_rules(false);
foreach (json_decode(file_get_contents('{texts}'), true) as $number => $text) {{
  $category = wp_create_category($text['topic']);
  $day = gmdate('Y-m-d H:i:s', 1700000000 + 86400 * $number);
  $post = wp_insert_post(['post_title' => $text['name'], 'post_name' => $text['name'], 'post_content' => $text['text'],
    'post_status' => 'publish', 'post_category' => [$category], 'tags_input' => [$text['tag']],
    'post_author' => 1, 'post_date' => $day, 'post_date_gmt' => $day]);
  if ($number % 3 == 0) foreach (['One', 'Two'] as $name) wp_insert_comment(['comment_post_ID' => $post,
    'comment_author' => $name, 'comment_content' => "$name says something about {{$text['name']}}",
    'comment_approved' => 1, 'comment_author_email' => "$name@example.org"]);
}}
"""


@contextmanager
def wordpress(scratch: Path) -> Iterator[Content]:
    root = scratch / "wordpress"
    shutil.copytree(_WORDPRESS, root, ignore_dangling_symlinks=True)
    port = unused_port()
    texts = [
        {"name": one.name, "text": one.text, "topic": one.topic, "tag": f"tag{number % 20}"}
        for number, one in enumerate(articles())
    ]
    (scratch / "texts.json").write_text(json.dumps(texts))
    with MariadbServer() as database:
        database.run("CREATE DATABASE blog")
        config = _CONFIG.format(password=PASSWORD, port=database.port, url=f"http://127.0.0.1:{port}")
        (root / "wp-config.php").write_text(config)
        fill = scratch / "fill.php"
        fill.write_text(_FILL.format(host=f"127.0.0.1:{port}", root=root, texts=scratch / "texts.json"))
        done = subprocess.run(["php", str(fill)], capture_output=True, text=True)
        if done.returncode or "error" in done.stdout.lower():
            raise SystemExit(f"WordPress was not filled:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

        def shown(path: str) -> str | None:
            found = re.fullmatch(r"/\d{4}/\d\d/\d\d/([^/]+)/", unquote(path))
            return found[1] if found else None

        with php_scripts(root, _ROUTER, scratch, {}, port) as site:
            yield Content(site, {one["name"] for one in texts}, shown)
