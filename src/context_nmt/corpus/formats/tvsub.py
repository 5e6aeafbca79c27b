"""TVsub (Wang et al. 2018): Chinese-English subtitles of television episodes, from an archive of its repository.

    data/orignal/train/separated/N.zh, N.en   training: raw text, an episode each
    data/orignal/SPLIT/SPLIT.orignal.zh, .en  dev and test: Chinese raw, English in tokens with its capitals
    data/processed/SPLIT/SPLIT_trg.sgm        where episodes start; English in lower case, test's in three versions

An episode is a document. English contractions and words with hyphens are joined again; punctuation stays separate, as
Moses does not split a full stop from its word before a lower-case letter. The first reference of test has capitals; the
second and third, test.en.1 and test.en.2, have none: score in lower case.
"""

import html
import re
import shutil
import tarfile
from itertools import chain
from pathlib import Path

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.documents import write_sizes
from context_nmt.files import UserError, read_lines, write_lines

LANGUAGES = ("zh", "en")
EPISODE = re.compile(r"data/orignal/train/separated/(\d+\.(?:zh|en))")
EVALUATED = re.compile(r"data/(?:orignal|processed)/(?:dev|test)/((?:dev|test)(?:\.orignal\.(?:zh|en)|_trg\.sgm))")
DOCUMENT = re.compile(r'<DOC docid="[^"]*" sysid="([^"]*)">(.*?)</DOC>', re.DOTALL)
SEGMENT = re.compile(r"<seg id=\d+>(.*?)</seg>")


def unpack(path: Path, folder: Path, _: DownloadFile, entry: CorpusEntry) -> None:
    """Write train, dev and test with their documents; of train only the entry's first `documents` episodes, if given.

    Raises KeyError for an archive that lacks a file, and UserError for too few episodes and for sides of unequal
    length.
    """
    scratch = folder / "archive"
    scratch.mkdir()
    with tarfile.open(path) as archive:
        for member in archive:  # in the archive's order, as seeking back is slow
            name = member.name.partition("/")[2]
            found = EPISODE.fullmatch(name) or EVALUATED.fullmatch(name)
            if found and member.isreg() and (content := archive.extractfile(member)):
                (scratch / found[1]).write_bytes(content.read())
    _write_training(scratch, folder, entry.documents)
    for split in ("dev", "test"):
        _write_evaluated(scratch, folder, split)
    shutil.rmtree(scratch)


def _write_training(scratch: Path, folder: Path, documents: int | None) -> None:
    numbers = sorted(int(path.stem) for path in scratch.glob("*.zh") if path.stem.isdecimal())
    if not 1 <= (documents or len(numbers)) <= len(numbers):
        raise UserError(f"documents is {documents}; there are {len(numbers)} episodes")
    numbers = numbers[:documents]
    sizes: dict[str, list[int]] = {}
    for language in LANGUAGES:
        episodes = [_existing(scratch / f"{number}.{language}") for number in numbers]
        sizes[language] = [len(read_lines(episode)) for episode in episodes]
        write_lines(folder / f"train.{language}", chain.from_iterable(map(read_lines, episodes)))
    for number, *lengths in zip(numbers, *sizes.values(), strict=True):
        if lengths[0] != lengths[1]:
            raise UserError(f"episode {number} has {lengths[0]} Chinese lines and {lengths[1]} English ones")
    write_sizes(folder, "train", sizes["en"])


def _write_evaluated(scratch: Path, folder: Path, split: str) -> None:
    references: dict[str, list[list[str]]] = {}
    for version, document in DOCUMENT.findall(_existing(scratch / f"{split}_trg.sgm").read_text(encoding="utf-8")):
        references.setdefault(version, []).append(SEGMENT.findall(document))
    first, *further = references.values()
    texts = {f"{split}.en": read_lines(_existing(scratch / f"{split}.orignal.en"))}
    texts |= {f"{split}.en.{number}": list(chain.from_iterable(given)) for number, given in enumerate(further, start=1)}
    sizes, lines = list(map(len, first)), len(texts[f"{split}.en"])
    if sum(sizes) != lines:
        raise UserError(f"{split}_trg.sgm has {sum(sizes)} segments, {split}.orignal.en {lines} lines")
    for name, lines in texts.items():
        write_lines(folder / name, map(_joined, lines))
    write_lines(folder / f"{split}.zh", map(str.strip, read_lines(_existing(scratch / f"{split}.orignal.zh"))))
    write_sizes(folder, split, sizes)


def _joined(tokens: str) -> str:
    text = re.sub(r"(?<=\w) (?='\w)", "", html.unescape(tokens))
    return " ".join(re.sub(r"(?<=\w) @-@ (?=\w)", "-", text).replace("@-@", "-").split())


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise KeyError(f"{path.name!r} is not in the archive")
    return path
