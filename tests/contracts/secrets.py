"""What every store of secrets does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.keys.key import read_keys
from adapters.keys.sealing import KeySealing
from adapters.keys.source import KeyFile
from bot.errors import SecretsUnusable
from bot.ports.secrets import Sealing, Secrets

VALUE = "hunter2-and-more \u00e9\ud83d\ude00\x00\n end"


@dataclass
class SecretBed:
    """A store of secrets over a key file, with a hand in its rows."""

    secrets: Secrets
    file: Path
    again: Callable[[Sealing], Secrets]
    """The same rows, opened with other keys."""
    alter: Callable[[str, str], Awaitable[None]]
    """Puts the sealed text (and key id) of one name into the row of another; `!` flips a bit."""

    def keys(self) -> list[str]:
        return [key.id for key in read_keys(self.file.read_text(), "it")]


def sealing_in(folder: Path) -> tuple[Sealing, Path]:
    file = folder / "config" / "secret.key"
    return KeySealing(KeyFile(file, apart_from=folder / "state")), file


class SecretsContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_value_comes_back_as_it_was_put(self, bed: SecretBed) -> None:
        put = await bed.secrets.put("secret", "TOKEN", VALUE, hosts=("a.example",), by="ann")

        [named] = await bed.secrets.names()

        assert named == put
        assert (named.hosts, named.set_by, named.key_id) == (("a.example",), "ann", bed.keys()[0])
        assert named.set_at > 0
        assert await bed.secrets.get("secret", "TOKEN") == VALUE
        assert await bed.secrets.values() == {named: VALUE}

    async def test_a_value_replaces_the_one_of_its_kind_and_name_alone(
        self, bed: SecretBed
    ) -> None:
        await bed.secrets.put("secret", "A", "first-value", hosts=("a.example",))
        await bed.secrets.put("token", "A", "a-token")
        await bed.secrets.put("secret", "A", "second-value")

        names = await bed.secrets.names()

        assert [(n.kind, n.name, n.hosts) for n in names] == [
            ("secret", "A", ()),
            ("token", "A", ()),
        ]
        assert await bed.secrets.get("secret", "A") == "second-value"
        assert await bed.secrets.get("token", "A") == "a-token"

    async def test_what_is_removed_is_gone(self, bed: SecretBed) -> None:
        await bed.secrets.put("secret", "A", "first-value")

        assert await bed.secrets.remove("secret", "A")
        assert not await bed.secrets.remove("secret", "A")
        assert await bed.secrets.names() == ()
        with pytest.raises(KeyError):
            await bed.secrets.get("secret", "A")

    async def test_nothing_kept_needs_no_key(self, bed: SecretBed) -> None:
        assert await bed.secrets.values() == {}
        assert not bed.file.exists()

    async def test_a_rotation_seals_all_under_a_new_key_and_drops_the_old_one(
        self, bed: SecretBed
    ) -> None:
        before = await bed.secrets.put("secret", "A", "first-value", by="ann")
        await bed.secrets.put("seed", "B", "second-value")

        count = await bed.secrets.rotate()

        named = (await bed.secrets.names())[0]
        assert count == 2
        assert bed.keys() == [named.key_id]
        assert named.key_id != before.key_id
        assert (named.set_by, named.set_at) == (before.set_by, before.set_at)
        assert sorted((await bed.secrets.values()).values()) == ["first-value", "second-value"]

    async def test_a_rotation_may_leave_the_old_key_for_backups(self, bed: SecretBed) -> None:
        before = await bed.secrets.put("secret", "A", "first-value")

        await bed.secrets.rotate(keeps_old=True)
        [named] = await bed.secrets.names()

        assert bed.keys() == [named.key_id, before.key_id]

    async def test_a_rotation_to_the_key_that_stands_first(self, bed: SecretBed) -> None:
        await bed.secrets.put("secret", "A", "first-value")
        sealing, _ = sealing_in(bed.file.parents[1])
        newest = sealing.add_key()

        await bed.secrets.rotate(is_made=False)

        assert [named.key_id for named in await bed.secrets.names()] == [newest]
        assert len(bed.keys()) == 2

    @pytest.mark.parametrize(
        ("of", "into"),
        [("A", "B"), ("!", "A"), ("other host", "A")],
        ids=["moved", "flipped", "host"],
    )
    async def test_a_row_that_was_altered_does_not_open_and_says_what_to_do(
        self, bed: SecretBed, of: str, into: str
    ) -> None:
        await bed.secrets.put("secret", "A", "first-value", hosts=("a.example",))
        await bed.secrets.put("secret", "B", "second-value")
        await bed.alter(of, into)

        with pytest.raises(SecretsUnusable, match=rf"altered.*headway secret set {into}$"):
            await bed.secrets.get("secret", into)
        with pytest.raises(SecretsUnusable, match="altered"):
            await bed.secrets.rotate()

        assert len(bed.keys()) == 1, "No key is made for a rotation that cannot be."

    async def test_a_key_that_is_not_there_is_named_with_what_to_do(self, bed: SecretBed) -> None:
        named = await bed.secrets.put("secret", "A", "first-value")
        bed.file.unlink()
        lost = bed.again(sealing_in(bed.file.parents[1])[0])

        with pytest.raises(SecretsUnusable, match=rf"{named.key_id}.*headway secret set A"):
            await lost.values()
        await lost.put("secret", "A", "given-again")

        assert await lost.get("secret", "A") == "given-again"

    async def test_a_key_that_is_gone_is_not_replaced_by_a_new_one_unasked(
        self, bed: SecretBed
    ) -> None:
        await bed.secrets.put("secret", "TOKEN", VALUE)
        kept = bed.file.read_bytes()
        bed.file.unlink()

        with pytest.raises(SecretsUnusable, match="Put it back"):
            await bed.secrets.put("secret", "OTHER", "another-value")

        assert not bed.file.exists()
        bed.file.write_bytes(kept)
        bed.file.chmod(0o600)
        assert list((await bed.secrets.values()).values()) == [VALUE]

    async def test_the_only_value_can_be_set_again_without_its_key(self, bed: SecretBed) -> None:
        await bed.secrets.put("secret", "TOKEN", VALUE)
        bed.file.unlink()

        await bed.secrets.put("secret", "TOKEN", "another-value")

        assert await bed.secrets.get("secret", "TOKEN") == "another-value"

    @pytest.mark.parametrize("killed_after", ["the new key", "the rows"])
    async def test_a_rotation_that_is_cut_leaves_everything_readable_and_the_next_one_tidies_up(
        self, bed: SecretBed, killed_after: str
    ) -> None:
        await bed.secrets.put("secret", "A", "first-value")
        cut = bed.again(_Cut(sealing_in(bed.file.parents[1])[0], killed_after))
        with pytest.raises(_Killed):
            await cut.rotate()

        assert len(bed.keys()) == 2
        assert await bed.secrets.get("secret", "A") == "first-value"

        await bed.secrets.rotate()

        assert len(bed.keys()) == 1
        assert await bed.secrets.get("secret", "A") == "first-value"


class _Killed(Exception):
    pass


class _Cut:
    """Ends a rotation where its process would be killed."""

    def __init__(self, sealing: Sealing, after: str) -> None:
        self._sealing, self._after = sealing, after
        self.seal, self.unseal = sealing.seal, sealing.unseal

    def add_key(self) -> str:
        made = self._sealing.add_key()
        if self._after == "the new key":
            raise _Killed
        return made

    def drop_keys(self, keep: frozenset[str]) -> None:
        raise _Killed
