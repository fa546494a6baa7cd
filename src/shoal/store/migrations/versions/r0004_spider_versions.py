"""A job knows the versions of the spider that gave its items; the versions of older jobs are unknown."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("spider_versions", sa.Text))
