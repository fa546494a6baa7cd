"""Sites: the hosts of one registrable domain at one address, which share a clock.

A host belongs to its domain's site from the start, so that its first request waits too. The first known address of a
site is its home. A host at another address shares a clock with the other hosts at that address.
"""

from __future__ import annotations

import sqlite3

from shoal.urls import domain_of


def site_id(db: sqlite3.Connection, name: str) -> int:
    db.execute("INSERT OR IGNORE INTO site(name) VALUES(?)", (name,))
    (id,) = db.execute("SELECT id FROM site WHERE name = ?", (name,)).fetchone()
    return int(id)


def place_host(db: sqlite3.Connection, host: int, name: str, address: str) -> None:
    """Moves the host to the site of the address from which it answered."""
    domain = domain_of(name)
    home_id = site_id(db, domain)
    db.execute("UPDATE site SET home = ? WHERE id = ? AND home = ''", (address, home_id))
    (home,) = db.execute("SELECT home FROM site WHERE id = ?", (home_id,)).fetchone()
    site = home_id if home == address else site_id(db, f"{domain}@{address}")
    db.execute("UPDATE site SET home = ? WHERE id = ?", (address, site))
    db.execute("UPDATE host SET site = ? WHERE id = ?", (site, host))
