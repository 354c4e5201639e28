"""What Slack needs: how a message was said, whom one concerns, installs, charges, ways back."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables, and note how it was said and whom alone it concerns."""
    op.add_column("inbox", sa.Column("via", sa.String(), nullable=False, server_default="message"))
    op.add_column("inbox", sa.Column("form", sa.Text(), nullable=False, server_default=""))
    op.add_column("outbox", sa.Column("only_for", sa.String(), nullable=False, server_default=""))
    op.create_table(
        "install",
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("app", sa.String(), nullable=False),
        sa.Column("bot_user", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.Column("installed_by", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("further", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("network", "workspace", name=op.f("pk_install")),
    )
    op.create_table(
        "install_state",
        sa.Column("state_hash", sa.String(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("state_hash", name=op.f("pk_install_state")),
    )
    op.create_index(op.f("ix_install_state_expires_at"), "install_state", ["expires_at"])
    op.create_table(
        "way_back",
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("message", name=op.f("pk_way_back")),
    )
    op.create_index(op.f("ix_way_back_expires_at"), "way_back", ["expires_at"])
    op.create_table(
        "charge",
        sa.Column("app", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("app", name=op.f("pk_charge")),
    )
