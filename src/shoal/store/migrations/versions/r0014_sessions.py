"""Sessions: each has cookies of its own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    # Not renamed: in PostgreSQL the index of its key would keep the name that the new one needs.
    op.execute("CREATE TABLE cookies_of_jobs AS SELECT * FROM cookies")
    op.drop_table("cookies")
    op.create_table(
        "cookies",
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("job", "session", "domain", "path", "name")),
        sa.Column("line", sa.Text, nullable=False),
    )
    op.execute("INSERT INTO cookies SELECT job, '', domain, path, name, line FROM cookies_of_jobs")
    op.drop_table("cookies_of_jobs")
