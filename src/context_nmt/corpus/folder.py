"""Read a folder data/CORPUS: parallel text and, for each split, its documents and gold annotation."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_nmt.corpus.documents import read_documents
from context_nmt.files import UserError, read_json_lines, read_parallel

TRAINING_SPLIT = "train"
NO_LANGUAGE = "csv|gz|tar|tgz|tmx|tsv|txt|xml|xz|zip"  # endings of other files
LANGUAGE = rf"(?!{NO_LANGUAGE})[a-z]{{2,3}}(?:_[A-Za-z]{{2,4}}|-[A-Z][A-Za-z]{{1,3}})?"  # such as en, pt_BR or zh-Hans
TEXT_FILE = re.compile(rf"(?P<split>.+)\.(?P<language>{LANGUAGE})")
BOUND_SUFFIX = ".bound"  # SPLIT.bound.LANGUAGE has the oracle's translations of a split
Record = dict[str, Any]  # the gold annotation of a sentence


@dataclass(frozen=True)
class Split:
    """The parallel text of a split."""

    text: dict[str, list[str]]  # raw lines by language
    documents: list[range] | None  # their line numbers, from 0
    gold: list[Record] | None  # by line

    def __len__(self) -> int:
        return len(next(iter(self.text.values())))


def text_files(folder: Path) -> dict[str, dict[str, Path]]:
    """Find the files SPLIT.LANGUAGE of a folder, by split and language."""
    files: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        match = TEXT_FILE.fullmatch(path.name)
        if match and not match["split"].endswith(BOUND_SUFFIX):
            files.setdefault(match["split"], {})[match["language"]] = path
    return files


def parallel_files(folder: Path) -> dict[str, dict[str, Path]]:
    """Find the files of the splits in several languages, train first; raise UserError if there are none."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    files = {split: paths for split, paths in text_files(folder).items() if len(paths) > 1}
    if not files:
        raise UserError(f"{folder}: no parallel text (SPLIT.LANGUAGE, such as train.en and train.de)")
    return dict(sorted(files.items(), key=lambda item: (item[0] != TRAINING_SPLIT, item[0])))


def read_split(folder: Path, split: str, files: dict[str, Path]) -> Split:
    """Read a split of `parallel_files`; raise UserError if its files differ in their numbers of lines."""
    text = dict(zip(files, read_parallel(*files.values()), strict=True))
    sentences = len(text[next(iter(text))])
    path = folder / f"{split}.gold.jsonl"
    gold = read_json_lines(path) if path.exists() else None
    if gold is not None and len(gold) != sentences:
        raise UserError(f"{path} has {len(gold)} lines, {split} has {sentences} sentences; they must be equal")
    return Split(text, read_documents(folder, split, sentences), gold)
