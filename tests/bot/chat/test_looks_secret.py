"""What looks secret, and what people write that does not."""

import base64
import hashlib
import random
import string
import time
import uuid

import pytest

from bot.chat.looks_secret import suspects

LETTERS = string.ascii_letters + string.digits


def made(beginning: str, length: int, letters: str = LETTERS) -> str:
    """Put together here, so that nothing in this file is one."""
    chance = random.Random(beginning)
    return beginning + "".join(chance.choice(letters) for _ in range(length))


SECRETS = {
    "slack": made("xox" + "b-123456789012-", 24),
    "github": made("gh" + "p_", 36),
    "github ": made("github" + "_pat_11AAAAAAA0", 70),
    "gitlab": made("gl" + "pat-", 20),
    "anthropic": made("sk-" + "ant-api03-", 95),
    "openai": made("sk-" + "proj-", 48),
    "aws": made("AK" + "IA", 16, string.ascii_uppercase + "234567"),
    "google": made("AI" + "za", 35),
    "npm": made("np" + "m_", 36),
    "pypi": made("py" + "pi-AgEIcHlwaS5vcmc", 60),
    "stripe": made("sk" + "_live_", 24),
    "huggingface": made("h" + "f_", 34),
    "telegram": made("123456789" + ":AA", 33),
    "jwt": made("ey" + "J", 40) + made("." + "eyJ", 60) + made(".", 43),
    "private_key": "-----BEGIN RSA "
    f"PRIVATE KEY-----\n{made('', 200)}\n-----END RSA "
    "PRIVATE KEY-----",
    "private_key ": "-----BEGIN OPENSSH " + f"PRIVATE KEY-----\n{made('b3', 60)}",
}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize(
    "around", ["{}", "use {} please", "TOKEN={}", '"{}"', "see:\n```\n{}\n```", "({})"]
)
def test_known_tokens_are_found_wherever_they_stand(kind: str, around: str) -> None:
    text = around.format(SECRETS[kind])

    [one] = suspects(text)

    assert one.kind == kind.strip()
    assert SECRETS[kind][:12] in text[one.begin : one.end]
    assert SECRETS[kind][-5:] in text[one.begin : one.end] or "PRIVATE" in text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("the db is postgres://app:Tr0ub4dor@db.internal/x", "Tr0ub4dor"),
        ("git clone https://ann:" + "s3cretpw1@git.example.org/r.git", "s3cretpw1"),
        ("password: hunter2-and-more", "hunter2-and-more"),
        ("Passwort: Blau3rHimmel!", "Blau3rHimmel!"),
        ("PASSWORD=correct9horse", "correct9horse"),
        ("api_key = " + made("", 32), made("", 32)),
        ("the token is " + made("t", 30), made("t", 30)),
        ('{"client_secret": "' + made("c", 40) + '"}', made("c", 40)),
        ("Authorization: Bearer " + made("b", 40), made("b", 40)),
    ],
)  # fmt: skip
def test_what_words_call_secret_is_found(text: str, secret: str) -> None:
    [one] = suspects(text)

    assert text[one.begin : one.end].rstrip("!") in (secret, secret.rstrip("!"))


PLAIN = [
    "Fix the failing test in tests/bot/test_hosts.py and say why it failed.",
    "Rename get_token to fetch_token, the password field to passphrase.",
    "password: see the vault",
    "The password is in 1Password, ask Ben.",
    "Password reset does not work for new users",
    "token: str = settings.token",
    "token=os.environ['API_TOKEN']",
    "password=getpass.getpass()",
    "api_key: ${API_KEY}",
    "api key: <your key>",
    "PASSWORD=changeme123",
    "secret: example-secret-1234",
    "token = None",
    "the token is refreshed every 3600 seconds by refresh_tokens_daily",
    "token bucket algorithm implementation2 with sliding-window-log counters",
    "secret sharing: Shamir's threshold scheme",
    "bearer authentication-with-client-certificates",
    "commit 3f2504e04f8911d39a0c0305e82c3301f2b4c6d8 broke it",
    "token id 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    f"sha256: {hashlib.sha256(b'x').hexdigest()}",
    f"secret hash = {hashlib.sha256(b'y').hexdigest()}",
    f"md5 {hashlib.md5(b'z').hexdigest()}",
    f"request {uuid.UUID(int=2**100 + 12345)} failed",
    f"data:image/png;base64,{base64.b64encode(bytes(range(256))).decode()}",
    "https://example.org/a/b?token=&x=1#part",
    "https://user@example.org/path",
    "ssh://git@github.com:22/a/b.git",
    "http://localhost:8080/login",
    "postgres://app:password@localhost/app",
    "redis://:${REDIS_PASSWORD}@cache:6379/0",
    "npm_config_registry and npm_package_name",
    "github_pat_ is the beginning of a fine-grained token; ghp_ of a classic one",
    "AKIA" + "IOSFODNN7EXAMPLE is Amazon's sample",
    "ghp_" + "x" * 36,
    "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "def password(self, value: str) -> bool: return check_password_hash(self.hash, value)",
    "if token.startswith('Bearer '): token = token.removeprefix('Bearer ')",
    "const apiKey = process.env.API_KEY_PRODUCTION_2;",
    "Version v1.2.3-rc.1+build.20261201 of headway",
    "pass --with-token=stdin to gh auth login",
    "key: tests/adapters/gateway/test_tunnels.py::test_a_secret_is_put",
    "Password: ********",
    "token: headway_0123456789abcdef0123456789abcdef01234567",
    "credentials: AWS_PROFILE=production-eu-central-1",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_what_people_write_is_none(text: str) -> None:
    assert suspects(text) == ()


def test_this_repositorys_own_texts_are_none() -> None:
    from bot.chat.texts import ENGLISH

    assert {key: text for key, text in ENGLISH.items() if suspects(text)} == {}


def test_a_long_text_takes_no_long_time() -> None:
    text = "password " * 20_000 + "token: " + "a" * 100_000 + "://" * 10_000 + "eyJ" * 10_000

    assert suspects(text[:100_000]) == ()


def test_keys_that_have_no_end_are_found_in_no_long_time() -> None:
    begin = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n"
    began = time.process_time()

    found = suspects(begin * 2_000)

    assert time.process_time() - began < 1
    assert [(one.begin, one.end) for one in found[:2]] == [
        (0, len(begin)),
        (len(begin), 2 * len(begin)),
    ]
