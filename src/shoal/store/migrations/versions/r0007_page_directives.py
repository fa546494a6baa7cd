"""Pages keep whether they ask not to be indexed or followed; it is not known of earlier ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("pages", sa.Column("noindex", sa.Boolean))
    op.add_column("pages", sa.Column("nofollow", sa.Boolean))
