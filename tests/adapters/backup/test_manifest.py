"""A manifest that is whole by its checksum, and says what no backup says."""

import json
from typing import Any

import pytest

from adapters.backup import manifest
from adapters.backup.manifest import Manifest
from adapters.backup.tree import Entry
from bot.errors import StoreUnusable

TOLD = Manifest(
    made_at=1_796_000_000.5,
    headway="0.1.0",
    schema="0002",
    database="sqlite",
    entries=(Entry("database/headway.db", 7, "ab"), Entry("workspaces/x/l", target="y")),
    left_out=(Entry("workspaces/x/pipe", why="a pipe"),),
)


def test_what_was_written_is_read() -> None:
    assert manifest.read(manifest.written(TOLD)) == TOLD


@pytest.mark.parametrize(
    "said",
    [
        {"made_at": "x"},
        {"made_at": 1e300},
        {"made_at": float("nan")},
        {"made_at": -1.0},
        {"headway": 7},
        {"schema": None},
        {"schema": 12},
        {"schema": "newest"},
        {"database": "oracle"},
        {"database": ["sqlite"]},
        {"entries": 5},
        {"entries": [5]},
        {"entries": [{"size": 3}]},
        {"entries": [{"path": "x", "size": "3"}]},
        {"left_out": {"x": 1}},
    ],
    ids=str,
)
def test_what_is_no_account_of_a_backup_is_refused(said: dict[str, Any]) -> None:
    row = json.loads(manifest.written(TOLD)) | said

    with pytest.raises(StoreUnusable, match="says what no backup says: take another"):
        manifest.read(_sealed(row))


@pytest.mark.parametrize("number", [2, None, "1"])
def test_a_format_that_is_not_known_is_told(number: object) -> None:
    row = json.loads(manifest.written(TOLD)) | {"format": number}

    with pytest.raises(StoreUnusable, match="install the Headway that made it"):
        manifest.read(_sealed(row))


def _sealed(row: dict[str, Any]) -> str:
    told = {name: value for name, value in row.items() if name != "checksum"}
    return json.dumps({**told, "checksum": manifest._checksum(told)})
