"""What an operator may set about the chat networks; a part of `bot.settings`."""

from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

from bot.settings_values import a_command, a_matrix_id, a_url


class NetworkSettings(BaseSettings):
    """Accounts and addresses of the networks beside the console."""

    matrix_homeserver: str = Field(
        default="",
        description="The bot's Matrix server, example.org or a URL. With these four the first start "
        "logs in, in a container; otherwise `headway matrix login` does.",
    )
    matrix_user: str = Field(default="", description="The bot's Matrix id, @headway:example.org.")
    matrix_password: SecretStr = Field(
        default=SecretStr(""), description="Its password; a session that was ended is begun again."
    )
    matrix_token: SecretStr = Field(
        default=SecretStr(""),
        description="In place of a password: the access token of a login that nobody else uses.",
    )
    slack_mode: Literal["socket", "http"] = Field(
        default="socket",
        description="How Slack reaches the bot: over a socket that it opens, or at public_url.",
    )
    slack_bot_token: SecretStr = Field(
        default=SecretStr(""),
        description="xoxb-...: the token of a single workspace. Empty: workspaces install it by OAuth.",
    )
    slack_app_token: SecretStr = Field(
        default=SecretStr(""), description="xapp-...: with connections:write, for sockets."
    )
    slack_signing_key: SecretStr = Field(
        default=SecretStr(""),
        description="The app's signing secret, by which requests over HTTP are known as Slack's.",
    )
    slack_client_id: str = Field(default="", description="Of the app, for installing it by OAuth.")
    slack_client_key: SecretStr = Field(
        default=SecretStr(""), description="The app's client secret, for installing it by OAuth."
    )
    slack_command: str = Field(
        default="goal", description="Name of the slash command, without the slash."
    )
    slack_api_url: str = Field(
        default="https://slack.com/api/",
        description="Where Slack's Web API is; tests have another.",
    )
    public_url: str = Field(
        default="",
        description="https://bot.example.org: where networks find public_listen from outside.",
    )

    @field_validator("matrix_user")
    @classmethod
    def _full_id(cls, value: str) -> str:
        return a_matrix_id(value)

    @field_validator("slack_command")
    @classmethod
    def _command(cls, value: str) -> str:
        return a_command(value)

    @field_validator("slack_api_url", "public_url")
    @classmethod
    def _url(cls, value: str) -> str:
        return a_url(value)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.slack_app_token.get_secret_value().startswith("xoxb-"):
            raise ValueError("slack_app_token holds a bot token; the app's own begins with xapp-")
        if self.slack_bot_token.get_secret_value().startswith("xapp-"):
            raise ValueError("slack_bot_token holds an app token; the bot's begins with xoxb-")
        return self
