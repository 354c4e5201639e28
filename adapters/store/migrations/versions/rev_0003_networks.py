"""What chat networks need: positions, sealed events, files, and messages found by their remote id."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables, and note asides."""
    op.add_column(
        "inbox", sa.Column("is_aside", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.create_index(
        "inbox_reply_to",
        "inbox",
        ["reply_to"],
        sqlite_where=sa.text("reply_to <> ''"),
        postgresql_where=sa.text("reply_to <> ''"),
    )
    op.create_index(
        "refused_root",
        "outbox",
        ["session"],
        sqlite_where=sa.text("kind = 'root' AND state = 'failed'"),
        postgresql_where=sa.text("kind = 'root' AND state = 'failed'"),
    )
    op.create_index(
        "outbox_remote",
        "outbox",
        ["remote"],
        sqlite_where=sa.text("remote <> ''"),
        postgresql_where=sa.text("remote <> ''"),
    )
    op.create_table(
        "network_position",
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("network", "workspace", name=op.f("pk_network_position")),
    )
    op.create_table(
        "sealed_event",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("is_told", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sealed_event")),
    )
    op.create_index("sealed_of_account", "sealed_event", ["network", "workspace"])
    op.create_table(
        "attachment",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "number", name=op.f("pk_attachment")),
    )
    op.create_index(op.f("ix_attachment_hash"), "attachment", ["hash"])
