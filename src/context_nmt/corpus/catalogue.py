"""The entries of data/params.yaml: corpora to generate or download."""

import importlib
import pkgutil
import re
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, TypeAdapter

from context_nmt.corpus import formats
from context_nmt.corpus.documents import documents_file
from context_nmt.corpus.formats import Format
from context_nmt.files import UserError, read_yaml
from context_nmt.settings import Checked, PositiveInteger, check, require, some_names
from context_nmt.settings.miniature import MiniatureSettings

SACREBLEU = "sacrebleu://"  # prefix of the addresses of files that the sacrebleu package downloads
SKIPPED = "_"  # in a layout, in place of the name of a field
TRAIN, HELD_OUT = "train", "valid"  # the format iwslt can move pairs from the first split to the second
CHECKSUM_KINDS = ("sha256", "md5", "git_blob")  # a file has one of them
MISSING = ""  # distinguishes an absent sha256 from an explicit null


@cache
def read_formats() -> dict[str, Format]:
    """Return the formats that the modules of corpus/formats/ list, each with its module.

    Modules are loaded by name: a new one is not code of the others, nor of the download stage.
    """
    names = [found.name for found in pkgutil.iter_modules(formats.__path__)]
    modules = [f"{formats.__name__}.{name}" for name in names]
    return {
        name: spec._replace(module=module)
        for module in modules
        for name, spec in importlib.import_module(module).FORMATS.items()
    }


def names_in(layout: str) -> list[str]:
    """Return the names of the fields of a line, separated by ||| or tabs; a plain text has one."""
    return [name.strip() for name in re.split(r"\|\|\||\t", layout)]


@dataclass(frozen=True, kw_only=True)
class DownloadFile(Checked):
    """One file to download, with one of three kinds of checksum."""

    url: str
    # null: not known; the checksum of the first download is recorded
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = MISSING
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    # git's name of the content: the SHA-1 of "blob SIZE\0" and the bytes
    git_blob: Annotated[str, Field(pattern="^[0-9a-f]{40}$")] | None = None
    # addresses of the same bytes, tried in turn if `url` fails
    mirrors: tuple[Annotated[str, Field(pattern="^https?://")], ...] = ()
    bytes: PositiveInteger | None = None  # the size, if known
    to: str | None = None  # text: SPLIT.LANGUAGE; bcontrast: SPLIT; contrastive sets: the name of the set
    # text and iwslt, for an archive: member -> SPLIT.LANGUAGE. If lines have several fields, this and `to` have a name
    # for each field, or _ to skip it, separated by ||| or tabs: "_ ||| train.ja ||| train.en".
    members: dict[str, str] = field(default_factory=dict)
    format: str | None = None  # by default the format of the entry
    # the steps to get the file, if only a person may download it; `url` then only identifies it
    by_hand: str | None = None

    def __post_init__(self) -> None:
        for layout in self._layouts:
            require(set(names_in(layout)) != {SKIPPED}, f"{layout!r} names no field; one must be SPLIT.LANGUAGE")
        for name in self.outputs:
            require(re.fullmatch(r"\w[\w-]*(\.\w[\w-]*)?", name) is not None, f"{name!r} is not SPLIT.LANGUAGE")
        require(bool(self.name), f"{self.url!r} does not end in a file name")
        require(self.by_hand is None or bool(self.by_hand.strip()), f"{self.name}: by_hand is empty; give the steps")
        checksums = sum(bool(getattr(self, kind)) for kind in CHECKSUM_KINDS)
        kinds = ", ".join(CHECKSUM_KINDS)
        expected = 0 if self.sha256 is None else 1
        require(checksums == expected, f"{self.name}: give one of {kinds}; `sha256: null` if no checksum is known")
        if self.mirrors:
            require(checksums == 1, f"{self.name}: mirrors need a checksum; give sha256, md5 or git_blob")
            require(self.by_hand is None, f"{self.name}: a file with by_hand cannot have mirrors")
            are_distinct = len({self.url, *self.mirrors}) == 1 + len(self.mirrors)
            require(are_distinct, f"{self.name}: mirrors is {list(self.mirrors)}; each must be another address")

    @property
    def name(self) -> str:
        return PurePosixPath(urlsplit(self.url).path).name

    @property
    def checksum(self) -> tuple[str, str] | None:
        """The kind and the value of the checksum; None if it is not known."""
        return next(((kind, getattr(self, kind)) for kind in CHECKSUM_KINDS if getattr(self, kind)), None)

    @property
    def outputs(self) -> list[str]:
        return [name for layout in self._layouts for name in names_in(layout) if name != SKIPPED]

    @property
    def is_derived(self) -> bool:
        """Whether this project extracts the file from another one, so that it has no published checksum."""
        return self.url.startswith(SACREBLEU) and self.name.endswith(".documents")

    @property
    def _layouts(self) -> list[str]:
        return [*self.members.values(), *([] if self.to is None else [self.to])]


@dataclass(frozen=True, kw_only=True)
class SacrebleuSet(Checked):
    """A test set that the sacrebleu package downloads and unpacks."""

    name: str  # sacrebleu's name, like wmt14/full; "wmt09,wmt10" is the two sets concatenated
    pair: Annotated[str, Field(pattern=r"^\w+-\w+$")]  # source-target: en-de
    split: Annotated[str, Field(pattern=r"^\w[\w-]*$")]

    @property
    def files(self) -> list[DownloadFile]:
        """The source, the reference and the starts of documents, under the names that they have in a mirror."""
        names = [f"{self.split}.{ending}" for ending in (*self.pair.split("-"), "documents")]
        address = f"{SACREBLEU}{self.name}/{self.pair}"
        return [DownloadFile(url=f"{address}/{name}", sha256=None, to=name) for name in names]


@dataclass(frozen=True, kw_only=True)
class CorpusEntry(Checked):
    """The sources of one corpus; texts with the same `to` are concatenated in the order of the entry's files.

    Members of the same archive are concatenated in the order of their names.

    The format `text` is for texts, gzipped or not, and for tar and zip archives of them. Every other format is specific
    to one corpus or to the corpora of one campaign; see its module in `corpus/formats`.
    """

    format: str
    licence: str
    homepage: str
    files: tuple[DownloadFile, ...] = ()
    sacrebleu: tuple[SacrebleuSet, ...] = ()
    # number of training documents; tvsub: the first ones; opus_moses: drawn at random
    documents: PositiveInteger | None = None
    held_out_documents: dict[str, int] | None = None  # opus_moses: numbers of documents to draw for other splits
    seed: int | None = None  # opus_moses: for drawing documents
    # iwslt: the split TRAIN lacks pairs whose number is a multiple of this; HELD_OUT has them
    held_out_every: Annotated[int, Field(ge=2)] | None = None

    def __post_init__(self) -> None:
        require(bool(self.files or self.sacrebleu), "an entry needs files or sacrebleu")
        test_files = [file for test_set in self.sacrebleu for file in test_set.files]
        names = [file.name for file in (*self.files, *test_files)]
        require(len(set(names)) == len(names), f"two files have the same name: {sorted(names)}")
        splits_of_files = {output.partition(".")[0] for file in self.files for output in self._texts(file)}
        for split in (test_set.split for test_set in self.sacrebleu):
            is_new = split not in splits_of_files
            require(is_new, f"sacrebleu: {split!r} is also a split of files; give one of them another name")

    def check_formats(self) -> None:
        """Raise ValueError for an unknown format, and for keys that are missing or not of the formats."""
        known = read_formats()
        for name in self.formats:
            require(name in known, f"format: unknown format {name!r}; there are {', '.join(known)}")
        for file in self.files:
            self._check_outputs(file, file.format or self.format)
        for key in sorted({key for spec in known.values() for key in spec.options}):
            allowed = [name for name, spec in known.items() if key in spec.options]
            is_set, is_allowed = getattr(self, key) is not None, self.format in allowed
            require(is_allowed or not is_set, f"{key} is for the formats {' and '.join(allowed)}, not {self.format}")
            is_required = known[self.format].options.get(key, False)
            require(is_set or not is_required, f"{key}: format {self.format} needs it")

    @staticmethod
    def _check_outputs(file: DownloadFile, name: str) -> None:
        allowed, kind = read_formats()[name].output_keys, read_formats()[name].output_kind
        keys = [key for key in ("to", "members") if getattr(file, key)]
        are_right = len(keys) == 1 and keys[0] in allowed if allowed else not keys
        needed = " or, for an archive, ".join(f"`{key}`" for key in allowed) or "neither `to` nor `members`"
        require(are_right, f"{file.name}: format {name} needs {needed}")
        for output in file.outputs:
            require(("." in output) == ("." in kind), f"{file.name}: {output!r} is not {kind}")

    @property
    def formats(self) -> list[str]:
        """The formats of the entry and of its files, each once."""
        return list(dict.fromkeys([self.format, *(file.format for file in self.files if file.format)]))

    def files_of_format(self, *formats: str) -> list[DownloadFile]:
        """Return the files whose format, by default the format of the entry, is one of these."""
        return [file for file in self.files if (file.format or self.format) in formats]

    @property
    def contrastive_sets(self) -> list[str]:
        """Names of the contrastive sets, each once."""
        formats = (name for name, spec in read_formats().items() if spec.output_kind == "SET")
        return sorted({str(file.to) for file in self.files_of_format(*formats)})

    @property
    def texts(self) -> set[str] | None:
        """Names of the corpus's texts and lists of documents; None if they depend on the content of a download.

        A set of sacrebleu may lack the list of documents that is named here.
        """
        known = read_formats().items()
        predictable = [name for name, spec in known if spec.output_keys and spec.output_kind != "SPLIT"]
        if len(self.files_of_format(*predictable)) < len(self.files):
            return None
        test_sets = {name for test_set in self.sacrebleu for file in test_set.files for name in file.outputs}
        return test_sets.union(*map(self._texts, self.files_of_format("text", "iwslt")))

    def _texts(self, file: DownloadFile) -> set[str]:
        """Return the names of the texts that a file becomes; with iwslt also of documents and held-out pairs."""
        names = set(file.outputs)
        if file not in self.files_of_format("iwslt"):
            return names
        if self.held_out_every:
            names |= {f"{HELD_OUT}{name.removeprefix(TRAIN)}" for name in names if name.partition(".")[0] == TRAIN}
        return names | {documents_file(Path(), name.partition(".")[0]).name for name in names}


def entry_values(entry: CorpusEntry | MiniatureSettings) -> dict[str, Any]:
    """Return an entry as plain values for its plan."""
    if isinstance(entry, MiniatureSettings):
        return asdict(entry)
    # Without defaults, so that a new key does not change the plans that lack it.
    values: dict[str, Any] = TypeAdapter(CorpusEntry).dump_python(entry, exclude_defaults=True)
    return values


def read_catalogue(parameters: Path) -> dict[str, dict[str, Any]]:
    """Return the entries under `generated` and `corpora`, unchecked."""
    data = read_yaml(parameters) or {}
    return {"generated": data.get("generated") or {}, "corpora": data.get("corpora") or {}}


def read_entry(parameters: Path, corpus: str) -> CorpusEntry | MiniatureSettings:
    """Read one entry of data/params.yaml; raise UserError for an unknown or ambiguous name and for invalid values."""
    generated, corpora = read_catalogue(parameters).values()
    if corpus not in (*generated, *corpora):
        raise UserError(f"{parameters}: no corpus {corpus!r}; there are {some_names(corpus, (*generated, *corpora))}")
    location = f"{parameters}: {'generated' if corpus in generated else 'corpora'}.{corpus}"
    if not re.fullmatch(r"\w[\w.-]*", corpus, re.ASCII):
        raise UserError(f"{location}: the name must be that of a folder: letters, digits, '.', '_' and '-'")
    if corpus in generated and corpus in corpora:
        raise UserError(f"{location}: an entry under corpora also has this name; both would be data/{corpus}")
    if corpus in generated:
        return check(MiniatureSettings, generated[corpus], where=location)
    entry = check(CorpusEntry, corpora[corpus], where=location)
    try:
        entry.check_formats()
    except ValueError as error:
        raise UserError(f"{location}: {error}") from None
    return entry
