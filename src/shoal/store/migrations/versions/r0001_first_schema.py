"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("finished_at", sa.Double),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("admitted", sa.Text, nullable=False),
        sa.Column("seeded", sa.Boolean, nullable=False),
        sa.Column("offered_line", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("told", sa.Integer, nullable=False),
        sa.Column("fleet", sa.Boolean, nullable=False),
        sa.Column("request_id", sa.Text),
        sa.Column("extracted_by", sa.Text),
    )
    op.create_table(
        "inputs",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("line", sa.Integer, primary_key=True),
        sa.Column("spelt", sa.Text, nullable=False),
        sa.Column("url", sa.Text),
        sa.Column("fingerprint", sa.BigInteger),
        sa.Column("host", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("duplicate_of", sa.Integer),
    )
    op.create_table(
        "pages",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.BigInteger, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("parent", sa.BigInteger),
        sa.Column("content_type", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("duration_ms", sa.Integer, nullable=False),
        sa.Column("fetched_at", sa.Double, nullable=False),
        sa.Column("via", sa.Text, nullable=False),
        sa.Column("archive", sa.Text),
        sa.Column("changed", sa.Boolean),
        sa.Column("etag", sa.Text),
        sa.Column("last_modified", sa.Text),
        sa.Column("tdm_reservation", sa.Text),
        sa.Column("tdm_policy", sa.Text),
        sa.Column("title", sa.Text),
        sa.Column("canonical", sa.Text),
    )
    op.create_table(
        "contents",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.BigInteger, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "redirects",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.BigInteger, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("parent", sa.BigInteger),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("target_fingerprint", sa.BigInteger),
        sa.Column("reason", sa.Text),
        sa.Column("fetched_at", sa.Double, nullable=False),
    )
    op.create_table(
        "dead",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.BigInteger, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("parent", sa.BigInteger),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("died_at", sa.Double, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
    )
    op.create_table(
        "drops",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.BigInteger, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("parent", sa.BigInteger),
        sa.Column("dropped_at", sa.Double, nullable=False),
    )
    op.create_table(
        "items",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("page", sa.BigInteger, primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "rejects",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("page", sa.BigInteger, primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "item_types",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("kinds", sa.Text, nullable=False),
    )
    op.create_table(
        "quality",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("type", sa.Text, primary_key=True),
        sa.Column("field", sa.Text, primary_key=True),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("nulls", sa.BigInteger, nullable=False),
        sa.Column("distinct", sa.Integer, nullable=False),
        sa.Column("least", sa.Text),
        sa.Column("most", sa.Text),
    )
    op.create_table(
        "tallies",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("sample", sa.Text),
    )
    op.create_table(
        "segments",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("segment", sa.Text, primary_key=True),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("process", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "waiting",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("offer", sa.Text, nullable=False),
    )
    op.create_table(
        "offers",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "robots",
        sa.Column("origin", sa.Text, primary_key=True),
        sa.Column("status", sa.Integer),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("fetched_at", sa.Double),
        sa.Column("asked_at", sa.Double),
    )
    op.create_table(
        "cookies",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("domain", sa.Text, primary_key=True),
        sa.Column("path", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("line", sa.Text, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("used_at", sa.Double),
    )
    op.create_table(
        "answers",
        sa.Column("token", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("claimed_at", sa.Double, nullable=False),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("body", sa.Text),
    )
    op.create_table(
        "exclusions",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("lines", sa.Text, nullable=False),
    )
    op.create_table(
        "hosts",
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("rate", sa.Double),
        sa.Column("paused", sa.Boolean, nullable=False),
    )
    op.create_table(
        "schedules",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("cron", sa.Text, nullable=False),
        sa.Column("zone", sa.Text, nullable=False),
        sa.Column("overlap", sa.Text, nullable=False),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("due_at", sa.Double, nullable=False),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due_at", sa.Double),
        sa.Column("delivered_at", sa.Double),
        sa.Column("fault", sa.Text),
    )
    op.create_index("deliveries_by_job", "deliveries", ["job", "at"])
    op.create_index("deliveries_by_time", "deliveries", ["due_at"])
    op.create_table(
        "runs",
        sa.Column("schedule", sa.Text, primary_key=True),
        sa.Column("tick", sa.Double, primary_key=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("missed", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("claimed_at", sa.Double),
    )
    op.create_index("runs_by_state", "runs", ["state"])
    op.create_index("answers_by_time", "answers", ["claimed_at"])
    op.create_index("inputs_by_fingerprint", "inputs", ["job", "fingerprint"])
    op.create_index("pages_by_time", "pages", ["job", "fetched_at"])
    op.create_index("segments_by_state", "segments", ["state", "process"])
    op.create_index("waiting_by_job", "waiting", ["job", "id"])
    op.create_index("offers_by_job", "offers", ["job", "id"])
    keyed = sa.text("key IS NOT NULL")
    op.create_index(
        "items_by_key", "items", ["job", "type", "key"], unique=True, sqlite_where=keyed, postgresql_where=keyed
    )
