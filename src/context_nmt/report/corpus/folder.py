"""Read a folder data/CORPUS: parallel text and optional annotations."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from context_nmt.corpus.documents import read_documents
from context_nmt.files import UserError, iterate_lines, read_json_lines, read_lines, read_parallel

Record = dict[str, Any]
Text = dict[str, list[str]]  # lines by language
TEXT_FILE = re.compile(r"(?P<split>.+)\.(?P<language>[a-z]{2,3})")
CONTRASTIVE_FILE = re.compile(r".+\.[a-z]{2,3}-[a-z]{2,3}\.jsonl")
BOUND = ".bound"


class CorpusFolder:
    """The splits of a corpus: SPLIT.LANGUAGE and, optionally, SPLIT.documents, .gold.jsonl and .bound.LANGUAGE.

    Raises UserError for a folder without parallel text, and for files that do not fit each other.
    """

    def __init__(self, path: Path):
        if not path.is_dir():
            raise UserError(f"{path}: no such folder")
        self.path = path
        languages: dict[str, list[str]] = {}
        for file in sorted(path.iterdir()):
            name = TEXT_FILE.fullmatch(file.name)
            if name and not name["split"].endswith(BOUND):
                languages.setdefault(name["split"], []).append(name["language"])
        parallel = sorted(
            (split for split in languages if len(languages[split]) > 1), key=lambda name: (name != "train", name)
        )
        if not parallel:
            raise UserError(f"{path}: no parallel text (SPLIT.LANGUAGE, such as train.en and train.de)")
        self.languages = {split: languages[split] for split in parallel}  # by split, train first

    def text(self, split: str) -> Text:
        """Return the raw lines of each language, in parallel."""
        languages = self.languages[split]
        lines = read_parallel(*(self.path / f"{split}.{language}" for language in languages))
        return dict(zip(languages, lines, strict=True))

    def documents(self, split: str, sentences: int) -> list[range] | None:
        """Return the line numbers of each document, from 0."""
        return read_documents(self.path, split, sentences)

    def gold(self, split: str, sentences: int) -> list[Record] | None:
        """Return the gold annotation of each sentence."""
        path = self.path / f"{split}.gold.jsonl"
        if not path.exists():
            return None
        records = read_json_lines(path)
        if len(records) != sentences:
            raise UserError(f"{path} has {len(records)} lines, {split} has {sentences} sentences; they must be equal")
        return records

    def bound(self, split: str) -> Text:
        """Return the translations by a system that sees one sentence, by language, where they exist."""
        paths = {language: self.path / f"{split}{BOUND}.{language}" for language in self.languages[split]}
        return {language: read_lines(path) for language, path in paths.items() if path.exists()}

    def contrastive(self) -> Iterator[tuple[str, list[Record]]]:
        """Yield the name and items of each contrastive set."""
        for path in sorted(self.path.glob("*.jsonl")):
            if CONTRASTIVE_FILE.fullmatch(path.name):
                yield path.stem, read_json_lines(path)

    def probing(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the name of each probing task, with the split and label of each of its sentences."""
        for path in sorted((self.path / "probing").glob("*.txt")):
            examples = []
            for number, line in enumerate(iterate_lines(path), start=1):
                fields = line.split("\t")
                if len(fields) < 3:
                    raise UserError(f"{path}: line {number} has {len(fields)} fields, not split, label and sentence")
                examples.append((fields[0], fields[1]))
            yield path.stem, examples
