"""Download or generate one corpus."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.corpus.download import make_corpus, read_data_plan
from context_nmt.corpus.fetching import data_mirror
from context_nmt.settings.run_layout import RunLayout


def main(
    corpus: Annotated[str, typer.Argument(help="A name under download in params.yaml: an entry of data/params.yaml.")],
    checksums: Annotated[Path, typer.Argument(help="The file that records checksums: ROOT/data/checksums.json.")],
) -> None:
    """Download or generate one corpus as plain text, in the experiment's folder.

    Reads metrics/plans/data.CORPUS.json, the entry of data/params.yaml. A file is first looked for at
    DATA_MIRROR/CORPUS/FILE, where the environment variable DATA_MIRROR is a folder or the start of a URL. If the entry
    has no checksum, the first download records it and later ones must match it. Downloads are kept in
    ROOT/data/.downloads for other corpora. A miniature is generated; src/context_nmt/miniature/README.md describes its
    files. Writes

        data/CORPUS/SPLIT.LANGUAGE   one sentence per line, with the same number of lines in all languages
        data/CORPUS/SPLIT.documents  the line number, from 0, of each document's first sentence, if known

    Example: DATA_MIRROR=/mirror python ../../stages download multi30k ../../data/checksums.json
    """
    layout = RunLayout()
    mirror = data_mirror()
    entry, modules = read_data_plan(layout.data_plan(corpus))
    make_corpus(entry, layout.data(corpus), checksums=checksums, mirror=mirror, modules=modules)
