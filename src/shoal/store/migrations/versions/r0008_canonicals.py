"""Pages that name the same canonical URL can be merged; earlier ones are not."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("pages", sa.Column("merged_into", sa.BigInteger))
    op.create_table(
        "canonicals",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("canonical", sa.BigInteger, primary_key=True),
        sa.Column("page", sa.BigInteger, nullable=False),
    )
