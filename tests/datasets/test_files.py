"""The files of a data set: found without torch, the same that loading opens, equal wherever they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._files.contents import contents_of
from normbench_cli.datasets._files.reading import cached_contents, is_embedded, list_files, read_contents
from normbench_cli.errors import UsageError
from tests.datasets.made_files import GRAPHS, MakePictures, write_celeba, write_fashion, write_text, write_tu

opened: list[str] | None = None  # while a test records it


def record_opening(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and opened is not None:
        opened.append(str(arguments[0]))


sys.addaudithook(record_opening)


@pytest.mark.parametrize(
    ("spec", "write"),
    [
        ("fashionmnist", write_fashion),
        ("celeba", lambda root: write_celeba(root, 6)),
        ("tu:name=TOY", lambda root: write_tu(root / "TOY")),
        ("tu:name=TOY", lambda root: write_text(root / "TOY.txt")),
    ],
    ids=["fashionmnist", "celeba", "tu", "powerful-gnns"],
)
def test_what_loading_opens_is_what_counts(spec: str, write: Callable[[Path], Path], data_folder: Path) -> None:
    write(data_folder)
    (data_folder / "another file.txt").write_text("")
    global opened  # an audit hook cannot be removed
    opened = []
    DATASETS.build(spec)
    read, opened = {name for name in opened if name.startswith(str(data_folder))}, None
    listed = list_files(DATASETS.parse(spec))
    assert read == {str(path) for path in listed if path.is_file()}
    contents = read_contents(spec)
    assert contents is not None
    assert Path(contents.place).is_relative_to(data_folder)


@pytest.mark.parametrize("name", [name for name, entry in DATASETS.entries.items() if entry.facts.files])
def test_files_that_are_not_there_are_no_error(name: str, data_folder: Path) -> None:
    assert read_contents(name) is None
    assert not data_folder.exists()


def test_only_data_sets_without_files_are_embedded() -> None:
    embedded = [name for name in DATASETS.entries if is_embedded(name)]
    assert embedded == ["digits", "shifted_digits", "toy_graphs"]


def test_looking_at_data_loads_no_torch(data_folder: Path) -> None:
    write_fashion(data_folder)
    code = (
        "import sys\nfrom normbench_cli.registry import DATASETS\n"
        "from normbench_cli.datasets._files.reading import read_contents\n"
        "print([name for name in DATASETS.entries if read_contents(name)], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['fashionmnist'] False"


def test_equal_files_are_equal_wherever_they_are_and_every_byte_counts(tmp_path: Path) -> None:
    first, second = (write_tu(tmp_path / place) for place in ("a", "b/c"))
    assert contents_of(sorted(first.iterdir())).digest == contents_of(sorted(second.iterdir(), reverse=True)).digest
    (labels,) = second.glob("*graph_labels*")
    labels.write_text(labels.read_text().replace("1", "2", 1))
    assert contents_of(sorted(first.iterdir())).digest != contents_of(sorted(second.iterdir())).digest


def test_a_folder_counts_by_the_names_and_sizes_of_its_files(tmp_path: Path, pictures: MakePictures) -> None:
    root = pictures({"train/cat": 2, "train/dog": 1, "val/cat": 1, "val/dog": 1})
    spec = f"folder:path={root},size=8"
    before = read_contents(spec)
    assert before is not None
    assert (before.files, before.place) == (5, str(root))
    (root / "train" / "cat" / ".DS_Store").write_text("of a file manager")
    assert read_contents(spec) == before
    picture = root / "train" / "cat" / "000.png"
    picture.write_bytes(picture.read_bytes() + b"\0")
    assert cached_contents(spec) == before  # until somebody looks again
    longer = read_contents(spec)
    assert longer is not None
    assert longer.digest != before.digest
    picture.rename(picture.with_name("new.png"))
    renamed = read_contents(spec)
    assert renamed is not None
    assert renamed.digest not in (before.digest, longer.digest)


def test_a_link_that_leads_nowhere_is_a_file_without_size(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "nothing")
    assert (contents_of([tmp_path / "folder"]).files, contents_of([tmp_path / "folder"]).bytes) == (1, 0)


def test_the_two_files_that_go_by_the_name_ptc_are_two_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tu(tmp_path / "collection" / "PTC_MR", GRAPHS, "PTC_MR")
    write_text(tmp_path / "gnns" / "PTC" / "PTC.txt", GRAPHS)
    found = []
    for place in ("collection", "gnns"):
        monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / place))
        contents = read_contents("ptc")
        assert contents is not None
        found.append(contents)
    assert [Path(contents.place).name for contents in found] == ["PTC_MR", "PTC.txt"]
    assert found[0].digest != found[1].digest


@pytest.mark.parametrize(("missing", "files"), [("node_labels", 3), ("graph_labels", 0)])
def test_only_the_labels_of_nodes_may_be_missing(missing: str, files: int, data_folder: Path) -> None:
    (write_tu(data_folder / "TOY") / f"TOY_{missing}.txt").unlink()
    assert len(list_files(DATASETS.parse("tu:name=TOY"))) == files


def test_a_fact_that_names_no_function_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = DATASETS.entries["mutag"]
    monkeypatch.setitem(entry.__dict__, "metadata", entry.metadata)
    object.__setattr__(entry.metadata.facts, "files", "nowhere:files")
    try:
        with pytest.raises(UsageError, match="the list of files 'nowhere:files' cannot be imported"):
            read_contents("mutag")
    finally:
        object.__setattr__(entry.metadata.facts, "files", "normbench_cli.datasets._files.places:mutag")
