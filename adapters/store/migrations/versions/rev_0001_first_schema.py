"""The first schema: every table, and a journal that only grows."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make every table, then the triggers."""
    _make_room()
    _make_person()
    _make_grant()
    _make_session()
    _make_goal()
    _make_content()
    _make_event()
    _make_checkpoint()
    _make_lease()
    _make_reservation()
    _make_turn()
    _make_step()
    _make_audit()
    _make_decision()
    _make_wait()
    _make_task()
    _make_inbox()
    _make_outbox()
    _make_endpoint()
    _make_fact()
    _make_artifact()
    _make_schedule()
    _make_watch()
    _make_occurrence()
    _make_journal_append_only()


def _make_room() -> None:
    op.create_table(
        "room",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_room")),
        sa.UniqueConstraint(
            "network", "workspace", "name", name=op.f("uq_room_network_workspace_name")
        ),
    )


def _make_person() -> None:
    op.create_table(
        "person",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("external", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("network", "external", name=op.f("uq_person_network_external")),
    )


def _make_grant() -> None:
    op.create_table(
        "grant",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("room", sa.String(), nullable=True),
        sa.Column("person", sa.String(), nullable=True),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("given_by", sa.String(), nullable=True),
        sa.Column("given_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["given_by"], ["person.id"], name=op.f("fk_grant_given_by")),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_grant_person")),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_grant_room")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grant")),
    )
    op.create_index(op.f("ix_grant_person"), "grant", ["person"], unique=False)
    op.create_index(op.f("ix_grant_room"), "grant", ["room"], unique=False)


def _make_session() -> None:
    op.create_table(
        "session",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("thread", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("home", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_session_room")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("room", "thread", "kind", name=op.f("uq_session_room_thread_kind")),
    )


def _make_goal() -> None:
    op.create_table(
        "goal",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("objective", sa.String(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("closed_at", sa.Float(), nullable=True),
        sa.Column("due_at", sa.Float(), nullable=True),
        sa.Column("reopens", sa.String(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["person.id"], name=op.f("fk_goal_owner")),
        sa.ForeignKeyConstraint(["reopens"], ["goal.id"], name=op.f("fk_goal_reopens")),
        sa.ForeignKeyConstraint(["session"], ["session.id"], name=op.f("fk_goal_session")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_goal")),
    )
    op.create_index(
        "goal_due",
        "goal",
        ["due_at"],
        unique=False,
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_index(
        "goal_number",
        "goal",
        ["number"],
        unique=True,
        sqlite_where=sa.text("number > 0"),
        postgresql_where=sa.text("number > 0"),
    )
    op.create_index("goal_session", "goal", ["session", "number"], unique=False)
    op.create_index(op.f("ix_goal_owner"), "goal", ["owner"], unique=False)
    op.create_index(
        "one_live_goal",
        "goal",
        ["session"],
        unique=True,
        sqlite_where=sa.text("kind = 'goal' AND state NOT IN ('complete', 'cancelled')"),
        postgresql_where=sa.text("kind = 'goal' AND state NOT IN ('complete', 'cancelled')"),
    )


def _make_content() -> None:
    op.create_table(
        "content",
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("message", sa.String(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["session"], ["session.id"], name=op.f("fk_content_session")),
        sa.PrimaryKeyConstraint("session", "hash", name=op.f("pk_content")),
    )
    op.create_index(op.f("ix_content_message"), "content", ["message"], unique=False)


def _make_event() -> None:
    op.create_table(
        "event",
        sa.Column("position", _SERIAL, sa.Identity(always=False), nullable=False),
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("before", sa.String(), nullable=True),
        sa.Column("after", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("limits", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_event_goal")),
        sa.ForeignKeyConstraint(["session"], ["session.id"], name=op.f("fk_event_session")),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_event")),
        sa.UniqueConstraint("goal", "seq", name=op.f("uq_event_goal_seq")),
    )
    op.create_index("event_session", "event", ["session", "position"], unique=False)


def _make_checkpoint() -> None:
    op.create_table(
        "checkpoint",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("tree", sa.String(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_checkpoint_goal")),
        sa.PrimaryKeyConstraint("goal", "seq", name=op.f("pk_checkpoint")),
    )


def _make_lease() -> None:
    op.create_table(
        "lease",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_lease_goal")),
        sa.PrimaryKeyConstraint("goal", name=op.f("pk_lease")),
    )


def _make_reservation() -> None:
    op.create_table(
        "reservation",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("call", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("nano_usd", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_reservation_goal")),
        sa.PrimaryKeyConstraint("goal", "call", name=op.f("pk_reservation")),
    )


def _make_turn() -> None:
    op.create_table(
        "turn",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("opening", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("how", sa.String(), nullable=False),
        sa.Column("failed", sa.String(), nullable=False),
        sa.Column("reply", sa.String(), nullable=False),
        sa.Column("active_s", sa.Float(), nullable=False),
        sa.Column("progress", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_turn_goal")),
        sa.PrimaryKeyConstraint("goal", "number", name=op.f("pk_turn")),
    )


def _make_step() -> None:
    op.create_table(
        "step",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("effects", sa.String(), nullable=False),
        sa.Column("input", sa.BigInteger(), nullable=False),
        sa.Column("cache_write_5m", sa.BigInteger(), nullable=False),
        sa.Column("cache_write_1h", sa.BigInteger(), nullable=False),
        sa.Column("cache_read", sa.BigInteger(), nullable=False),
        sa.Column("output", sa.BigInteger(), nullable=False),
        sa.Column("server_tools", sa.Integer(), nullable=False),
        sa.Column("nano_usd", sa.BigInteger(), nullable=True),
        sa.Column("estimated_tokens", sa.BigInteger(), nullable=False),
        sa.Column("estimated_nano_usd", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("stop_reason", sa.String(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_step_goal")),
        sa.PrimaryKeyConstraint("goal", "ref", name=op.f("pk_step")),
    )


def _make_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("failure", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("evidence", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_audit_goal")),
        sa.PrimaryKeyConstraint("goal", "seq", name=op.f("pk_audit")),
    )


def _make_decision() -> None:
    op.create_table(
        "decision",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("tool_use", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("reminded", sa.Boolean(), nullable=False),
        sa.Column("answered", sa.Boolean(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("closed_at", sa.Float(), nullable=True),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("answer", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_decision_goal")),
        sa.PrimaryKeyConstraint("goal", "id", name=op.f("pk_decision")),
    )
    op.create_index(
        "decision_open",
        "decision",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )


def _make_wait() -> None:
    op.create_table(
        "wait",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("closed_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_wait_goal")),
        sa.PrimaryKeyConstraint("goal", "id", name=op.f("pk_wait")),
    )
    op.create_index(
        "wait_open",
        "wait",
        ["until"],
        unique=False,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )


def _make_task() -> None:
    op.create_table(
        "task",
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("evidence", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_task_goal")),
        sa.PrimaryKeyConstraint("goal", "position", name=op.f("pk_task")),
    )


def _make_inbox() -> None:
    op.create_table(
        "inbox",
        sa.Column("sequence", _SERIAL, sa.Identity(always=False), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("thread", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("reply_to", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("received_at", sa.Float(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("handled_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_inbox_person")),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_inbox_room")),
        sa.ForeignKeyConstraint(["session"], ["session.id"], name=op.f("fk_inbox_session")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_inbox")),
        sa.UniqueConstraint("id", name=op.f("uq_inbox_id")),
    )
    op.create_index(
        "inbox_waiting",
        "inbox",
        ["sequence"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )


def _make_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("sequence", _SERIAL, sa.Identity(always=False), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("goal", sa.String(), nullable=True),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("remote", sa.String(), nullable=False),
        sa.Column("not_before", sa.Float(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("claimed_at", sa.Float(), nullable=False),
        sa.Column("looked_up", sa.Boolean(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_outbox_goal")),
        sa.ForeignKeyConstraint(["session"], ["session.id"], name=op.f("fk_outbox_session")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_outbox")),
        sa.UniqueConstraint("key", name=op.f("uq_outbox_key")),
    )
    op.create_index(
        "one_pending_status",
        "outbox",
        ["goal"],
        unique=True,
        sqlite_where=sa.text("kind = 'status' AND state = 'pending'"),
        postgresql_where=sa.text("kind = 'status' AND state = 'pending'"),
    )
    op.create_index("outbox_goal", "outbox", ["goal", "kind"], unique=False)
    op.create_index(
        "outbox_open",
        "outbox",
        ["session", "sequence"],
        unique=False,
        sqlite_where=sa.text("state IN ('pending', 'claimed', 'unknown')"),
        postgresql_where=sa.text("state IN ('pending', 'claimed', 'unknown')"),
    )


def _make_endpoint() -> None:
    op.create_table(
        "endpoint",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("closed_until", sa.Float(), nullable=False),
        sa.Column("last_success", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_endpoint")),
    )


def _make_fact() -> None:
    op.create_table(
        "fact",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("observed_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.Column("supersedes", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["session"], ["session.id"], name=op.f("fk_fact_session")),
        sa.ForeignKeyConstraint(["supersedes"], ["fact.id"], name=op.f("fk_fact_supersedes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fact")),
    )
    op.create_index(op.f("ix_fact_subject"), "fact", ["subject"], unique=False)


def _make_artifact() -> None:
    op.create_table(
        "artifact",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_artifact_goal")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifact")),
    )
    op.create_index(op.f("ix_artifact_goal"), "artifact", ["goal"], unique=False)


def _make_schedule() -> None:
    op.create_table(
        "schedule",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("objective", sa.String(), nullable=False),
        sa.Column("calendar", sa.Text(), nullable=False),
        sa.Column("zone", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("next_at", sa.Float(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["person.id"], name=op.f("fk_schedule_owner")),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_schedule_room")),
        sa.ForeignKeyConstraint(["session"], ["session.id"], name=op.f("fk_schedule_session")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedule")),
    )
    op.create_index(op.f("ix_schedule_next_at"), "schedule", ["next_at"], unique=False)
    op.create_index(op.f("ix_schedule_room"), "schedule", ["room"], unique=False)


def _make_watch() -> None:
    op.create_table(
        "watch",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("room", sa.String(), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("objective", sa.String(), nullable=False),
        sa.Column("probe", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("next_at", sa.Float(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["person.id"], name=op.f("fk_watch_owner")),
        sa.ForeignKeyConstraint(["room"], ["room.id"], name=op.f("fk_watch_room")),
        sa.ForeignKeyConstraint(["session"], ["session.id"], name=op.f("fk_watch_session")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watch")),
    )
    op.create_index(op.f("ix_watch_next_at"), "watch", ["next_at"], unique=False)
    op.create_index(op.f("ix_watch_room"), "watch", ["room"], unique=False)


def _make_occurrence() -> None:
    op.create_table(
        "occurrence",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schedule", sa.String(), nullable=True),
        sa.Column("watch", sa.String(), nullable=True),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("goal", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["goal"], ["goal.id"], name=op.f("fk_occurrence_goal")),
        sa.ForeignKeyConstraint(["schedule"], ["schedule.id"], name=op.f("fk_occurrence_schedule")),
        sa.ForeignKeyConstraint(["watch"], ["watch.id"], name=op.f("fk_occurrence_watch")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_occurrence")),
        sa.UniqueConstraint("schedule", "due_at", name=op.f("uq_occurrence_schedule_due_at")),
        sa.UniqueConstraint("watch", "due_at", name=op.f("uq_occurrence_watch_due_at")),
    )


def _make_journal_append_only() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for act in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER event_no_{act.lower()} BEFORE {act} ON event "
                "BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION journal_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the journal only grows'; END $$"
    )
    op.execute(
        "CREATE TRIGGER event_only_grows BEFORE UPDATE OR DELETE ON event "
        "FOR EACH ROW EXECUTE FUNCTION journal_only_grows()"
    )
