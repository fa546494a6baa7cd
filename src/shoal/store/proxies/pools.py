"""Named lists of proxies. They hold no password, only the names of secrets."""

from __future__ import annotations

from sqlalchemy import delete, select

from shoal.store.database.upsert import insert_into
from shoal.store.store import Store
from shoal.store.tables import proxy_figures
from shoal.store.tables import proxy_lists as table


def save_proxy_list(store: Store, name: str, text: str) -> None:
    with store.write() as db:
        row = insert_into(db, table).values(name=name, text=text)
        db.execute(row.on_conflict_do_update(index_elements=[table.c.name], set_={"text": text}))


def load_proxy_list(store: Store, name: str) -> str | None:
    with store.read() as db:
        return db.execute(select(table.c.text).where(table.c.name == name)).scalar_one_or_none()


def proxy_list_names(store: Store) -> list[str]:
    with store.read() as db:
        return list(db.execute(select(table.c.name).order_by(table.c.name)).scalars())


def remove_pool(store: Store, name: str) -> bool:
    """With what is known about its proxies. False if there is nothing of that name."""
    if not name.isprintable():
        return False
    with store.write() as db:
        lists = db.execute(delete(table).where(table.c.name == name)).rowcount
        figures = db.execute(delete(proxy_figures).where(proxy_figures.c.pool == name)).rowcount
        return lists + figures > 0
