"""Sinks: the log of changed items, where each sink is in it, and the items that a sink refused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("packed", sa.Text, nullable=False),
    )
    op.create_index("changes_by_part", "changes", ["job", "part", "id"])
    op.create_table(
        "sinks",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("cursor", sa.Text, nullable=False),
        sa.Column("planned", sa.Text),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("delivered", sa.BigInteger, nullable=False),
        sa.Column("delivered_at", sa.Double),
        sa.Column("fault", sa.Text),
        sa.Column("stuck", sa.Boolean, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("held_until", sa.Double),
    )
    op.create_table(
        "refused",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("sink", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("type", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("page", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("again", sa.Boolean, nullable=False),
    )
