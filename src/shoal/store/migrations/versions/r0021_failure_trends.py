"""Groups of failed attempts know how many failed in each period."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    # Nullable and without a default: workers of the older version go on counting.
    op.add_column("tallies", sa.Column("trend", sa.Text))
