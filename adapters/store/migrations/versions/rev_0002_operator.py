"""What an operator needs: tallies, holds, sealed secrets, incidents, claims, offers."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables, and tell who has left."""
    op.add_column("person", sa.Column("gone_at", sa.Float(), nullable=True))
    _charge_reservations()
    _make_claim()
    _make_offer()
    _make_told()
    _make_tally()
    _make_hold()
    _make_secret()
    _make_incident()
    _make_erasure()
    _make_restored()


def _charge_reservations() -> None:
    op.add_column("reservation", sa.Column("person", sa.String(), nullable=True))
    op.add_column("reservation", sa.Column("room", sa.String(), nullable=True))
    op.execute(
        "UPDATE reservation SET"
        " person = (SELECT owner FROM goal WHERE goal.id = reservation.goal),"
        " room = (SELECT session.room FROM goal JOIN session ON session.id = goal.session"
        " WHERE goal.id = reservation.goal)"
    )


def _make_claim() -> None:
    op.create_table(
        "claim",
        sa.Column("code_hash", sa.String(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.Column("used_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("code_hash", name=op.f("pk_claim")),
        sa.ForeignKeyConstraint(["used_by"], ["person.id"], name=op.f("fk_claim_used_by")),
    )


def _make_offer() -> None:
    op.create_table(
        "offer",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("to_person", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("goal", name=op.f("pk_offer")),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_offer_goal")),
        sa.ForeignKeyConstraint(["to_person"], ["person.id"], name=op.f("fk_offer_to_person")),
        sa.ForeignKeyConstraint(["by"], ["person.id"], name=op.f("fk_offer_by")),
    )
    op.create_index(op.f("ix_offer_to_person"), "offer", ["to_person"])


def _make_told() -> None:
    op.create_table(
        "told",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_told")),
    )


def _make_tally() -> None:
    op.create_table(
        "tally",
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("nano_usd", sa.BigInteger(), nullable=False),
        sa.Column("unpriced_tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "room", "person", name=op.f("pk_tally")),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_tally_room")),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_tally_person")),
    )
    op.create_index("tally_person", "tally", ["day", "person"])


def _make_hold() -> None:
    op.create_table(
        "hold",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_hold")),
    )


def _make_secret() -> None:
    op.create_table(
        "secret",
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("hosts", sa.Text(), nullable=False),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", name=op.f("pk_secret")),
    )


def _make_incident() -> None:
    op.create_table(
        "incident",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("recovered_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident")),
    )
    op.create_index(
        "one_open_incident",
        "incident",
        ["kind", "subject"],
        unique=True,
        sqlite_where=sa.text("recovered_at IS NULL"),
        postgresql_where=sa.text("recovered_at IS NULL"),
    )


def _make_erasure() -> None:
    op.create_table(
        "erasure",
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("asked_at", sa.Float(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.Column("keeps_mentions", sa.Boolean(), nullable=False),
        sa.Column("done_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("person", name=op.f("pk_erasure")),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_erasure_person")),
    )
    op.create_index(
        "erasure_waiting",
        "erasure",
        ["due_at"],
        sqlite_where=sa.text("done_at IS NULL"),
        postgresql_where=sa.text("done_at IS NULL"),
    )


def _make_restored() -> None:
    op.create_table(
        "restored",
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("made_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("at", name=op.f("pk_restored")),
    )
