"""How jobs went over time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "series",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("seconds", sa.Integer, nullable=False),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("by_status", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("items", sa.Integer, nullable=False),
        sa.Column("p50_ms", sa.Integer),
        sa.Column("p95_ms", sa.Integer),
        sa.Column("queue", sa.BigInteger),
    )
