"""What all jobs spend on a pool of proxies is kept by day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "proxy_costs",
        sa.Column("pool", sa.Text, primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True),
        sa.Column("millionths", sa.BigInteger, nullable=False),
    )
