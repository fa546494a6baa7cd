"""Groups of failed attempts know when the first and the last of them failed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    # Nullable and without a default: workers of the older version go on counting.
    op.add_column("tallies", sa.Column("first_at", sa.Double))
    op.add_column("tallies", sa.Column("last_at", sa.Double))
