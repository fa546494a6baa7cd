"""Hooks of spiders: whether they have run, and what they gave."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "hooks",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("hook", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("claimed_until", sa.Double),
        sa.Column("result", sa.Text),
    )
