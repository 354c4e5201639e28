"""The two ends of a long output, in bounded memory."""


class Tail:
    """The first and the last half of an output, and how much lay between."""

    def __init__(self, most: int) -> None:
        # Four bytes are the longest character.
        self._most = most
        self._room = 2 * most
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def take(self, block: bytes) -> None:
        """Add what was printed."""
        fits = self._room - len(self._head)
        if fits > 0:
            self._head += block[:fits]
            block = block[fits:]
        self._tail += block
        if len(self._tail) > 2 * self._room:
            over = len(self._tail) - self._room
            self._dropped += over
            del self._tail[:over]

    def text(self) -> str:
        """What the agent gets to see."""
        head = self._head.decode("utf-8", "replace")
        tail = self._tail.decode("utf-8", "replace")
        if not self._dropped:
            return cut_middle((self._head + self._tail).decode("utf-8", "replace"), self._most)
        half = self._most // 2
        left_out = self._dropped + len(head[half:].encode()) + len(tail[:-half].encode())
        return f"{head[:half]}\n[... {left_out} bytes left out ...]\n{tail[-half:]}"


def cut_middle(text: str, most: int) -> str:
    """The text, or its first and last half with a note of what was left out between."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
