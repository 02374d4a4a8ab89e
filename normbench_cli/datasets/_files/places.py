"""Where the files of each data set are: those that loading it reads, or none if any is missing."""

from __future__ import annotations

from pathlib import Path

from normbench_cli.paths import data_root, expanded

CELEBA = ("img_align_celeba", "list_attr_celeba.txt", "list_eval_partition.txt")  # pictures, attributes, splits
TU_PARTS = ("A", "graph_indicator", "graph_labels", "node_labels")
OPTIONAL = "node_labels"


def all_of(folder: Path, *names: str) -> list[Path]:
    """The files or folders with these names if all of them exist, else none."""
    paths = [folder / name for name in names]
    return paths if all(path.exists() for path in paths) else []


def cifar10(**_parameters: object) -> list[Path]:
    batches = [f"data_batch_{number}" for number in range(1, 6)]
    return all_of(data_root() / "cifar-10-batches-py", *batches, "test_batch", "batches.meta")


def cifar100(**_parameters: object) -> list[Path]:
    return all_of(data_root() / "cifar-100-python", "train", "test", "meta")


def fashionmnist(**_parameters: object) -> list[Path]:
    """Like torchvision, prefers the two files of old releases."""
    folder = data_root() / "FashionMNIST"
    parts = [f"{split}-{what}-ubyte" for split in ("train", "t10k") for what in ("images-idx3", "labels-idx1")]
    return all_of(folder / "processed", "training.pt", "test.pt") or all_of(folder / "raw", *parts)


def celeba(**_parameters: object) -> list[Path]:
    return all_of(data_root() / "celeba", *CELEBA)


def imagenet(**_parameters: object) -> list[Path]:
    return all_of(data_root() / "imagenet", "train", "val")


def folder(path: str = "", **_parameters: object) -> list[Path]:
    root = expanded(path)
    held_out = [name for name in ("val", "test") if (root / name).is_dir()]
    return all_of(root, "train", *held_out) if path and held_out else []


def tu(name: str = "", source: str = "any", **_parameters: object) -> list[Path]:
    return graphs([name], source)


def mutag(source: str = "any", **_parameters: object) -> list[Path]:
    return graphs(["MUTAG"], source)


def proteins(source: str = "any", **_parameters: object) -> list[Path]:
    return graphs(["PROTEINS"], source)


def ptc(source: str = "any", **_parameters: object) -> list[Path]:
    return graphs(["PTC_MR", "PTC"], source)


def graphs(names: list[str], source: str) -> list[Path]:
    """The files of the first name that is found: the collection's, or else the single file of powerful-gnns."""
    for name in names:
        if name and source != "powerful-gnns" and (folder := find_tu_folder(name)):
            present = [part for part in TU_PARTS if part != OPTIONAL or (folder / f"{name}_{part}.txt").exists()]
            return all_of(folder, *(f"{name}_{part}.txt" for part in present))
    found = (find_text_file(name) for name in names if name and source != "tu")
    return [path for path in found if path][:1]


def find_tu_folder(name: str) -> Path | None:
    """The folder of the collection's files, as torch_geometric stores them or as the archive unpacks."""
    root = data_root()
    places = [root / "TUDataset" / name, root / name]
    folders = [folder for place in places for folder in (place / "raw", place, place / name)]
    return next((folder for folder in folders if (folder / f"{name}_A.txt").is_file()), None)


def find_text_file(name: str) -> Path | None:
    root = data_root()
    folders = [root / name, root / "TUDataset" / name, root / "dataset" / name, root / "powerful-gnns" / name, root]
    return next((folder / f"{name}.txt" for folder in folders if (folder / f"{name}.txt").is_file()), None)
