"""Scrapy projects that were uploaded, and the jobs of scrapyd's API."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "scrapy_packages",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("unused_since", sa.Double),
    )
    op.create_table(
        "scrapy_versions",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("version", sa.Text, primary_key=True),
        sa.Column("package", sa.Text, nullable=False),
        sa.Column("spiders", sa.Text, nullable=False),
        sa.Column("added_at", sa.Double, nullable=False),
    )
    op.create_index("scrapy_versions_by_package", "scrapy_versions", ["package"])
    op.create_table(
        "scrapyd_jobs",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("jobid", sa.Text, nullable=False),
    )
    op.create_index("scrapyd_jobs_by_project", "scrapyd_jobs", ["project"])
    op.create_index("scrapyd_jobs_by_jobid", "scrapyd_jobs", ["jobid"])
