"""The endpoint's own tools, as the operator and a room have them."""

from bot.agent.outfit import Endpoints
from bot.chat.allow_list import AllowList
from bot.goals.hands import Profile
from bot.hosts import expanded
from bot.ports.chat import Place
from bot.ports.model import Json
from bot.settings import Settings
from bot.tools.endpoint import endpoint_tools


def endpoints_of(settings: Settings, allow_list: AllowList) -> Endpoints:
    """What a goal is offered. Bedrock's endpoint has none of them."""

    def offered(place: Place, profile: Profile) -> tuple[Json, ...]:
        room = allow_list.settings(place)
        if not settings.server_tools or not room.server_tools or settings.provider == "bedrock":
            return ()
        hosts = expanded(room.hosts.split(",") if room.hosts else settings.hosts)
        return endpoint_tools(settings.server_tools, profile, hosts)

    return offered
