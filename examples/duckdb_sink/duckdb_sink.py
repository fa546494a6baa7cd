"""A sink of your own: items go to a table in a DuckDB file."""

import duckdb


class DuckdbSink:
    def __init__(self, path="books.duckdb"):
        self.db = duckdb.connect(path)
        self.db.execute("CREATE TABLE IF NOT EXISTS books (id TEXT PRIMARY KEY, title TEXT, price DECIMAL(10, 2))")

    def deliver(self, items, removed):
        """Called with new and changed items, and with those that are gone. A batch may come twice."""
        rows = [(item["_id"], item["title"], item["price"]) for item in items]
        if rows:
            self.db.executemany("INSERT OR REPLACE INTO books VALUES (?, ?, ?)", rows)
        for item in removed:
            self.db.execute("DELETE FROM books WHERE id = ?", [item["_id"]])

    def close(self):
        self.db.close()
