"""The databases that can hold a store, SQLite and PostgreSQL: their schema and statements."""
