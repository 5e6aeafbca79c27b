"""TVsub (Wang et al. 2018): Chinese-English subtitles of television episodes, from an archive of its repository.

    data/orignal/train/separated/N.zh, N.en   training: raw text, one episode per file
    data/orignal/SPLIT/SPLIT.orignal.zh, .en  dev and test: raw Chinese, tokenized English with capitals
    data/processed/SPLIT/SPLIT_trg.sgm        episode boundaries; lower-cased English, three versions for test

An episode is a document. English contractions and hyphenated words are rejoined; punctuation stays separate, as
Moses does not split a full stop from its word before a lower-case letter. The first reference of test has capitals; the
second and third, test.en.1 and test.en.2, have none: score in lower case.
"""

import html
import re
import tarfile
from itertools import chain
from pathlib import Path

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.documents import write_sizes
from context_nmt.corpus.skipping import Skipping
from context_nmt.files import UserError, decoded_lines, write_lines

LANGUAGES = ("zh", "en")
EPISODE = re.compile(r"data/orignal/train/separated/(\d+\.(?:zh|en))")
EVALUATED = re.compile(r"data/(?:orignal|processed)/(?:dev|test)/((?:dev|test)(?:\.orignal\.(?:zh|en)|_trg\.sgm))")
DOCUMENT = re.compile(r'<DOC docid="[^"]*" sysid="([^"]*)">(.*?)</DOC>', re.DOTALL)
SEGMENT = re.compile(r"<seg id=\d+>(.*?)</seg>")

Files = dict[str, list[bytes]]  # lines by name


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, entry: CorpusEntry) -> None:
    """Write train, dev and test with their documents; limit train to the first `documents` episodes of the entry.

    Episodes that lack a side, have sides of unequal length, or are not UTF-8, are skipped. Raise UserError for too many
    of them, for too few episodes, and for other files that are missing or do not fit.
    """
    files: Files = {}
    with tarfile.open(paths[file.name]) as archive:
        for member in archive:  # in the order of the archive, as seeking back is slow
            name = member.name.partition("/")[2]
            match = EPISODE.fullmatch(name) or EVALUATED.fullmatch(name)
            if match and member.isreg() and (content := archive.extractfile(member)):
                files[match[1]] = content.readlines()
    _write_training(files, folder, file.name, entry.documents)
    for split in ("dev", "test"):
        _write_evaluated(files, folder, split)


def _write_training(files: Files, folder: Path, archive: str, documents: int | None) -> None:
    numbers = sorted({int(name.partition(".")[0]) for name in files if re.fullmatch(r"\d+\.(zh|en)", name)})
    if not 1 <= (documents or len(numbers)) <= len(numbers):
        raise UserError(f"documents is {documents}; there are {len(numbers)} episodes")
    episodes: list[list[list[str]]] = []
    with Skipping(archive, "episodes") as counted:
        for number in numbers[:documents]:
            with counted.trying(f"episode {number}"):
                chinese, english = sides = [_existing(files, f"{number}.{side}") for side in LANGUAGES]
                if len(chinese) != len(english):
                    raise ValueError(f"{len(chinese)} Chinese lines and {len(english)} English ones")
                episodes.append(sides)
    for side, language in enumerate(LANGUAGES):
        write_lines(folder / f"train.{language}", (line for episode in episodes for line in episode[side]))
    write_sizes(folder, "train", (len(chinese) for chinese, _ in episodes))


def _write_evaluated(files: Files, folder: Path, split: str) -> None:
    references: dict[str, list[list[str]]] = {}
    for version, document in DOCUMENT.findall("\n".join(_existing(files, f"{split}_trg.sgm"))):
        references.setdefault(version, []).append(SEGMENT.findall(document))
    first, *further = references.values()
    english, sizes = _existing(files, f"{split}.orignal.en"), list(map(len, first))
    if sum(sizes) != len(english):
        raise UserError(f"{split}_trg.sgm has {sum(sizes)} segments, {split}.orignal.en {len(english)} lines")
    write_lines(folder / f"{split}.en", map(_joined, english))
    for number, documents in enumerate(further, start=1):
        write_lines(folder / f"{split}.en.{number}", map(_joined, chain.from_iterable(documents)))
    write_lines(folder / f"{split}.zh", map(str.strip, _existing(files, f"{split}.orignal.zh")))
    write_sizes(folder, split, sizes)


def _existing(files: Files, name: str) -> list[str]:
    if name not in files:
        raise UserError(f"{name!r} is not in the archive")
    return list(decoded_lines(files[name], name))


def _joined(tokens: str) -> str:
    text = re.sub(r"(?<=\w) (?='\w)", "", html.unescape(tokens))
    return " ".join(re.sub(r"(?<=\w) @-@ (?=\w)", "-", text).replace("@-@", "-").split())
