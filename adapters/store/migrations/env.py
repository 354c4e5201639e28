"""How Alembic runs the revisions: on the connection that the store hands over, never offline."""

from alembic import context

from adapters.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
