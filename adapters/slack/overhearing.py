"""
What is remembered of Slack from what it tells: people, who is where, and what was said.

Rule: nothing is asked here, and nothing goes wrong: what an event does not tell stays as it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from adapters.slack.calling import Json
from adapters.slack.history import History
from adapters.slack.ids import message_id
from adapters.slack.members import SlackMembers
from adapters.slack.mentions import Known
from adapters.slack.payloads import channel_of, fields, text_of, ts, user_id
from adapters.slack.people import Directory
from adapters.slack.room_names import RoomNames

_LOST: Final = frozenset(
    {"channel_left", "group_left", "channel_deleted", "group_deleted", "channel_unshared"}
)


@dataclass(slots=True)
class Overhearing:
    """What events change of what is remembered."""

    people: Directory
    members: SlackMembers
    history: History
    names: RoomNames

    def on_event(self, workspace: str, event: Json) -> None:
        """Take note of an event of a workspace."""
        channel, user = channel_of(event.get("channel")), user_id(event.get("user"))
        match text_of(event.get("type")):
            case "message" | "app_mention" if channel:
                self._said(workspace, channel, event)
            case "member_joined_channel" if channel and user:
                self.members.came(workspace, channel, user)
            case "member_left_channel" if channel and user:
                self.members.went(workspace, channel, user)
            case "user_change" | "user_profile_changed" | "team_join":
                self.people.changed(workspace, event.get("user"))
            case "channel_rename" | "channel_created" | "group_rename" if channel:
                name = text_of(fields(event.get("channel")).get("name"))
                self.names.told(workspace, channel, name)
            case "subteam_members_changed" | "subteam_updated":
                group = user_id(event.get("subteam_id")) or user_id(event.get("subteam"))
                self.members.forget(workspace, group)
            case kind if kind in _LOST and channel:
                self.members.forget(workspace, channel)
            case _:
                pass

    async def people_of(self, workspace: str, users: frozenset[str]) -> Mapping[str, Known]:
        """Who these users are, as far as Slack tells it."""
        return await self.people.these(workspace, users)

    def forget(self, workspace: str) -> None:
        """The app was uninstalled there: nothing of it is remembered."""
        self.people.forget(workspace)
        self.members.forget(workspace)
        self.history.forget(workspace)
        self.names.forget(workspace)

    def _said(self, workspace: str, channel: str, event: Json) -> None:
        match text_of(event.get("subtype")):
            case "message_deleted":
                removed = ts(event.get("deleted_ts"))
                if removed:
                    self.history.gone(workspace, message_id(channel, removed))
            case "message_changed":
                self.history.saw(workspace, channel, fields(event.get("message")))
            case _:
                self.history.saw(workspace, channel, event)
