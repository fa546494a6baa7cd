"""Inputs keep the row of the list that they were in; earlier ones have none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("inputs", sa.Column("columns", sa.Text))
