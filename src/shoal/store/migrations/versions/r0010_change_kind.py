"""Pages of a refresh keep what has changed: their content, or only their markup; it is not known of earlier ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("pages", sa.Column("change_kind", sa.Text))
