"""The tables of `frontier.db`, and how the file is opened.

job      one row per job: its terms, whether it may be leased from, its place in turn, and its counts; `hosts` is JSON
         of the hosts that have terms of their own
host     one row per host ever leased from: clock, slots in flight, learned pace, an operator's settings
site     the clock that the hosts of one registrable domain at one address share
ready    one row per (job, host): when to check it next, the job's own next start, pages taken there, whether it ever
         answered the job
queue    pending requests: one row per (job, host, band, trail), its targets packed as lines; `taken` of them are gone;
         bands from 10 on are of requests that need a browser, and `job.rendered` counts these
later    retries that are not due yet
lease    requests that a worker holds
seen     fingerprints that a job was ever offered; `fresh` has those not yet merged into it
dropped  how many requests of a job were dropped, by reason
call     the last reply per caller and verb
token    the last token, so that tokens always increase, and the time of the last lease
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from shoal.errors import Busy, DiskFull, HomeError, Unavailable
from shoal.frontier.sqlite.sites import site_id
from shoal.sqlite_file import read_only_uri, use_write_ahead_log
from shoal.urls import domain_of

VERSION = 9
FIRST_WITH_SITES = 3
BUSY_S = 5.0

TABLES = """
CREATE TABLE job(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, state TEXT NOT NULL, turn INTEGER NOT NULL DEFAULT 0,
  lane INTEGER NOT NULL, priority INTEGER NOT NULL, gap_s REAL NOT NULL, per_host INTEGER NOT NULL,
  robots INTEGER NOT NULL, pages_max INTEGER, pages_per_host INTEGER, bytes_max INTEGER, stop_at REAL,
  paused_at REAL,
  given INTEGER NOT NULL DEFAULT 0, permits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
  found INTEGER NOT NULL DEFAULT 0, queued INTEGER NOT NULL DEFAULT 0, leased INTEGER NOT NULL DEFAULT 0,
  pages INTEGER NOT NULL DEFAULT 0, redirects INTEGER NOT NULL DEFAULT 0, dead INTEGER NOT NULL DEFAULT 0,
  edition INTEGER NOT NULL, own_workers INTEGER NOT NULL DEFAULT 0,
  browser INTEGER NOT NULL DEFAULT 0, rendered INTEGER NOT NULL DEFAULT 0,
  cost_max INTEGER, cost INTEGER NOT NULL DEFAULT 0,
  assets_max INTEGER, asset_permits INTEGER NOT NULL DEFAULT 0, assets INTEGER NOT NULL DEFAULT 0,
  hosts TEXT NOT NULL DEFAULT '');
CREATE TABLE host(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next_at REAL NOT NULL DEFAULT 0,
  in_flight INTEGER NOT NULL DEFAULT 0, rate REAL, paused INTEGER NOT NULL DEFAULT 0,
  crawl_delay_s REAL NOT NULL DEFAULT 0, crawl_delay_at REAL NOT NULL DEFAULT 0,
  slowdown REAL NOT NULL DEFAULT 1, usual_s REAL NOT NULL DEFAULT 0,
  recent_s REAL NOT NULL DEFAULT 0, answers INTEGER NOT NULL DEFAULT 0, learnt_at REAL NOT NULL DEFAULT 0,
  fails INTEGER NOT NULL DEFAULT 0, blocks INTEGER NOT NULL DEFAULT 0, block_until REAL NOT NULL DEFAULT 0,
  block_reason TEXT NOT NULL DEFAULT '', gap_s REAL NOT NULL DEFAULT 0, floor_at REAL NOT NULL DEFAULT 0,
  site INTEGER NOT NULL DEFAULT 0);
CREATE TABLE site(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next_at REAL NOT NULL DEFAULT 0, gap_s REAL NOT NULL DEFAULT 0,
  home TEXT NOT NULL DEFAULT '');
CREATE TABLE ready(
  job INTEGER, host INTEGER, at REAL, taken INTEGER NOT NULL DEFAULT 0, answered INTEGER NOT NULL DEFAULT 0,
  failing_since REAL, failures INTEGER NOT NULL DEFAULT 0, next_at REAL NOT NULL DEFAULT 0,
  PRIMARY KEY(job, host)) WITHOUT ROWID;
CREATE INDEX ready_at ON ready(job, at);
CREATE INDEX ready_met ON ready(job, at) WHERE answered;
CREATE INDEX ready_host ON ready(host, at);
CREATE TABLE queue(
  seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, host INTEGER NOT NULL, band INTEGER NOT NULL,
  attempt INTEGER NOT NULL, crashes INTEGER NOT NULL, held INTEGER NOT NULL, taken INTEGER NOT NULL DEFAULT 0,
  trail TEXT NOT NULL, lines TEXT NOT NULL);
CREATE INDEX queue_head ON queue(job, host, band, seq);
CREATE INDEX queue_free ON queue(job, host) WHERE held OR band < 0;
CREATE INDEX queue_rendered ON queue(job, host) WHERE band >= 10;
CREATE TABLE later(
  seq INTEGER PRIMARY KEY, at REAL NOT NULL, job INTEGER NOT NULL, host INTEGER NOT NULL,
  attempt INTEGER NOT NULL, crashes INTEGER NOT NULL, trail TEXT NOT NULL, line TEXT NOT NULL,
  band INTEGER NOT NULL DEFAULT 1);
CREATE INDEX later_at ON later(job, at);
CREATE TABLE lease(
  token INTEGER PRIMARY KEY, job INTEGER NOT NULL, host INTEGER NOT NULL, deadline REAL NOT NULL,
  start_at REAL NOT NULL, gap_s REAL NOT NULL, landed INTEGER NOT NULL DEFAULT 0, slot INTEGER NOT NULL,
  edition INTEGER NOT NULL, caller TEXT NOT NULL,
  attempt INTEGER NOT NULL, crashes INTEGER NOT NULL, trail TEXT NOT NULL, line TEXT NOT NULL,
  band INTEGER NOT NULL DEFAULT 1);
CREATE INDEX lease_deadline ON lease(deadline);
CREATE TABLE seen(job INTEGER, fingerprint INTEGER, PRIMARY KEY(job, fingerprint)) WITHOUT ROWID;
CREATE TABLE fresh(job INTEGER NOT NULL, fingerprint INTEGER NOT NULL);
CREATE TABLE dropped(job INTEGER, reason TEXT, n INTEGER NOT NULL, PRIMARY KEY(job, reason)) WITHOUT ROWID;
CREATE TABLE call(
  caller TEXT, verb TEXT, seq INTEGER NOT NULL, reply TEXT NOT NULL, PRIMARY KEY(caller, verb)) WITHOUT ROWID;
CREATE TABLE token(last INTEGER NOT NULL, leased_at REAL NOT NULL);
INSERT INTO token VALUES(0, 0);
"""

FROM_VERSION_1 = """
ALTER TABLE job ADD COLUMN given INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ready_met ON ready(job, at) WHERE answered;
"""
FROM_VERSION_2 = """
ALTER TABLE host ADD COLUMN gap_s REAL NOT NULL DEFAULT 0;
ALTER TABLE host ADD COLUMN floor_at REAL NOT NULL DEFAULT 0;
ALTER TABLE host ADD COLUMN site INTEGER NOT NULL DEFAULT 0;
CREATE TABLE site(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next_at REAL NOT NULL DEFAULT 0, gap_s REAL NOT NULL DEFAULT 0,
  home TEXT NOT NULL DEFAULT '');
ALTER TABLE ready ADD COLUMN next_at REAL NOT NULL DEFAULT 0;
"""
FROM_VERSION_3 = """
ALTER TABLE job ADD COLUMN own_workers INTEGER NOT NULL DEFAULT 0;
"""
FROM_VERSION_4 = """
ALTER TABLE job ADD COLUMN browser INTEGER NOT NULL DEFAULT 0;
"""
FROM_VERSION_5 = """
ALTER TABLE job ADD COLUMN cost_max INTEGER;
ALTER TABLE job ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
"""
FROM_VERSION_6 = """
ALTER TABLE job ADD COLUMN assets_max INTEGER;
ALTER TABLE job ADD COLUMN asset_permits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN assets INTEGER NOT NULL DEFAULT 0;
ALTER TABLE later ADD COLUMN band INTEGER NOT NULL DEFAULT 1;
ALTER TABLE lease ADD COLUMN band INTEGER NOT NULL DEFAULT 1;
DROP INDEX queue_held;
CREATE INDEX queue_free ON queue(job, host) WHERE held OR band < 0;
"""
FROM_VERSION_7 = """
ALTER TABLE job ADD COLUMN rendered INTEGER NOT NULL DEFAULT 0;
CREATE INDEX queue_rendered ON queue(job, host) WHERE band >= 10;
"""
FROM_VERSION_8 = """
ALTER TABLE job ADD COLUMN hosts TEXT NOT NULL DEFAULT '';
"""
STEPS = (
    FROM_VERSION_1,
    FROM_VERSION_2,
    FROM_VERSION_3,
    FROM_VERSION_4,
    FROM_VERSION_5,
    FROM_VERSION_6,
    FROM_VERSION_7,
    FROM_VERSION_8,
)


def open_database(path: Path) -> sqlite3.Connection:
    """Opens a connection in autocommit mode, and creates or upgrades the database if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    read_only = read_only_uri(path)
    try:
        db = sqlite3.connect(
            read_only or path, timeout=BUSY_S, isolation_level=None, cached_statements=256, uri=read_only is not None
        )
        db.row_factory = sqlite3.Row
        if read_only is None:
            use_write_ahead_log(db, BUSY_S)
        # The cache fills as a crawl grows. With 16 MB, lookups among a million known URLs are no faster.
        db.execute("PRAGMA cache_size = -12288")
        _ensure_tables(db, path)
    except sqlite3.DatabaseError as error:
        raise unusable(path, error) from error
    return db


def _ensure_tables(db: sqlite3.Connection, path: Path) -> None:
    if _version(db, path) == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    # Read again under the write lock: another process may have made the tables meanwhile.
    version = _version(db, path)
    if version == 0:
        _run(db, TABLES)
    elif version < VERSION:
        _run(db, "".join(STEPS[version - 1 :]))
        if version < FIRST_WITH_SITES:
            _add_sites(db)
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def _version(db: sqlite3.Connection, path: Path) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise HomeError(
            f"{path} was made by a newer Shoal (format {version}, this one knows {VERSION}): "
            "upgrade Shoal or choose another home with --home"
        )
    return version


def _add_sites(db: sqlite3.Connection) -> None:
    for id, name in db.execute("SELECT id, name FROM host").fetchall():
        db.execute("UPDATE host SET site = ? WHERE id = ?", (site_id(db, domain_of(name)), id))


def _run(db: sqlite3.Connection, script: str) -> None:
    """One statement at a time: `executescript` would commit the transaction that was begun before it."""
    for statement in script.split(";"):
        db.execute(statement)


def unusable(path: Path, error: sqlite3.DatabaseError) -> Exception:
    """Translates SQLite's error into ours, with what to do. An error in our own code is returned unchanged."""
    # The write-ahead log's index that cannot grow is the one I/O error that free disk space fixes.
    if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE):
        return DiskFull(path)
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return HomeError(f"{path}: {error}: check that you may write to it and its directory")
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
        return Busy(f"{path} is locked by another process")
    if isinstance(error, sqlite3.OperationalError):
        return Unavailable(f"{path} cannot be used now: {error}")
    if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return HomeError(f"{path} is not a Shoal database ({error}): move it away or choose another home with --home")
    return error
