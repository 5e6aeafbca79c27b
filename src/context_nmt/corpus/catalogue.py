"""The entries of data/params.yaml: corpora to generate or download."""

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

from context_nmt.files import UserError
from context_nmt.settings import Checked, require
from context_nmt.settings.checking import check, read_yaml
from context_nmt.settings.miniature import MiniatureSettings

SACREBLEU = "sacrebleu://"  # prefix of the addresses of files that the sacrebleu package downloads


@dataclass(frozen=True, kw_only=True)
class DownloadFile(Checked):
    """One file to download."""

    url: str
    sha256: str | None  # of the downloaded file; null: recorded at the first download
    to: str | None = None  # text: SPLIT.LANGUAGE; bcontrast: SPLIT; of contrastive sets: the set's name
    members: dict[str, str] = field(default_factory=dict)  # text, for an archive: member -> SPLIT.LANGUAGE

    def __post_init__(self) -> None:
        for name in self.outputs:
            require(re.fullmatch(r"\w[\w-]*(\.\w[\w-]*)?", name) is not None, f"{name!r} is not SPLIT.LANGUAGE")
        require(bool(self.name), f"{self.url!r} does not end in a file name")

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
        require(re.fullmatch(r"\w[\w-]*", self.split) is not None, f"{self.split!r} is not the name of a split")

    @property
    def files(self) -> list[DownloadFile]:
        """Source and reference; a mirror has them as SPLIT.LANGUAGE."""
        names = [f"{self.split}.{language}" for language in self.pair.split("-")]
        address = f"{SACREBLEU}{self.name}/{self.pair}"
        return [DownloadFile(url=f"{address}/{name}", sha256=None, to=name) for name in names]


@dataclass(frozen=True, kw_only=True)
class CorpusEntry(Checked):
    """The sources of one corpus; texts with the same `to` are concatenated in the order of the entry.

    The format `text` is for texts, gzipped or not, and for tar and zip archives of them. Every other format is specific
    to one corpus; see the module of its name in `corpus/formats`.
    """

    format: Literal["text", "bcontrast", "contrapro", "contrawsd", "discourse_mt", "tvsub"]
    licence: str
    homepage: str
    files: tuple[DownloadFile, ...] = ()
    sacrebleu: tuple[SacrebleuSet, ...] = ()
    documents: int | None = None  # tvsub: number of training documents to keep, from the first

    def __post_init__(self) -> None:
        needs_to = "needs" if self.format != "tvsub" else "has no"
        for name, file in ((file.name, file) for file in self.files):
            if self.format == "text":
                require((file.to is None) == bool(file.members), f"{name}: give `to` or, for an archive, `members`")
                for output in file.outputs:
                    require("." in output, f"{name}: {output!r} is not SPLIT.LANGUAGE")
            else:
                require(not file.members, f"{name}: members is for format text, not {self.format}")
                require((file.to is not None) == (needs_to == "needs"), f"{name}: format {self.format} {needs_to} `to`")
                require("." not in (file.to or ""), f"{name}: to is {file.to!r}; it must be a name without a '.'")
        require(self.documents is None or self.format == "tvsub", f"documents is for format tvsub, not {self.format}")
        require(self.documents is None or self.documents >= 1, f"documents is {self.documents}; it must be at least 1")
        names = [file.name for file in self.files]
        require(bool(names or self.sacrebleu), "an entry needs files or sacrebleu")
        require(len(set(names)) == len(names), f"two files have the same name: {sorted(names)}")


def read_catalogue(parameters: Path) -> dict[str, dict[str, Any]]:
    """Return the entries under `generated` and `corpora`, unchecked."""
    data = read_yaml(parameters) or {}
    return {"generated": data.get("generated") or {}, "corpora": data.get("corpora") or {}}


def read_entry(parameters: Path, corpus: str) -> CorpusEntry | MiniatureSettings:
    """Read and check one entry of data/params.yaml; raise UserError."""
    generated, corpora = read_catalogue(parameters).values()
    if corpus not in (*generated, *corpora):
        raise UserError(f"{parameters}: no corpus {corpus!r}; there are {', '.join((*generated, *corpora))}")
    location = f"{parameters}: {'generated' if corpus in generated else 'corpora'}.{corpus}"
    if not re.fullmatch(r"\w[\w.-]*", corpus, re.ASCII):
        raise UserError(f"{location}: not the name of a folder; it must be made of letters, digits, '.', '_' and '-'")
    if corpus in generated and corpus in corpora:
        raise UserError(f"{location}: an entry under corpora has this name, too; both would be data/{corpus}")
    if corpus in generated:
        return check(MiniatureSettings, generated[corpus], where=location)
    return check(CorpusEntry, corpora[corpus], where=location)
