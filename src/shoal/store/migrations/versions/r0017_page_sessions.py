"""Pages tell which session they belong to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("pages", sa.Column("session", sa.Text))
