"""The store: what was asked for and what was found, in SQL tables, and the files made from them."""
