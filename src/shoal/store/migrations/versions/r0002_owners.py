"""Jobs and schedules belong to the token that made them; what is there belongs to nobody."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_UNIQUE = {"uq": "%(table_name)s_%(column_0_name)s_key"}
"""As PostgreSQL names a unique column; SQLite does not name it at all."""


def upgrade() -> None:
    op.add_column("jobs", sa.Column("owner", sa.Text))
    with op.batch_alter_table("schedules", naming_convention=_UNIQUE) as schedules:
        schedules.add_column(sa.Column("owner", sa.Text))
        schedules.drop_constraint("schedules_name_key", type_="unique")
    op.create_index("schedules_by_name", "schedules", [sa.text("coalesce(owner, '')"), "name"], unique=True)
