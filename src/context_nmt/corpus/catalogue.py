"""The entries of data/params.yaml: corpora to generate or download."""

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field, TypeAdapter

from context_nmt.corpus.documents import documents_file
from context_nmt.files import UserError, read_yaml
from context_nmt.settings import Checked, PositiveInteger, check, require, some_names
from context_nmt.settings.miniature import MiniatureSettings

SACREBLEU = "sacrebleu://"  # prefix of the addresses of files that the sacrebleu package downloads
SKIPPED = "_"  # instead of the name of a field
TRAIN, HELD_OUT = "train", "valid"  # the split of which iwslt can hold out pairs, and theirs
CHECKSUMS = ("sha256", "md5", "git_blob")  # of which a file has one
NOT_GIVEN = ""  # instead of a sha256, whose null has a meaning


class Format(NamedTuple):
    """What the entries and the files of a format have."""

    module: str  # in corpus/formats, which has a function unpack_FORMAT
    outputs: tuple[str, ...] = ()  # keys of a file, of which it has one; without any, an archive has all the splits
    gives: str = "SPLIT.LANGUAGE"  # what these keys name
    options: tuple[str, ...] = ()  # keys of an entry


FORMATS = {
    "text": Format("text", ("to", "members")),
    "iwslt": Format("document_corpora", ("members",), options=("held_out_every",)),
    "bcontrast": Format("document_corpora", ("to",), "SPLIT"),
    "contrapro": Format("contrastive_sets", ("to",), "SET"),
    "contrawsd": Format("contrastive_sets", ("to",), "SET"),
    "discourse_mt": Format("contrastive_sets", ("to",), "SET"),
    "tvsub": Format("document_corpora", options=("documents",)),
    "opus_moses": Format("text", options=("documents", "held_out_documents", "seed")),
    "opus_xml": Format("document_corpora"),
}
OPTIONS = {"documents": False, "held_out_documents": True, "held_out_every": False, "seed": True}  # whether required


def names_in(layout: str) -> list[str]:
    """Return the names of a line's fields; a text without fields has one name."""
    return [name.strip() for name in re.split(r"\|\|\||\t", layout)]


@dataclass(frozen=True, kw_only=True)
class DownloadFile(Checked):
    """One file to download, with one of the three checksums of its bytes."""

    url: str
    # null: none is known, and that of the first download is recorded
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = NOT_GIVEN
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    # git's name of the content: the SHA-1 of "blob SIZE\0" and the bytes
    git_blob: Annotated[str, Field(pattern="^[0-9a-f]{40}$")] | None = None
    # addresses of the same bytes, tried in turn where `url` fails
    mirrors: tuple[Annotated[str, Field(pattern="^https?://")], ...] = ()
    bytes: PositiveInteger | None = None  # the size, if it is known
    to: str | None = None  # text: SPLIT.LANGUAGE; bcontrast: SPLIT; of contrastive sets: the set's name
    # text and iwslt, for an archive: member -> SPLIT.LANGUAGE; for a text with several fields a line, here and in `to`:
    # a line of SPLIT.LANGUAGE for each field, or _ to skip it, like "_ ||| train.ja ||| train.en"; or separated by tabs
    members: dict[str, str] = field(default_factory=dict)
    format: str | None = None  # that of the entry if unset
    # what a person must do to get the file, if no program may download it; `url` then only identifies it
    by_hand: str | None = None

    def __post_init__(self) -> None:
        for layout in self._layouts:
            require(set(names_in(layout)) != {SKIPPED}, f"{layout!r} names no field; one must be SPLIT.LANGUAGE")
        for name in self.outputs:
            require(re.fullmatch(r"\w[\w-]*(\.\w[\w-]*)?", name) is not None, f"{name!r} is not SPLIT.LANGUAGE")
        require(bool(self.name), f"{self.url!r} does not end in a file name")
        require(self.by_hand is None or bool(self.by_hand.strip()), f"{self.name}: by_hand is empty; give the steps")
        given = sum(bool(getattr(self, kind)) for kind in CHECKSUMS)
        one = given == (0 if self.sha256 is None else 1)
        require(one, f"{self.name}: give one of {', '.join(CHECKSUMS)}; `sha256: null` if no checksum is known")
        if self.mirrors:
            require(given == 1, f"{self.name}: mirrors need a checksum; give sha256, md5 or git_blob")
            require(self.by_hand is None, f"{self.name}: mirrors are for programs; a file with by_hand has none")
            distinct = len({self.url, *self.mirrors}) == 1 + len(self.mirrors)
            require(distinct, f"{self.name}: mirrors is {list(self.mirrors)}; each must be another address")

    @property
    def name(self) -> str:
        return PurePosixPath(urlsplit(self.url).path).name

    @property
    def checksum(self) -> tuple[str, str] | None:
        """The kind and the value of the checksum; None if it is not known."""
        return next(((kind, getattr(self, kind)) for kind in CHECKSUMS if getattr(self, kind)), None)

    @property
    def outputs(self) -> list[str]:
        return [name for layout in self._layouts for name in names_in(layout) if name != SKIPPED]

    @property
    def derived(self) -> bool:
        """Whether our own code reads the file out of another one, so that no checksum holds for it."""
        return self.url.startswith(SACREBLEU) and self.name.endswith(".documents")

    @property
    def _layouts(self) -> list[str]:
        return [*self.members.values(), *([] if self.to is None else [self.to])]


@dataclass(frozen=True, kw_only=True)
class SacrebleuSet(Checked):
    """A test set that the sacrebleu package downloads and unpacks."""

    name: str  # sacrebleu's name, like wmt14/full; "wmt09,wmt10" is both sets, one after the other
    pair: Annotated[str, Field(pattern=r"^\w+-\w+$")]  # source-target: en-de
    split: Annotated[str, Field(pattern=r"^\w[\w-]*$")]

    @property
    def files(self) -> list[DownloadFile]:
        """Source, reference, and the starts of documents, which may be empty; a mirror has files of these names."""
        names = [f"{self.split}.{ending}" for ending in (*self.pair.split("-"), "documents")]
        address = f"{SACREBLEU}{self.name}/{self.pair}"
        return [DownloadFile(url=f"{address}/{name}", sha256=None, to=name) for name in names]


@dataclass(frozen=True, kw_only=True)
class CorpusEntry(Checked):
    """The sources of one corpus; texts with the same `to` are concatenated in the order of the entry's files.

    The members of one archive are concatenated in the order of their names.

    The format `text` is for texts, gzipped or not, and for tar and zip archives of them. Every other format is specific
    to one corpus, or to those of one campaign; see its module in `corpus/formats`.
    """

    format: str
    licence: str
    homepage: str
    files: tuple[DownloadFile, ...] = ()
    sacrebleu: tuple[SacrebleuSet, ...] = ()
    # tvsub: number of training documents to keep, from the first; opus_moses: number of those to draw at random
    documents: PositiveInteger | None = None
    held_out_documents: dict[str, int] | None = None  # opus_moses: numbers of documents to draw for other splits
    seed: int | None = None  # opus_moses: of the draw
    # iwslt: pairs of TRAIN whose number is a multiple of this are of HELD_OUT instead
    held_out_every: Annotated[int, Field(ge=2)] | None = None

    def __post_init__(self) -> None:
        for name in (self.format, *(file.format for file in self.files if file.format)):
            require(name in FORMATS, f"format: {name!r} is no format; there are {', '.join(FORMATS)}")
        for file in self.files:
            self._check_outputs(file)
        for key, required in OPTIONS.items():
            having = [name for name, form in FORMATS.items() if key in form.options]
            given, fits = getattr(self, key) is not None, self.format in having
            require(fits or not given, f"{key} is for the formats {' and '.join(having)}, not {self.format}")
            require(given or not (fits and required), f"{key}: format {self.format} needs it")
        require(bool(self.files or self.sacrebleu), "an entry needs files or sacrebleu")
        names = [file.name for file in (*self.files, *(file for one in self.sacrebleu for file in one.files))]
        require(len(set(names)) == len(names), f"two files have the same name: {sorted(names)}")
        taken = {output.partition(".")[0] for file in self.files for output in self._texts(file)}
        for split in (test_set.split for test_set in self.sacrebleu):
            require(split not in taken, f"sacrebleu: {split!r} is a split of files, too; give one of them another name")

    def _check_outputs(self, file: DownloadFile) -> None:
        name = file.format or self.format
        form = FORMATS[name]
        given = [key for key in ("to", "members") if getattr(file, key)]
        right = len(given) == 1 and given[0] in form.outputs if form.outputs else not given
        keys = " or, for an archive, ".join(f"`{key}`" for key in form.outputs)
        require(right, f"{file.name}: format {name} needs {keys or 'neither `to` nor `members`'}")
        for output in file.outputs:
            require(("." in output) == ("." in form.gives), f"{file.name}: {output!r} is not {form.gives}")

    def of_format(self, *formats: str) -> list[DownloadFile]:
        """Return the files of some formats, their own or that of the entry."""
        return [file for file in self.files if (file.format or self.format) in formats]

    @property
    def contrastive_sets(self) -> list[str]:
        """Names of the contrastive sets, each once."""
        formats = (name for name, form in FORMATS.items() if form.gives == "SET")
        return sorted({str(file.to) for file in self.of_format(*formats)})

    @property
    def texts(self) -> set[str] | None:
        """Names of the texts and lists of documents that the corpus has; None if only its download can tell.

        Not every set of sacrebleu has the documents that are named here.
        """
        known = [name for name, form in FORMATS.items() if form.outputs and form.gives != "SPLIT"]
        if len(self.of_format(*known)) < len(self.files):
            return None
        test_sets = {name for test_set in self.sacrebleu for file in test_set.files for name in file.outputs}
        return test_sets.union(*map(self._texts, self.of_format("text", "iwslt")))

    def _texts(self, file: DownloadFile) -> set[str]:
        """Return what one file gives: for iwslt also documents and the pairs that are held out."""
        names = set(file.outputs)
        if file not in self.of_format("iwslt"):
            return names
        if self.held_out_every:
            names |= {f"{HELD_OUT}{name.removeprefix(TRAIN)}" for name in names if name.partition(".")[0] == TRAIN}
        return names | {documents_file(Path(), name.partition(".")[0]).name for name in names}


def entry_values(entry: CorpusEntry | MiniatureSettings) -> dict[str, Any]:
    """Return the plain values of an entry for its plan."""
    if isinstance(entry, MiniatureSettings):
        return asdict(entry)
    # Without defaults, so that a new key changes no plan without it.
    values: dict[str, Any] = TypeAdapter(CorpusEntry).dump_python(entry, exclude_defaults=True)
    return values


def read_catalogue(parameters: Path) -> dict[str, dict[str, Any]]:
    """Return the entries under `generated` and `corpora`, unchecked."""
    data = read_yaml(parameters) or {}
    return {"generated": data.get("generated") or {}, "corpora": data.get("corpora") or {}}


def read_entry(parameters: Path, corpus: str) -> CorpusEntry | MiniatureSettings:
    """Read and check one entry of data/params.yaml; raise UserError."""
    generated, corpora = read_catalogue(parameters).values()
    if corpus not in (*generated, *corpora):
        raise UserError(f"{parameters}: no corpus {corpus!r}; there are {some_names(corpus, (*generated, *corpora))}")
    location = f"{parameters}: {'generated' if corpus in generated else 'corpora'}.{corpus}"
    if not re.fullmatch(r"\w[\w.-]*", corpus, re.ASCII):
        raise UserError(f"{location}: not the name of a folder; it must be made of letters, digits, '.', '_' and '-'")
    if corpus in generated and corpus in corpora:
        raise UserError(f"{location}: an entry under corpora has this name, too; both would be data/{corpus}")
    if corpus in generated:
        return check(MiniatureSettings, generated[corpus], where=location)
    return check(CorpusEntry, corpora[corpus], where=location)
