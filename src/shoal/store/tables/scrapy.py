"""Tables of Scrapy projects that were uploaded, and of the jobs that were scheduled through scrapyd's API."""

from __future__ import annotations

from sqlalchemy import Column, Double, Index, LargeBinary, Table, Text

from shoal.store.tables.metadata import metadata

scrapy_packages = Table(
    "scrapy_packages",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    # NULL: a version has it.
    Column("unused_since", Double),
)

scrapy_versions = Table(
    "scrapy_versions",
    metadata,
    Column("project", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    Column("package", Text, nullable=False),
    Column("spiders", Text, nullable=False),
    Column("added_at", Double, nullable=False),
    Index("scrapy_versions_by_package", "package"),
)

scrapyd_jobs = Table(
    "scrapyd_jobs",
    metadata,
    Column("job", Text, primary_key=True),
    Column("project", Text, nullable=False),
    Column("jobid", Text, nullable=False),
    Index("scrapyd_jobs_by_project", "project"),
    Index("scrapyd_jobs_by_jobid", "jobid"),
)
