"""Files that the archive stores by their digest, and the jobs that use them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "stored_files",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("path", sa.Text, primary_key=True),
        sa.Column("bytes", sa.BigInteger, nullable=False),
    )
    op.create_index("stored_files_by_path", "stored_files", ["path"])
