"""A folder in which cases are tried: a home with runs, a working folder, and others where nothing may appear."""

from __future__ import annotations

import gc
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from unittest.mock import patch

from normbench_cli import interrupts
from normbench_cli.cli.main import main
from tests import damaging
from tests.fuzzing.kinds import Case, Input, make_input
from tests.fuzzing.recorded import Before, Rows, read_rows
from tests.fuzzing.rules import Ended, broken_rules
from tests.fuzzing.watching import TooLong, limited, watched
from tests.migrated import migrate
from tests.support import command_tree

FOLDERS = {"NORMBENCH_HOME": "home", "NORMBENCH_DATA": "data", "HOME": "user", "TMPDIR": "tmp"}
TINY = ["--data", "digits:size=8", "--model", "mlp:width=8", "--batch-size", "64", "--iterations", "1"]


State = dict[str, tuple[int, ...]]


def state_of(folder: Path) -> State:
    """What is in a folder that exists: modes, and of files the sizes and times of the last change."""
    found: State = {}
    for path in [folder, *folder.rglob("*")] if folder.exists() else ():
        about = path.lstat()
        found[str(path.relative_to(folder))] = (
            (about.st_mode,) if path.is_dir() else (about.st_mode, about.st_size, about.st_mtime_ns)
        )
    return found


class Sandbox:
    """root: a new folder.  Use it inside `entered`."""

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.work = root, root / "home", root / "work"
        self.run_ids: list[str] = []
        self.rows: Rows | None = None
        self.recorded: State = {}
        (root / "fresh").mkdir()
        self.fresh = state_of(root / "fresh")

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be in the working folder, with an environment of its own, no network, and runs recorded in the home."""
        before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
        folder = Path.cwd()
        self.empty()
        with ExitStack() as changes:
            changes.callback(os.chdir, folder)
            for number, handler in before.items():
                changes.callback(signal.signal, number, handler)
            changes.enter_context(patch.dict(os.environ, self.environment()))
            os.environ.pop("NORMBENCH_DB", None)
            changes.enter_context(patch.object(tempfile, "tempdir", None))
            changes.enter_context(patch("normbench_cli.store.connection.SYNCHRONOUS", "OFF"))
            # so that a damaged page is the same one in and outside of the test suite
            changes.enter_context(patch("normbench_cli.store.upgrade.migrate", migrate))
            changes.enter_context(patch.object(gc, "freeze"))  # main expects that the process ends
            changes.enter_context(patch("normbench_cli.cli.main.app", command_tree()))
            for name in ("socket.socket.connect", "socket.getaddrinfo"):
                changes.enter_context(patch(name, side_effect=OSError("there is no network here")))
            os.chdir(self.work)
            self.restore() if self.run_ids else self.record()
            yield

    def environment(self) -> dict[str, str]:
        named = {name: str(self.root / folder) for name, folder in FOLDERS.items()}
        return named | {"NORMBENCH_COMPILE": "never"}  # a first kernel takes longer than all else

    def record(self) -> None:
        """A run that was trained, and others that were not."""
        self.home.mkdir()
        ids = (f"{random.Random(number).getrandbits(32):08x}" for number in count())  # the same in every sandbox
        with patch("normbench_cli.store.store.unused_id", lambda _session: next(ids)):
            others = damaging.make_database(self.home / "normbench.db")
            trained = json.loads(run_here(["train", *TINY, "--json"]).out)["runs"][0]["id"]
        self.run_ids = [trained, trained[:4], *others]
        self.rows = read_rows(self.database, set())
        shutil.copytree(self.home, self.root / "home as it was")
        self.recorded = state_of(self.root / "home as it was")

    def empty(self, *, but: tuple[str, ...] = ()) -> None:
        """Fresh folders, and no home; what is fresh already stays, and so do those named."""
        for name in {*FOLDERS.values(), "work"}.difference(but):
            folder = self.root / name
            if folder.exists() and (name == "home" or state_of(folder) != self.fresh):
                shutil.rmtree(folder)
            if name != "home":
                folder.mkdir(exist_ok=True)

    def restore(self) -> None:
        """Fresh folders; the home as it was recorded, which most cases only read."""
        os.chdir(self.root)
        unchanged = state_of(self.home) == self.recorded
        self.empty(but=("home",) if unchanged else ())
        if not unchanged:
            shutil.copytree(self.root / "home as it was", self.home)
        os.chdir(self.work)

    def try_case(self, case: Case) -> list[str]:
        """Run a case; a line for each command that breaks a rule."""
        self.restore()
        given = make_input(case, self.root, self.run_ids)
        before = Before(self.database, given, self.rows)
        with patch.dict(os.environ):
            for name, value in given.environment.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})
            time.tzset()
            broken = [line for words in given.lines for line in self.try_line(words, given, before)]
        time.tzset()
        return [f"{case}: {line}" for line in broken]

    @property
    def database(self) -> Path:
        return self.home / "normbench.db"

    def try_line(self, words: list[str], given: Input, before: Before) -> list[str]:
        """Run a command, and list the rules that it breaks."""
        there = set(self.places())
        allowed, asked_for = self.may_be_written(words, given)
        try:
            with watched([*allowed, self.root / "tmp"], asked_for) as outside, limited():
                ended = run_here(words)
        except TooLong as error:
            return [f"normbench {words!r:.500}: {error}"]
        rules = broken_rules(words, ended) + [f"written: {place}" for place in outside]
        left = [
            place
            for place in set(self.places()) - there
            if not os.path.realpath(place).startswith(tuple(map(os.path.realpath, allowed)))
        ]
        rules += [f"left behind: {place}" for place in sorted(left)]
        rules += before.lost(self.database, words, ended)
        what = f" {given.damage}" * bool(given.damage) + f" {given.environment}" * bool(given.environment)
        return [f"normbench {words!r:.500}{what}: {rule:.300}" for rule in rules]

    def places(self) -> Iterator[str]:
        """What is in the working folder and in the folders in which nothing may appear."""
        for folder in (self.work, self.root / "user", self.root / "tmp"):
            yield from map(str, folder.iterdir())

    def may_be_written(self, words: list[str], given: Input) -> tuple[list[Path], list[Path]]:
        """The contract's places, and those that a line or a variable names: in the sandbox, and elsewhere."""
        variables = self.environment() | given.environment
        texts = [part for word in words for part in (word, word.partition("=")[2])]
        texts += [value for value in given.environment.values() if value]
        named = [place for text in texts for place in self.named_by(text)]
        if not variables["NORMBENCH_HOME"]:
            named += [self.root / "user" / ".local", Path(f"~{os.environ.get('USER', 'root')}").expanduser()]
        inside = [place for place in named if place.is_relative_to(self.root)]
        always = [self.home, self.root / "data", self.work / "reports"]
        return [*always, *inside], [place for place in named if place not in inside]

    def named_by(self, text: str) -> Iterator[Path]:
        """The places that a path or a URL may mean; a database has files and backups beside it."""
        path = Path(text.partition("://")[2] or text)
        if path.parts and "\0" not in text:
            first = os.path.realpath(path if path.is_absolute() else self.work / path.parts[0])
            yield Path(first.removesuffix(Path(first).suffix))
            if text.startswith("~"):
                yield self.root / "user"


def run_here(words: list[str]) -> Ended:
    """Run a command line in this process; the streams encode as those of a pipe do, and there is no terminal."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with (
        patch.object(sys, "argv", ["normbench", *words]),
        patch.object(sys, "stdin", io.StringIO()),
        redirect_stdout(out),
        redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # as a user has them
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    out.flush()
    err.flush()
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Ended(code, texts[0], texts[1])
