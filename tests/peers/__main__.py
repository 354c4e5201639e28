"""Sets up every bed that tests need, with progress on stderr: `python -m tests.peers`.

A bed that cannot be made is said and left: the tests that need it fail, and say so again.
"""

import sys
from collections.abc import Callable
from typing import Final

from tests.peers import beds, hydrogen, matrix_user, slack_schemas, synapse

ENGINE: Final = ("podman", "runc")
"""An engine for containers that needs no service."""

BEDS: Final[tuple[Callable[[], object], ...]] = (
    lambda: beds.python_environment("synapse", synapse.LOCK),
    matrix_user.javascript,
    lambda: matrix_user.HAS_OLM and beds.python_environment("mautrix", matrix_user.OLM_LOCK),
    lambda: hydrogen.browser() and hydrogen.built(),
    slack_schemas.schemas,
    lambda: beds.have(("curl",)),
    lambda: beds.have(ENGINE),
)


def main() -> None:
    """Make what is not there yet."""
    for make in BEDS:
        try:
            make()
        except RuntimeError as error:
            sys.stderr.write(f"{error}\n")


if __name__ == "__main__":
    main()
