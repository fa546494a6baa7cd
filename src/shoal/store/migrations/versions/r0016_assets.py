"""Pages tell whether they are assets, which count apart."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("pages", sa.Column("is_asset", sa.Boolean))
    sqlite, postgresql = sa.text("is_asset = 1"), sa.text("is_asset")
    op.create_index("pages_that_are_assets", "pages", ["job"], sqlite_where=sqlite, postgresql_where=postgresql)
