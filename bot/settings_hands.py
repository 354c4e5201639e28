"""What an operator may set about the agent's hands; a part of `bot.settings`."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from bot.goals.hands import Profile
from bot.settings_values import a_command_line, a_private_host, some_hosts


class HandSettings(BaseSettings):
    """Where tools run, what they may do unasked, and what they reach. A room may say otherwise."""

    sandbox: Literal["bubblewrap", "docker", "none"] = Field(
        default="bubblewrap",
        description="Where tools run. `none` runs them unconfined, and says so for as long.",
    )
    sandbox_image: str = Field(
        default="python:3.12-bookworm",
        min_length=1,
        description="Image of the containers of `docker`: it needs bash and Python 3.11 or later.",
    )
    profile: Profile = Field(
        default="workspace",
        description="What tools may do unasked: read_only, workspace, networked or full.",
    )
    approvals: Literal["ask", "deny"] = Field(
        default="ask", description="What becomes of a call beyond the profile."
    )
    unattended: Literal["deny", "park"] = Field(
        default="deny",
        description="The same where no person began the goal; `park` lets it rest until one looks.",
    )
    hosts: tuple[str, ...] = Field(
        default=("pypi", "npm", "debian", "github"),
        description="Bundles and hosts that networked goals reach.",
    )
    private_hosts: tuple[str, ...] = Field(
        default=(),
        description="Hosts of your own network that goals may be allowed, each as NAME=ADDRESS or "
        "NAME=ADDRESS:PORT; no other private address is ever reached.",
    )
    server_tools: tuple[Literal["web_search", "web_fetch", "code_execution"], ...] = Field(
        default=(),
        description="Tools that the model's endpoint runs itself; what they read and cost is counted.",
    )
    mcp_trusted: tuple[str, ...] = Field(
        default=(),
        description="Command lines of MCP servers that run outside the sandbox, word for word as rooms "
        "name them. Any other runs inside, without a network.",
    )
    mcp_folders: tuple[Path, ...] = Field(
        default=(),
        description="Folders that MCP servers in the sandbox may read, beside the system.",
    )
    gate_timeout_s: float = Field(
        default=300.0, gt=0, le=600, description="Seconds that one check of a goal may take."
    )
    repository_mb: int = Field(
        default=256, gt=0, le=4096, description="Megabytes that a repository's checkout is made of."
    )
    ask_commands: tuple[str, ...] = Field(
        default=(),
        description="Beginnings of simple commands that take an approval (`git push`), but in `full`.",
    )
    deny_commands: tuple[str, ...] = Field(
        default=(),
        description="Beginnings of simple commands that never run, whatever the profile.",
    )

    @field_validator("hosts")
    @classmethod
    def _known_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return some_hosts(value)

    @field_validator("ask_commands", "deny_commands")
    @classmethod
    def _commands(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(a_command_line, value))

    @field_validator("mcp_trusted")
    @classmethod
    def _command_lines(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(a_command_line, value))

    @field_validator("mcp_folders")
    @classmethod
    def _whole_paths(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(each.expanduser().absolute() for each in value)

    @field_validator("private_hosts")
    @classmethod
    def _private(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(a_private_host, value))
