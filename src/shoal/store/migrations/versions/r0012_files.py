"""Files: which page's items refer to which request as their file."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "files",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("file", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("page", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("urls", sa.Text, nullable=False),
    )
