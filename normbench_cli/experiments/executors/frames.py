"""Messages between two processes: the length in eight bytes, then the content."""

from __future__ import annotations

from typing import IO

LENGTH = 8


def write_frame(stream: IO[bytes], content: bytes) -> None:
    stream.write(len(content).to_bytes(LENGTH, "big") + content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes:
    """Wait for a complete message.  Raises EOFError if the other process has closed the stream."""
    return read_exactly(stream, int.from_bytes(read_exactly(stream, LENGTH), "big"))


def read_exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content
