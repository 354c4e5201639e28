"""What was done to the database itself."""

from sqlmodel import Field

from adapters.store.tables.root import Table


class Restored(Table, table=True):
    """At `at` the rows became those of a backup that Headway `made_by` had made at `made_at`.

    Sessions that are older may hold posts that the rows know nothing of.
    """

    __tablename__ = "restored"

    at: float = Field(primary_key=True)
    made_at: float
    made_by: str
