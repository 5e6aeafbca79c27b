"""data/params.yaml: which corpora can be generated or downloaded."""

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

from context_nmt.files import UserError
from context_nmt.settings import Checked, require
from context_nmt.settings.checking import check, read_yaml
from context_nmt.settings.miniature import MiniatureSettings

SACREBLEU = "sacrebleu://"  # in front of the name of a test set that the sacrebleu package downloads


@dataclass(frozen=True, kw_only=True)
class DownloadFile(Checked):
    """One file of the network."""

    url: str
    sha256: str | None  # of the file as it is downloaded; null: recorded at the first download
    to: str | None = None  # text: SPLIT.LANGUAGE; bcontrast: SPLIT; contrawsd and discourse_mt: the set's name
    members: dict[str, str] = field(default_factory=dict)  # text, of an archive: member -> SPLIT.LANGUAGE

    def __post_init__(self) -> None:
        for name in self.outputs:
            require(re.fullmatch(r"\w[\w-]*(\.\w[\w-]*)?", name) is not None, f"{name!r} is no SPLIT.LANGUAGE")
        require(bool(self.name), f"{self.url!r} does not end in the name of a file")

    @property
    def name(self) -> str:
        return PurePosixPath(urlsplit(self.url).path).name

    @property
    def outputs(self) -> list[str]:
        return [*self.members.values(), *([] if self.to is None else [self.to])]


@dataclass(frozen=True, kw_only=True)
class SacrebleuSet(Checked):
    """A test set that the sacrebleu package downloads and unpacks."""

    name: str  # sacrebleu's name: wmt14/full
    pair: str  # source-target: en-de
    split: str

    def __post_init__(self) -> None:
        require(re.fullmatch(r"\w+-\w+", self.pair) is not None, f"pair is {self.pair!r}; it must be like en-de")
        require(re.fullmatch(r"\w[\w-]*", self.split) is not None, f"{self.split!r} is no name of a split")

    @property
    def files(self) -> list[DownloadFile]:
        """Source and reference under addresses that `fetch` knows; a mirror holds them as SPLIT.LANGUAGE."""
        addresses = {
            f"{self.split}.{language}": f"{SACREBLEU}{self.name}/{self.pair}" for language in self.pair.split("-")
        }
        return [DownloadFile(url=f"{address}/{name}", sha256=None, to=name) for name, address in addresses.items()]


@dataclass(frozen=True, kw_only=True)
class CorpusEntry(Checked):
    """Where one corpus comes from; texts that go into one file stand in it in the order of the entry.

    `text` is for texts, packed with gzip or not, and tar and zip archives of them; each other format is that of one
    corpus, see the file of its name in `corpus/formats`.
    """

    format: Literal["text", "bcontrast", "contrawsd", "discourse_mt", "tvsub"]
    licence: str
    homepage: str
    files: tuple[DownloadFile, ...] = ()
    sacrebleu: tuple[SacrebleuSet, ...] = ()
    documents: int | None = None  # tvsub: only so many training documents, from the first on

    def __post_init__(self) -> None:
        for file in self.files:
            if self.format == "text":
                require(
                    (file.to is None) == bool(file.members),
                    f"{file.name}: give either to (a text) or members (an archive)",
                )
                for name in file.outputs:
                    require("." in name, f"{file.name}: {name!r} is no SPLIT.LANGUAGE")
            else:
                require(not file.members, f"{file.name}: format {self.format} has no members")
                needed = self.format != "tvsub"
                require(
                    (file.to is not None) == needed, f"{file.name}: {self.format} {'needs' if needed else 'has no'} to"
                )
                require("." not in (file.to or ""), f"{file.name}: to is {file.to!r}; it must be a name without a '.'")
        require(self.documents is None or self.format == "tvsub", f"format {self.format} has no documents")
        require(self.documents is None or self.documents >= 1, f"documents is {self.documents}; it must be at least 1")
        names = [file.name for file in self.files]
        require(bool(names or self.sacrebleu), "an entry needs files or sacrebleu")
        require(len(set(names)) == len(names), f"two files have one name: {sorted(names)}")


def read_catalogue(parameters: Path) -> dict[str, dict[str, Any]]:
    """The entries under `generated` and `corpora`, unchecked."""
    data = read_yaml(parameters) or {}
    return {"generated": data.get("generated") or {}, "corpora": data.get("corpora") or {}}


def read_entry(parameters: Path, corpus: str) -> CorpusEntry | MiniatureSettings:
    """Read and check one entry of data/params.yaml; raises UserError."""
    catalogue = read_catalogue(parameters)
    generated, corpora = catalogue["generated"], catalogue["corpora"]
    if corpus not in (*generated, *corpora):
        raise UserError(f"{parameters}: no corpus {corpus!r}; there are {', '.join((*generated, *corpora))}")
    where = f"{parameters}: {'generated' if corpus in generated else 'corpora'}.{corpus}"
    if not re.fullmatch(r"\w[\w.-]*", corpus, re.ASCII):
        raise UserError(f"{where}: not the name of a folder; it must be made of letters, digits, '.', '_' and '-'")
    if corpus in generated and corpus in corpora:
        raise UserError(f"{where}: an entry under corpora has this name, too; both would be data/{corpus}")
    if corpus in generated:
        return check(MiniatureSettings, generated[corpus], where=where)
    return check(CorpusEntry, corpora[corpus], where=where)
