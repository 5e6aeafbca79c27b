"""Made-up files of the formats that corpora of WMT and WAT have: texts, archives, lines with fields, ContraWSD.

The same entry always gives the same bytes, so that checksums agree.
"""

import gzip
import io
import json
import tarfile
import zipfile
from dataclasses import replace
from random import Random

from context_nmt.corpus.catalogue import SKIPPED, names_in

SYLLABLES = {
    "ja": "か き く け こ さ し す せ そ",
    "ru": "ба вы го дю ёж зи йка шё щу эль",  # noqa: RUF001
    "zh": "我 你 书 看 去 来 是 人 大 小",
}
LATIN = "ba cu di fe go hal im jo ku ler"
WITHOUT_SPACES = {"ja": "。", "zh": "。"}


def sentence(language, number):
    """Return a sentence; those of one number have the same words in all languages."""
    random = Random(number)
    syllables = SYLLABLES.get(language, LATIN).split()
    words = ["".join(random.choices(syllables, k=2)) for _ in range(random.randint(4, 9))]
    if language in WITHOUT_SPACES:
        return "".join(words) + WITHOUT_SPACES[language]
    return " ".join(words).capitalize() + "."


def write(folder, entry, *, lines=200):
    """Write all files of an entry into a folder of a mirror, each text of an archive with so many lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files_of(entry):
        (folder / file.name).write_bytes(content(file, file.format or entry.format, lines))


def unchecked(entry):
    """Return an entry of data/params.yaml for made-up files, whose checksums differ."""
    none = {"sha256": None, "md5": None, "git_blob": None, "mirrors": ()}
    return replace(entry, files=tuple(replace(file, **none) for file in entry.files))


def files_of(entry):
    """Return the files of an entry and those of its test sets."""
    return [*entry.files, *(file for test_set in entry.sacrebleu for file in test_set.files)]


def content(file, form, lines):
    """Return the bytes of one file."""
    if form == "contrawsd":
        items = [sense(number, *file.name.partition(".")[0].split("-")) for number in range(lines)]
        return json.dumps(items, ensure_ascii=False).encode()
    if file.name.endswith(".documents"):
        return b"0\n"
    if file.to is not None:
        plain = text(file.to, lines)
        return gzip.compress(plain, mtime=0) if file.name.endswith(".gz") else plain
    pack = zipped if file.name.endswith(".zip") else tarred
    return pack({member: text(layout, lines) for member, layout in file.members.items()})


def text(layout, lines):
    """Return lines of one language, or of the fields of a layout."""
    separator = "\t" if "\t" in layout else " ||| "
    languages = [name if name == SKIPPED else name.partition(".")[2] for name in names_in(layout)]
    rows = ([str(n) if name == SKIPPED else sentence(name, n) for name in languages] for n in range(lines))
    return "".join(separator.join(row) + "\n" for row in rows).encode()


def sense(number, source, target):
    """Return an item of ContraWSD."""
    return {
        "source": sentence(source, number),
        "reference": sentence(target, number),
        "errors": [{"contrastive": sentence(target, number + wrong)} for wrong in (1, 2)],
        "frequency of sense/ambig word in wmt": f"{number}/1000",
    }


def zipped(members):
    """Return a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member)  # without the time
    return packed.getvalue()


def tarred(members):
    """Return a tar archive, packed with gzip."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, member in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(member)
            archive.addfile(info, io.BytesIO(member))
    return gzip.compress(packed.getvalue(), mtime=0)
