"""What the agent's hands need: approvals bound to calls, servers, repositories, secrets in use, forms."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables, and note what a decision and a checkpoint are about."""
    for column in ("call", "scope"):
        op.add_column("decision", sa.Column(column, sa.String(), nullable=False, server_default=""))
    op.add_column("checkpoint", sa.Column("tasks", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("grant", sa.Column("uses", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "mcp_server",
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("how", sa.Text(), nullable=False),
        sa.Column("tools", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_mcp_server_room_room")),
        sa.PrimaryKeyConstraint("room", "name", name=op.f("pk_mcp_server")),
    )
    op.create_table(
        "repository",
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("branch", sa.String(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_repository_room_room")),
        sa.PrimaryKeyConstraint("room", "name", name=op.f("pk_repository")),
    )
    op.create_table(
        "secret_use",
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("variable", sa.String(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_secret_use_room_room")),
        sa.PrimaryKeyConstraint("room", "name", name=op.f("pk_secret_use")),
    )
    op.create_table(
        "form_link",
        sa.Column("link_hash", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("room", sa.String(), nullable=True),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("how", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_form_link_person_person")),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_form_link_room_room")),
        sa.PrimaryKeyConstraint("link_hash", name=op.f("pk_form_link")),
    )
    op.create_index(op.f("ix_form_link_expires_at"), "form_link", ["expires_at"])
