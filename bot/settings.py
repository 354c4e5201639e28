"""
Every setting, read once.

Their order, and what is said of a source that is wrong: `bot.settings_sources`. A new setting takes
one field here, and may then come from each of them.
"""

import os
from dataclasses import fields
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self
from zoneinfo import ZoneInfo

import tzlocal
from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from bot.errors import BadSettings
from bot.goals.caps import SCOPES, Caps
from bot.goals.limits import (
    LEAST_BUDGET_TOKENS,
    MOST_DAYS,
    MOST_HOURS,
    MOST_TOKENS,
    MOST_USD,
    Limits,
)
from bot.goals.money import NANO, Budget
from bot.settings_hands import HandSettings
from bot.settings_networks import NetworkSettings
from bot.settings_sources import (
    FILE_NAME,
    NESTED,
    PREFIX,
    FileVariables,
    Leaf,
    Origin,
    Variables,
    found_file,
    not_json,
    origins,
    refuse_unknown_variables,
    sentence,
)
from bot.settings_values import (
    ModelPrice,
    a_zone,
    an_address,
    default_key_file,
    default_state_dir,
    key_in,
    one_word,
    without_negatives,
)

DAY_S: Final = 86_400


class Settings(HandSettings, NetworkSettings):
    """What an operator may set. Frozen: a change takes a restart."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter=NESTED,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
    )
    config_file: ClassVar[Path | None] = None

    state_dir: Path = Field(
        default_factory=default_state_dir,
        description="The one folder that holds everything: database, workspaces, sockets.",
    )
    workspaces: Path | None = Field(
        default=None,
        description="The goals' folders. Empty: in the state folder. Processes that share it and a "
        "PostgreSQL take over each other's goals.",
    )
    database: str = Field(
        default="",
        repr=False,
        description="Database URL. Empty: SQLite in the state folder. PostgreSQL: postgresql://...",
    )
    api_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key of the model endpoint. Empty: ANTHROPIC_API_KEY.",
    )
    api_key_file: Path | None = Field(
        default=None, description="A file holding the key; read again when the key is refused."
    )
    secret_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key that tokens, seeds and secrets are sealed under. Empty: in a file.",
    )
    secret_key_file: Path | None = Field(
        default=None,
        description="The file that holds it, outside the state folder; made when first needed. "
        "Empty: secret.key among systemd's credentials or in the user's configuration folder.",
    )
    provider: Literal["anthropic", "bedrock", "vertex", "rehearsed"] = Field(
        default="anthropic",
        description="Whose endpoint serves the model. `rehearsed`: a script, for a try-out without a key.",
    )
    base_url: str = Field(
        default="", description="Another address that speaks the Messages API. Empty: Anthropic's."
    )
    operations_room: str = Field(
        default="",
        description="Where incidents are told, once each: NETWORK:ROOM, such as console:console. "
        "Empty: the log alone.",
    )
    region: str = Field(default="", description="Cloud region, for Bedrock and Vertex.")
    project: str = Field(default="", description="Cloud project, for Vertex.")
    model: str = Field(default="claude-sonnet-5-5", description="Model of the agent.")
    audit_model: str = Field(default="claude-haiku-5-5", description="Model of the auditor.")
    fallback_models: tuple[str, ...] = Field(
        default=(), description="Tried in order when the agent's model is overloaded or not found."
    )
    prices: dict[str, ModelPrice] = Field(
        default_factory=dict,
        description="Prices by model, where they are not known or not yours: dollars a million tokens.",
    )
    max_tokens: int = Field(default=8_192, ge=256, description="Output tokens of one agent call.")
    compact_at: int = Field(
        default=150_000,
        ge=20_000,
        description="Prompt tokens at which a conversation is compacted.",
    )
    calls_at_once: int = Field(
        default=100, ge=1, description="Model calls in flight at one endpoint."
    )
    turns_at_once: int = Field(default=50, ge=1, description="Goals worked at by this process.")
    budget_usd: float = Field(
        default=2.0, gt=0, le=MOST_USD, description="Default budget of a goal, dollars."
    )
    budget_tokens: int = Field(
        default=2_000_000,
        ge=LEAST_BUDGET_TOKENS,
        le=MOST_TOKENS,
        description="Default budget of a goal, tokens.",
    )
    budget_hours: float = Field(
        default=4.0,
        gt=0,
        le=MOST_HOURS,
        description="Default budget of a goal, hours of active work.",
    )
    cap_person_usd: float = Field(
        default=10.0, ge=0, le=MOST_USD, description="A day's dollars of a person's goals."
    )
    cap_room_usd: float = Field(
        default=20.0, ge=0, le=MOST_USD, description="A day's dollars of a room's goals."
    )
    cap_all_usd: float = Field(
        default=50.0, ge=0, le=MOST_USD, description="A day's dollars of all goals together."
    )
    cap_person_tokens: int = Field(
        default=10_000_000,
        ge=0,
        le=MOST_TOKENS,
        description="A day's tokens of a person, of models of unknown price.",
    )
    cap_room_tokens: int = Field(
        default=20_000_000, ge=0, le=MOST_TOKENS, description="The same of a room."
    )
    cap_all_tokens: int = Field(
        default=50_000_000, ge=0, le=MOST_TOKENS, description="The same of all together."
    )
    live_goals_person: int = Field(
        default=3, ge=1, description="Live goals of a person; the next queue."
    )
    live_goals_room: int = Field(
        default=10, ge=1, description="Live goals in a room; the next queue."
    )
    live_goals_all: int = Field(default=50, ge=1, description="Live goals in all; the next queue.")
    live_asks_person: int = Field(default=5, ge=1, description="A person's ordinary turns at once.")
    keep_texts_days: float = Field(
        default=90.0,
        gt=0,
        le=MOST_DAYS,
        description="Days that texts live after their goal ended; a room may say its own.",
    )
    keep_workspaces_days: float = Field(
        default=30.0,
        gt=0,
        le=MOST_DAYS,
        description="Days that workspaces live after their goal ended.",
    )
    tool_timeout_s: float = Field(default=120.0, gt=0, le=600, description="Time of one command.")
    audit_timeout_s: float = Field(
        default=30.0, gt=0, le=DAY_S, description="Time of one audit call."
    )
    file_most_mb: int = Field(
        default=50, ge=1, le=1024, description="MB that a file may have which comes or is shared."
    )
    lease_s: float = Field(
        default=30.0, gt=1, le=DAY_S, description="How long a silent worker keeps a goal."
    )
    renew_s: float = Field(
        default=10.0, gt=0.1, le=DAY_S, description="How often a lease is renewed."
    )
    shutdown_s: float = Field(
        default=6.0,
        ge=0,
        le=7,
        description="Grace of a running step when stopping, of 10 s in all.",
    )
    clock_rate: float = Field(
        default=1.0, gt=0, le=1000, description="Rehearsals: seconds of Headway in a second."
    )
    zone: str = Field(
        default="", description="IANA zone of the times that people read. Empty: this machine's."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="What is written to standard error."
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto",
        description="How: a JSON object a line, or plain lines. `auto`: plain on a terminal only.",
    )
    private_listen: str = Field(
        default="",
        description="Where health and metrics are served: 127.0.0.1:8377, or unix:/PATH. Empty: "
        "nowhere.",
    )
    public_listen: str = Field(
        default="", description="Where networks reach it from outside: HOST:PORT. Empty: nowhere."
    )
    limits: Limits = Field(
        default_factory=Limits, description="Numbers of the goal's life, each by its own name."
    )

    @field_validator("state_dir", "workspaces", "secret_key_file")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return value and value.expanduser().absolute()

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        return a_zone(value)

    @field_validator("private_listen", "public_listen")
    @classmethod
    def _address(cls, value: str) -> str:
        return an_address(value)

    @field_validator("limits")
    @classmethod
    def _none_negative(cls, value: Limits) -> Limits:
        return without_negatives(value)

    @model_validator(mode="after")
    def _renewed_in_time(self) -> Self:
        if self.renew_s * 2 > self.lease_s:
            raise ValueError(
                f"a lease of {self.lease_s:g} s that is renewed every {self.renew_s:g} s runs out; "
                "give renew_s at most half of lease_s"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is passed in, variables, files that variables name, the settings file."""
        toml = TomlConfigSettingsSource(settings_cls, cls.config_file)
        variables, files = Variables(settings_cls), FileVariables(settings_cls)
        return init_settings, variables, files, toml

    @property
    def database_url(self) -> str:
        """The database's URL, with the default filled in."""
        return self.database or f"sqlite:///{self.state_dir / 'headway.db'}"

    @property
    def key_file(self) -> Path:
        """The file of the secret key, with the default filled in."""
        return self.secret_key_file or default_key_file()

    @property
    def workspaces_dir(self) -> Path:
        """The folder of the goals' workspaces, with the default filled in."""
        return self.workspaces or self.state_dir / "workspaces"

    @property
    def snapshots_dir(self) -> Path:
        """The folder of the workspaces' snapshots: whoever shares those shares them."""
        if self.workspaces is None:
            return self.state_dir / "snapshots"
        return self.workspaces.with_name(f"{self.workspaces.name}.snapshots")

    @property
    def tz(self) -> tzinfo:
        """The zone of the times that people read; UTC where the machine's is not known."""
        if self.zone:
            return ZoneInfo(self.zone)
        try:
            return tzlocal.get_localzone()
        except (KeyError, ValueError, OSError):
            return UTC

    @property
    def budget(self) -> Budget:
        """What a goal may spend unless told otherwise."""
        return Budget(int(self.budget_usd * NANO), self.budget_tokens, self.budget_hours * 3600)

    @property
    def caps(self) -> Caps:
        """What a day may cost, and how many goals may be live, by person, room and in all."""
        usd = (self.cap_person_usd, self.cap_room_usd, self.cap_all_usd)
        tokens = (self.cap_person_tokens, self.cap_room_tokens, self.cap_all_tokens)
        live = (self.live_goals_person, self.live_goals_room, self.live_goals_all)
        return Caps(
            dict(zip(SCOPES, (round(one * NANO) for one in usd), strict=True)),
            dict(zip(SCOPES, tokens, strict=True)),
            dict(zip(SCOPES, live, strict=True)),
            self.live_asks_person,
        )

    def key(self) -> str:
        """The endpoint's key as it is now: file, setting, or ANTHROPIC_API_KEY. Raises BadSettings."""
        if self.api_key_file is not None:
            return key_in(self.api_key_file)
        key = self.api_key.get_secret_value() or os.environ.get("ANTHROPIC_API_KEY", "")
        return one_word(key, "The model's key")


def read_settings(config: Path | None = None, **given: Any) -> Settings:
    """Read the settings from all their sources; `given` wins over all of them.

    Raises:
        BadSettings: a key or variable is unknown, or a value is out of range.
    """
    refuse_unknown_variables(os.environ, Settings.model_fields)
    path = config or found_file()
    if config is not None and not config.is_file():
        raise BadSettings(f"There is no settings file {config}. Check the path after --config.")
    reader = type("Settings", (Settings,), {"config_file": path, "__module__": __name__})
    try:
        settings = reader(**given)
    except ValidationError as error:
        known = [f"limits.{field.name}" for field in fields(Limits)] + list(Settings.model_fields)
        raise BadSettings(sentence(error, path, known)) from error
    except SettingsError as error:
        raise BadSettings(not_json(str(error))) from error
    except (ValueError, OSError) as error:
        raise BadSettings(f"The settings cannot be read: {error}. Mend {path}.") from error
    assert isinstance(settings, Settings)
    return settings


def traced(config: Path | None = None, **flags: Any) -> tuple[Settings, dict[Leaf, Origin]]:
    """The settings, and where each value that is not a default comes from.

    Raises:
        BadSettings: as `read_settings`.
    """
    settings = read_settings(config, **flags)
    return settings, origins(Settings, flags, settings.config_file)


__all__ = [
    "FILE_NAME", "PREFIX", "ModelPrice", "Settings", "default_state_dir", "read_settings", "traced",
]  # fmt: skip
