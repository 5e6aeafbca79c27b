"""Subword text as memory-mapped arrays of ids, which training reads without a params.yaml.

training/                     all files that training reads; a new test set does not change them
    corpus.json               {"source", "target": languages; "train", "validation": splits}
    vocabulary.LANGUAGE.txt   one unit per line; its id is the line's number, counted from 0
    SPLIT.…                   training and validation sets; files as below
tests/                        all other splits
    corpus.json               {"tests", "contrastive": splits; the validation set may be one of the tests}
    SPLIT.LANGUAGE.tokens.npy     the ids of all sentences, concatenated, without END (uint16 or int32)
    SPLIT.LANGUAGE.offsets.npy    int64; sentence i is tokens[offsets[i] : offsets[i + 1]]
    SPLIT.documents               the number of each document's first sentence, from 0; only if the split has documents
"""

from array import array
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from context_nmt.corpus.documents import copy_documents, documents_file, read_documents
from context_nmt.corpus.vocabulary import Vocabulary, count_units
from context_nmt.files import UserError, iterate_lines, read_json, replacing_folder, write_json
from context_nmt.progress import tracked
from context_nmt.settings.text import CorpusSettings, UnitSettings

Ids = NDArray[np.integer[Any]]


def binarize(subwords: Path, destination: Path, corpus: CorpusSettings, units: UnitSettings) -> None:
    """Write the whole folder `destination` from the files `subwords/SPLIT.LANGUAGE`, or nothing.

    The vocabulary of a side has the units of its training text, or with `units.joint` of both training texts; with
    sentencepiece, it has all pieces of the model. Raise UserError for missing files, sides of unequal length, and
    documents that do not fit them.
    """
    sides = (corpus.source, corpus.target)
    if units.kind == "sentencepiece":
        vocabularies = [Vocabulary.load(subwords / f"vocabulary.{language}") for language in sides]
    else:
        counts = [count_units(subwords / f"{corpus.train}.{language}") for language in sides]
        if units.joint:
            counts = [counts[0] + counts[1]] * 2
        size = units.words if units.kind == "words" else None
        vocabularies = [Vocabulary.build(side_counts, size) for side_counts in counts]
    with replacing_folder(destination) as folder:
        for subfolder in ("training", "tests"):
            (folder / subfolder).mkdir()
        for language, vocabulary in zip(sides, vocabularies, strict=True):
            vocabulary.save(folder / f"training/vocabulary.{language}.txt")
        names = {"source": corpus.source, "target": corpus.target}
        names |= {"train": corpus.train, "validation": corpus.validation}
        write_json(folder / "training/corpus.json", names)
        write_json(folder / "tests/corpus.json", {"tests": corpus.tests, "contrastive": corpus.contrastive})
        binarized = BinarizedCorpus(folder)
        for split in dict.fromkeys((corpus.train, corpus.validation, *corpus.tests, *corpus.contrastive)):
            split_folder = binarized.folder_of(split)
            for language, vocabulary in zip(sides, vocabularies, strict=True):
                write_ids(subwords / f"{split}.{language}", split_folder, vocabulary)
            copy_documents(subwords, split_folder, split, len(binarized.parallel(split)[0]))


def write_ids(text: Path, folder: Path, vocabulary: Vocabulary) -> None:
    """Write the ids of the units in the file `text` into `folder`, under the name of the file."""
    lengths = (sum(map(bool, line.split(" "))) for line in iterate_lines(text))
    offsets = np.frombuffer(array("q", accumulate(lengths, initial=0)), dtype=np.int64)
    lines = tracked(iterate_lines(text), f"{text.name}, numbers", len(offsets) - 1, "lines")
    ids = chain.from_iterable(map(vocabulary.ids, lines))
    id_type = np.uint16 if len(vocabulary) < 2**16 else np.int32
    for name, values in (("offsets", offsets), ("tokens", np.fromiter(ids, id_type, count=offsets[-1]))):
        # Not np.save: its OSError has no error number if the disk is full.
        with (folder / f"{text.name}.{name}.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(values))
            file.write(values.data)


class TokenFile:
    """The sentences of one file as arrays of ids, loaded on demand."""

    def __init__(self, folder: Path, name: str):
        self._tokens, self._offsets = (_open(folder / f"{name}.{content}.npy") for content in ("tokens", "offsets"))
        if len(self._offsets) == 0 or self._offsets[-1] != len(self._tokens):
            raise UserError(f"{folder / name}.tokens.npy and .offsets.npy do not match; run the bpe stage again")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> Ids:
        """Return the ids of one sentence [T], without END."""
        if not 0 <= number < len(self):
            raise IndexError(f"sentence {number} of {len(self)}")
        return self._tokens[self._offsets[number] : self._offsets[number + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of ids of every sentence [N]."""
        return np.diff(self._offsets)


def _open(path: Path) -> NDArray[Any]:
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


class BinarizedCorpus:
    """A folder that `binarize` wrote, or the text folder of a run, which has only names and vocabularies.

    `training_target` is a folder with another target side of the training set: translations of its source. Raise
    UserError for a folder without corpus.json.
    """

    def __init__(self, folder: Path, *, training_target: Path | None = None):
        self.folder, self.training_target = folder, training_target
        self.training_folder = folder / "training" if (folder / "training").is_dir() else folder
        names = read_json(self.training_folder / "corpus.json")
        self.source: str = names["source"]
        self.target: str = names["target"]
        self.train: str = names["train"]
        self.validation: str = names["validation"]

    @cached_property
    def tests(self) -> tuple[str, ...]:
        return tuple(read_json(self.folder / "tests" / "corpus.json")["tests"])

    @cached_property
    def contrastive(self) -> tuple[str, ...]:
        return tuple(read_json(self.folder / "tests" / "corpus.json")["contrastive"])

    @cached_property
    def source_vocabulary(self) -> Vocabulary:
        return Vocabulary.load(self.training_folder / f"vocabulary.{self.source}.txt")

    @cached_property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.load(self.training_folder / f"vocabulary.{self.target}.txt")

    def training_files(self) -> list[Path]:
        """Return the files that training reads: vocabularies, training and validation set, and their documents."""
        splits = (self.train, self.validation)
        files = [path for split in splits for path in sorted(self.training_folder.glob(f"{split}.*.npy"))]
        if self.training_target is not None:
            replaced_prefix = f"{self.train}.{self.target}."
            files = [path for path in files if not path.name.startswith(replaced_prefix)]
            files += sorted(self.training_target.glob(f"{replaced_prefix}*.npy"))
        documents = [path for split in splits if (path := documents_file(self.training_folder, split)).exists()]
        return sorted(self.training_folder.glob("vocabulary.*.txt")) + files + documents

    def side(self, split: str, language: str) -> TokenFile:
        """Open the sentences of one side; raise UserError for an unknown split or language."""
        translated = self.training_target if (split, language) == (self.train, self.target) else None
        return TokenFile(translated or self.folder_of(split), f"{split}.{language}")

    def parallel(self, split: str) -> tuple[TokenFile, TokenFile]:
        """Open source and target of a split; raise UserError if their numbers of sentences differ."""
        source, target = self.side(split, self.source), self.side(split, self.target)
        if len(source) != len(target):
            counts = f"{len(source)} in {self.source}, {len(target)} in {self.target}"
            raise UserError(f"{split}: the two sides have different numbers of sentences: {counts}")
        return source, target

    def documents(self, split: str) -> list[range] | None:
        """Return each document's range of sentences, or None; raise UserError if they do not fit the split."""
        return read_documents(self.folder_of(split), split, len(self.side(split, self.source)))

    def folder_of(self, split: str) -> Path:
        """Return the folder of a split's files."""
        return self.training_folder if split in (self.train, self.validation) else self.folder / "tests"
