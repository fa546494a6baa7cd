"""Named lists of proxies, and what is known about each proxy."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "proxy_lists",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_table(
        "proxy_figures",
        sa.Column("pool", sa.Text, primary_key=True),
        sa.Column("proxy", sa.Text, primary_key=True),
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("requests", sa.BigInteger, nullable=False),
        sa.Column("successes", sa.BigInteger, nullable=False),
        sa.Column("failures", sa.BigInteger, nullable=False),
        sa.Column("blocks", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Double, nullable=False),
        *(sa.Column(f"latency_{place}", sa.BigInteger, nullable=False) for place in range(9)),
        sa.Column("in_a_row", sa.Integer, nullable=False),
        sa.Column("cool_until", sa.Double, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )
