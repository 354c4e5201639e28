"""How a running process changes secrets, and learns what others have set."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from adapters.keys.key import read_keys
from adapters.matrix.account import Account
from bot.errors import SecretsUnusable
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.keys import key_source, matrix_account, sealing_of
from bot.wiring.secrets import KnownSecrets, SecretDesk, learn_what_opens, with_secrets
from tests.contracts.secrets import sealing_in
from tests.doubles.secrets import MemorySecrets

VALUE = "planted-value"
ACCOUNT = Account("https://example.org", "@headway:example.org", "D", 1.0, "token", "pickle")


class Bed:
    def __init__(self, folder: Path) -> None:
        sealing, self.file = sealing_in(folder)
        self.secrets = MemorySecrets(sealing)
        self.redactor = Redactor()
        self.desk = SecretDesk(self.secrets, self.redactor)


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)


async def test_what_is_set_is_kept_and_known_at_once(bed: Bed) -> None:
    request = {"do": "secret.set", "name": "A", "value": VALUE, "hosts": ["h"], "by": "ann"}

    answer = await bed.desk(request)

    [named] = await bed.secrets.names()
    assert answer == {"key_id": named.key_id}
    assert (named.hosts, named.set_by) == (("h",), "ann")
    assert bed.redactor.text(VALUE) == "[secret A]"


async def test_what_another_process_has_set_is_known_before_it_is_used(bed: Bed) -> None:
    await bed.secrets.put("secret", "A", VALUE)

    value = await KnownSecrets(bed.secrets, bed.redactor).get("secret", "A")

    assert value == VALUE
    assert bed.redactor.text(f"it is {VALUE}") == "it is [secret A]"


async def test_what_is_removed_stays_known_to_the_process(bed: Bed) -> None:
    await bed.desk({"do": "secret.set", "name": "A", "value": VALUE})

    gone = await bed.desk({"do": "secret.remove", "name": "A"})
    none = await bed.desk({"do": "secret.remove", "name": "A"})

    assert (gone, none) == ({"removed": True}, {"removed": False})
    assert bed.redactor.text(VALUE) == "[secret A]"


async def test_a_networks_token_is_removed_by_its_kind(bed: Bed) -> None:
    await bed.secrets.put("token", "A", VALUE)

    other = await bed.desk({"do": "secret.remove", "name": "A"})
    gone = await bed.desk({"do": "secret.remove", "kind": "token", "name": "A"})

    assert (other, gone) == ({"removed": False}, {"removed": True})


async def test_a_rotation_is_asked_for(bed: Bed) -> None:
    await bed.desk({"do": "secret.set", "name": "A", "value": VALUE})
    [before] = await bed.secrets.names()

    answer = await bed.desk({"do": "secret.rotate", "keeps_old": True})

    assert answer == {"resealed": 1}
    assert len(read_keys(bed.file.read_text(), "it")) == 2
    assert (await bed.secrets.names())[0].key_id != before.key_id


async def test_what_another_process_sets_is_learnt_at_the_next_look(bed: Bed) -> None:
    await bed.secrets.put("secret", "A", VALUE)
    before = bed.redactor.text(VALUE)

    await bed.desk.look()
    await bed.desk.look()

    assert before == VALUE
    assert bed.redactor.text(VALUE) == "[secret A]"


async def test_a_look_that_fails_is_no_end(bed: Bed, caplog: pytest.LogCaptureFixture) -> None:
    await bed.secrets.put("secret", "A", VALUE)
    bed.file.unlink()

    await bed.desk.look()

    assert "cannot be read" in caplog.text


async def test_other_requests_go_on_without_known_secrets(bed: Bed) -> None:
    await bed.desk({"do": "secret.set", "name": "A", "value": VALUE})

    async def others(request: dict[str, object]) -> dict[str, object]:
        return {"heard": request}

    answer = await with_secrets(bed.desk, bed.redactor, others)({"do": "hold", "why": VALUE})

    assert answer == {"heard": {"do": "hold", "why": "[secret A]"}}


async def test_whoever_only_reads_knows_what_opens_and_says_what_does_not(
    bed: Bed, caplog: pytest.LogCaptureFixture
) -> None:
    await bed.secrets.put("secret", "A", "another-value")
    await bed.secrets.put("secret", "B", VALUE)
    named, _ = bed.secrets.rows["secret", "A"]
    bed.secrets.rows["secret", "A"] = (named, "1.broken")

    await learn_what_opens(bed.redactor, bed.secrets)

    assert bed.redactor.text(f"another-value {VALUE}") == "another-value [secret B]"
    assert "The secret A does not open" in caplog.text


def test_a_key_in_a_setting_goes_before_the_file(tmp_path: Path) -> None:
    of_setting = key_source(Settings(secret_key=SecretStr("x"), state_dir=tmp_path))
    of_file = key_source(Settings(secret_key_file=tmp_path / "k", state_dir=tmp_path))

    assert type(of_setting).__name__ == "KeySetting"
    assert type(of_file).__name__ == "KeyFile"


@pytest.mark.parametrize(
    "wish",
    [{}, {"keeps_old": True}, {"is_made": False}],
    ids=["dropping the old keys", "keeping them", "under the key there is"],
)
async def test_the_matrix_account_is_sealed_again_with_the_rest(
    tmp_path: Path, wish: dict[str, bool]
) -> None:
    settings = Settings(state_dir=tmp_path / "state", secret_key_file=tmp_path / "key")
    file = matrix_account(settings)
    file.write(ACCOUNT, is_first_secret=True)
    sealing = sealing_of(settings)
    desk = SecretDesk(MemorySecrets(sealing), Redactor(), file)
    if "is_made" in wish:
        sealing.add_key()

    answer = await desk({"do": "secret.rotate", **wish})

    newest = read_keys((tmp_path / "key").read_text(), "")[0].id
    assert answer == {"resealed": 1}
    assert file.key_id() == newest
    assert file.read() == ACCOUNT


async def test_nothing_is_rotated_while_the_matrix_account_does_not_open(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path / "state", secret_key_file=tmp_path / "key")
    file = matrix_account(settings)
    file.write(ACCOUNT, is_first_secret=True)
    (tmp_path / "key").write_text("A" * 43 + "=\n")
    (tmp_path / "key").chmod(0o600)
    desk = SecretDesk(MemorySecrets(sealing_of(settings)), Redactor(), file)

    with pytest.raises(SecretsUnusable, match=r"@headway:example\.org"):
        await desk({"do": "secret.rotate"})

    assert (tmp_path / "key").read_text() == "A" * 43 + "=\n"


async def test_a_secret_makes_no_key_where_the_matrix_accounts_key_is_lost(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path / "state", secret_key_file=tmp_path / "key")
    file = matrix_account(settings)
    file.write(ACCOUNT, is_first_secret=True)
    (tmp_path / "key").unlink()
    secrets = MemorySecrets(sealing_of(settings))

    with pytest.raises(SecretsUnusable, match="Put it back"):
        await secrets.put("secret", "A", VALUE)

    assert not (tmp_path / "key").exists()
