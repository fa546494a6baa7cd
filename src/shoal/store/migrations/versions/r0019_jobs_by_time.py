"""The newest jobs are found without reading all jobs."""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_index("jobs_by_time", "jobs", ["created_at", "id"])
