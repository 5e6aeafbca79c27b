"""Downloads one corpus."""

import os
from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.corpus.download import download_corpus


def main(corpus: Annotated[str, typer.Argument(help="An entry under corpora in data/params.yaml.")]) -> None:
    """Download one corpus, check it and unpack it into plain text.

    Run in the folder data. Reads params.yaml there (corpora.CORPUS: addresses, sha256, what an archive's members
    become). The environment variable DATA_MIRROR, a folder or the start of a URL, is looked at first, for
    DATA_MIRROR/CORPUS/NAME-OF-THE-FILE. Where the entry has no sha256, the first download records it in checksums.json
    and later ones must match it.

    Writes

        data/CORPUS/SPLIT.LANGUAGE   one sentence per line; all languages of a split have equally many
        data/checksums.json          recorded checksums, kept in git

    Example: PYTHONPATH=../src:.. DATA_MIRROR=/mirror python -m stages.download multi30k
    """
    download_corpus(Path(), corpus, mirror=os.environ.get("DATA_MIRROR") or None)


if __name__ == "__main__":
    run(main)
