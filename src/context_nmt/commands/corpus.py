"""Find, download, describe and sample corpora."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import application
from context_nmt.files import UserError

Folder = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="The corpus's folder, with SPLIT.LANGUAGE for each split and side.")
]
JsonFile = Annotated[Path | None, typer.Option(help="Write JSON to this file instead of printing tables.")]


def describe(corpus: Folder, json: JsonFile = None) -> None:
    """Show the size of a corpus and how often it requires context.

    Sizes, lengths and the overlap with the training set need only the text. For the miniature, the command also shows
    rates of pronouns, ambiguous words and clauses, sizes of contrastive sets and probing tasks, and the scores of
    SPLIT.bound.LANGUAGE: correct translations that make the choice that is most frequent in training wherever the
    sentence is ambiguous.

        Reads    CORPUS/SPLIT.LANGUAGE      text, one sentence per line
                 CORPUS/SPLIT.gold.jsonl    annotation of each sentence of the miniature
        Writes   standard output            tables
                 --json                     the same numbers, instead of tables
        Example  context-nmt corpus describe data/miniature
    """
    from context_nmt.files import write_json
    from context_nmt.measures.corpus_description import describe_corpus, print_description

    _check_ending(json)
    description = describe_corpus(corpus)
    if json is not None:
        write_json(json, description)
    else:
        print_description(description)


def sample(
    corpus: Folder,
    split: Annotated[str, typer.Option(help="The split to show.")] = "test",
    documents: Annotated[
        int, typer.Option(help="Number of documents, or of sentences if the corpus has no documents.")
    ] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the random choice.")] = 1,
) -> None:
    """Show documents in both languages, as Markdown.

    The documents are drawn at random. If there is gold annotation, pronouns are marked with their antecedent and its
    distance in sentences, and ambiguous words with their sense, their cue and the wrong translation.

        Reads    CORPUS/SPLIT.LANGUAGE      text, one sentence per line
                 CORPUS/SPLIT.documents     where documents start, if the corpus has it
                 CORPUS/SPLIT.gold.jsonl    gold annotation, if the corpus has it
        Writes   standard output            the documents
        Example  context-nmt corpus sample data/miniature --documents 50
    """
    from context_nmt.corpus.samples import sample_documents

    for line in sample_documents(corpus, split=split, documents=documents, seed=seed):
        print(line)


def download(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An entry of data/params.yaml.")],
) -> None:
    """Download or generate a corpus.

    This needs no experiment; an experiment downloads the corpora that are listed under `download` in its params.yaml.
    The environment variable DATA_MIRROR, a folder or the start of a URL, is tried first. Files that must be fetched by
    hand have to exist before anything is downloaded. Corpora with the same address share one download.

        Reads    data/params.yaml       addresses, checksums, formats; sizes and rates of generated corpora
        Writes   data/NAME/             SPLIT.LANGUAGE and other files of the corpus
                 data/.downloads/       the downloaded files; delete it when no other corpus needs them
                 data/checksums.json    checksums that are not in data/params.yaml, once the corpus is complete
        Example  context-nmt corpus download multi30k
    """
    from context_nmt.corpus.catalogue import CorpusEntry, read_entry
    from context_nmt.corpus.download import make_corpus
    from context_nmt.corpus.fetching import data_mirror
    from context_nmt.progress import say

    entry = read_entry(_catalogue(), name)
    folder = Path("data") / name
    mirror = data_mirror()
    say(f"{name}: {'downloading' if isinstance(entry, CorpusEntry) else 'generating'}")
    make_corpus(entry, folder, checksums=Path("data/checksums.json"), mirror=mirror)
    say(f"written: {folder}")


def status(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show only this corpus.")] = None,
    json: JsonFile = None,
) -> None:
    """Show which corpora are available, and how to get the others.

    A corpus is available if it is in data/ or in the folder of an experiment. Any other corpus can be generated,
    downloaded, or taken from the folder or address in the environment variable DATA_MIRROR; an address is not queried.
    With NAME, the command lists the steps for files that must be fetched by hand, to accept a licence or to register.

    The number of sentences counts SPLIT.LANGUAGE in all splits, without contrastive sets and annotation. For a corpus
    that is not available, the size is what is still to be downloaded, as far as it is known, without test sets of the
    sacrebleu package.

        Reads    data/params.yaml    all corpora, with their licences
                 data/NAME/          the available corpora, also in experiments/EXPERIMENT/data/
        Writes   standard output     a line for each corpus: where it is, its size and licence; for NAME, the steps
                 --json              the same with all steps, instead of lines
        Example  context-nmt corpus status
    """
    from context_nmt.corpus.fetching import data_mirror
    from context_nmt.corpus.status import find_corpora, print_status
    from context_nmt.files import write_json

    _check_ending(json)
    corpora = find_corpora(_catalogue(), name, mirror=data_mirror())
    if json is not None:
        write_json(json, corpora)
    else:
        print_status(corpora, Path("data/.downloads"), steps=name is not None)


def _check_ending(json: Path | None) -> None:
    """Raise UserError if the file of --json does not end in .json; it could be a text of the corpus."""
    if json is not None and json.suffix != ".json":
        raise UserError(f"--json is {json}; its name must end in .json")


def _catalogue() -> Path:
    """Return data/params.yaml; raise UserError if the current folder does not have it."""
    path = Path("data/params.yaml")
    if not path.is_file():
        raise UserError(f"{path}: no such file; run this in the project's folder")
    return path


corpus = application(describe, sample, download, status, help="Find, download, describe or sample a corpus.")
