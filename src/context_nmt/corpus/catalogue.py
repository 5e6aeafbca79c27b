"""The entries of data/params.yaml: corpora to generate or download."""

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

from context_nmt.corpus.documents import documents_file
from context_nmt.files import UserError, read_yaml
from context_nmt.settings import Checked, PositiveInteger, require
from context_nmt.settings.checking import check, some_names
from context_nmt.settings.miniature import MiniatureSettings

SACREBLEU = "sacrebleu://"  # prefix of the addresses of files that the sacrebleu package downloads
SKIPPED = "_"  # instead of the name of a field
Format = Literal[
    "text", "bcontrast", "contrapro", "contrawsd", "discourse_mt", "iwslt", "opus_moses", "opus_xml", "tvsub"
]
TRAIN, HELD_OUT = "train", "valid"  # the split of which iwslt can hold out pairs, and theirs
SEVERAL_SPLITS = ("opus_moses", "opus_xml", "tvsub")  # formats whose archives have all the splits that they give
CONTRASTIVE = ("contrapro", "contrawsd", "discourse_mt")  # formats of contrastive sets; `to` is the name of the set
CHECKSUMS = {"sha256": 64, "md5": 32, "git_blob": 40}  # kinds of them, and their numbers of hexadecimal digits
NOT_GIVEN = ""  # instead of a sha256, whose null has a meaning
# Keys that a plan has only if they are not like this, so that a new key changes no plan without it.
LATER: dict[str, Any] = {
    "bytes": None,
    "by_hand": None,
    "format": None,
    "git_blob": None,
    "held_out_documents": None,
    "held_out_every": None,
    "md5": None,
    "mirrors": (),
    "seed": None,
    "sha256": NOT_GIVEN,
}


def names_in(layout: str) -> list[str]:
    """Return the names of a line's fields; a text without fields has one name."""
    return [name.strip() for name in re.split(r"\|\|\||\t", layout)]


@dataclass(frozen=True, kw_only=True)
class DownloadFile(Checked):
    """One file to download, with one of the three checksums of its bytes."""

    url: str
    sha256: str | None = NOT_GIVEN  # null: none is known, and that of the first download is recorded
    md5: str | None = None
    git_blob: str | None = None  # git's name of the content: the SHA-1 of "blob SIZE\0" and the bytes
    mirrors: tuple[str, ...] = ()  # addresses of the same bytes, tried in turn where `url` fails
    bytes: PositiveInteger | None = None  # the size, if it is known
    to: str | None = None  # text: SPLIT.LANGUAGE; bcontrast: SPLIT; of contrastive sets: the set's name
    # text and iwslt, for an archive: member -> SPLIT.LANGUAGE; for a text with several fields a line, here and in `to`:
    # a line of SPLIT.LANGUAGE for each field, or _ to skip it, like "_ ||| train.ja ||| train.en"; or separated by tabs
    members: dict[str, str] = field(default_factory=dict)
    format: Format | None = None  # that of the entry if unset
    # what a person must do to get the file, if no program may download it; `url` then only identifies it
    by_hand: str | None = None

    def __post_init__(self) -> None:
        for layout in self._layouts:
            require(set(names_in(layout)) != {SKIPPED}, f"{layout!r} names no field; one must be SPLIT.LANGUAGE")
        for name in self.outputs:
            require(re.fullmatch(r"\w[\w-]*(\.\w[\w-]*)?", name) is not None, f"{name!r} is not SPLIT.LANGUAGE")
        require(bool(self.name), f"{self.url!r} does not end in a file name")
        require(self.by_hand is None or bool(self.by_hand.strip()), f"{self.name}: by_hand is empty; give the steps")
        given = {kind: getattr(self, kind) for kind in CHECKSUMS if getattr(self, kind)}
        one = len(given) == (0 if self.sha256 is None else 1)
        require(one, f"{self.name}: give one of {', '.join(CHECKSUMS)}; `sha256: null` if no checksum is known")
        for kind, value in given.items():
            digits = CHECKSUMS[kind]
            is_right = re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is not None
            require(is_right, f"{self.name}: {kind} is {value!r}; it must have {digits} digits of 0-9 and a-f")
        if self.mirrors:
            require(bool(given), f"{self.name}: mirrors need a checksum; give sha256, md5 or git_blob")
            require(self.by_hand is None, f"{self.name}: mirrors are for programs; a file with by_hand has none")
            distinct = len({self.url, *self.mirrors}) == 1 + len(self.mirrors)
            addresses = all(re.match("https?://", mirror) for mirror in self.mirrors)
            require(
                distinct and addresses, f"{self.name}: mirrors is {list(self.mirrors)}; each must be another address"
            )

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
    pair: str  # source-target: en-de
    split: str

    def __post_init__(self) -> None:
        require(re.fullmatch(r"\w+-\w+", self.pair) is not None, f"pair is {self.pair!r}; it must be like en-de")
        require(re.fullmatch(r"\w[\w-]*", self.split) is not None, f"{self.split!r} is not the name of a split")

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
    to one corpus, or to those of one campaign; see the module of its name in `corpus/formats`.
    """

    format: Format
    licence: str
    homepage: str
    papers: tuple[str, ...] = ()  # that use it: names of src/context_nmt/report/papers/NAME.yaml
    files: tuple[DownloadFile, ...] = ()
    sacrebleu: tuple[SacrebleuSet, ...] = ()
    # tvsub: number of training documents to keep, from the first; opus_moses: number of those to draw at random
    documents: int | None = None
    held_out_documents: dict[str, int] | None = None  # opus_moses: numbers of documents to draw for other splits
    seed: int | None = None  # opus_moses: of the draw
    # iwslt: pairs of TRAIN whose number is a multiple of this are of HELD_OUT instead
    held_out_every: int | None = None

    def __post_init__(self) -> None:
        for name, file in ((file.name, file) for file in self.files):
            form = file.format or self.format
            needs_to = "has no" if form in SEVERAL_SPLITS else "needs"
            if form in ("text", "iwslt"):
                if form == "text":
                    require((file.to is None) == bool(file.members), f"{name}: give `to` or, for an archive, `members`")
                else:
                    require(file.to is None and bool(file.members), f"{name}: format iwslt needs `members`, no `to`")
                for output in file.outputs:
                    require("." in output, f"{name}: {output!r} is not SPLIT.LANGUAGE")
            else:
                require(not file.members, f"{name}: members is for formats text and iwslt, not {form}")
                require((file.to is not None) == (needs_to == "needs"), f"{name}: format {form} {needs_to} `to`")
                require("." not in (file.to or ""), f"{name}: to is {file.to!r}; it must be a name without a '.'")
        draws, names = self.format == "opus_moses", [file.name for file in self.files]
        require(
            self.documents is None or draws or self.format == "tvsub",
            f"documents is for the formats tvsub and opus_moses, not {self.format}",
        )
        for key in ("held_out_documents", "seed"):
            given = getattr(self, key) is not None
            require(given == draws, f"{key}: format {self.format} {'needs it' if draws else 'has no such key'}")
        require(self.documents is None or self.documents >= 1, f"documents is {self.documents}; it must be at least 1")
        every, talks = self.held_out_every, self.format == "iwslt"
        require(every is None or talks, f"held_out_every is for format iwslt, not {self.format}")
        require(every is None or every >= 2, f"held_out_every is {every}; it must be at least 2")
        require(bool(names or self.sacrebleu), "an entry needs files or sacrebleu")
        names += [file.name for test_set in self.sacrebleu for file in test_set.files]
        require(len(set(names)) == len(names), f"two files have the same name: {sorted(names)}")
        taken = {output.partition(".")[0] for file in self.files for output in self._texts(file)}
        for test_set in self.sacrebleu:
            name = test_set.split
            require(name not in taken, f"sacrebleu: {name!r} is a split of files, too; give one of them another name")

    def of_format(self, *formats: str) -> list[DownloadFile]:
        """Return the files of some formats, their own or that of the entry."""
        return [file for file in self.files if (file.format or self.format) in formats]

    @property
    def contrastive_sets(self) -> list[str]:
        """Names of the contrastive sets, each once."""
        return sorted({str(file.to) for file in self.of_format(*CONTRASTIVE)})

    @property
    def texts(self) -> set[str] | None:
        """Names of the texts and lists of documents that the corpus has; None if only its download can tell.

        Not every set of sacrebleu has the documents that are named here.
        """
        if len(self.of_format("text", "iwslt", *CONTRASTIVE)) < len(self.files):
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
    """Return the plain values of an entry for its plan, which is the same whatever papers use the corpus."""
    values = asdict(
        entry,
        dict_factory=lambda items: {key: value for key, value in items if key not in LATER or value != LATER[key]},
    )
    values.pop("papers", None)
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
