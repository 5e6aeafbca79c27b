"""Test sets that the sacrebleu package downloads into a folder of its own, as files of a corpus.

sacrebleu keeps the text of a set and, of most sets of WMT, the SGML that the text is from. A tag there starts a
document. Documents of sets from other sources, like the XML of later years, are not read.
"""

import re
import shutil
from itertools import accumulate
from pathlib import Path

from context_nmt.files import iterate_lines

DOCUMENT = re.compile("<doc ", re.IGNORECASE)
SEGMENT = "<seg "  # at the start of a line, as sacrebleu reads segments


def write_set_file(names: str, pair: str, file: str, destination: Path) -> None:
    """Write the file SPLIT.LANGUAGE or SPLIT.documents of a test set, or of several whose names are joined by commas.

    SPLIT.documents is empty if one of the sets has no documents in SGML. Raise OSError for a set that sacrebleu does
    not have or cannot download.
    """
    if file.endswith(".documents"):
        starts = _starts([_documents(name, pair) for name in names.split(",")])
        destination.write_text("".join(f"{start}\n" for start in starts))
        return
    with destination.open("wb") as text:
        for name in names.split(","):
            with _text(name, pair, is_source=file.endswith("." + pair.split("-")[0])).open("rb") as part:
                shutil.copyfileobj(part, text)


def _starts(sets: list[list[int]]) -> list[int]:
    """Return the first line of each document, given their sizes by set; nothing if those of a set are not known."""
    sizes = [size for documents in sets for size in documents] if all(sets) else []
    return list(accumulate(sizes, initial=0))[: len(sizes)]


def _text(name: str, pair: str, *, is_source: bool) -> Path:
    """Return the path of a set's source, or of its first reference."""
    from sacrebleu.utils import get_reference_files, get_source_file

    try:
        return Path(get_source_file(name, pair) if is_source else get_reference_files(name, pair)[0])
    except (Exception, SystemExit) as error:  # sacrebleu raises bare Exceptions, and exits without a network
        raise OSError(f"sacrebleu: {error}") from None


def _documents(name: str, pair: str) -> list[int]:
    """Return the number of sentences of each document of a set; nothing for a set without them in SGML."""
    from sacrebleu.dataset import DATASETS
    from sacrebleu.dataset.fake_sgml import FakeSGMLDataset
    from sacrebleu.utils import SACREBLEU_DIR

    _text(name, pair, is_source=True)
    if not isinstance(DATASETS[name], FakeSGMLDataset):
        return []
    sizes = [0]
    for line in iterate_lines(Path(SACREBLEU_DIR) / name / "raw" / DATASETS[name].langpairs[pair][0]):
        if DOCUMENT.match(line):
            sizes.append(0)
        elif line.startswith(SEGMENT):
            sizes[-1] += 1
    return [] if sizes[0] else [size for size in sizes if size]
