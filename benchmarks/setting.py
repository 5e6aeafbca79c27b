"""The text of all measurements: Multi30k, prepared in runs/speed by the project's stages; torch is not imported."""

import shutil
from pathlib import Path

from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.catalogue import read_entry
from context_nmt.corpus.download import make_corpus
from context_nmt.corpus.fetching import data_mirror
from context_nmt.corpus.subwords import segment_corpus
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.progress import say
from context_nmt.settings.parameters import Experiment

PARAMETERS = Path(__file__).with_name("params.yaml")
ROOT = PARAMETERS.parents[1]
EXPERIMENT = Experiment(ROOT / "runs" / "speed")


def prepare() -> None:
    """Prepare the text once; raise UserError if it is missing and cannot be downloaded."""
    if not EXPERIMENT.parameters.is_file() or EXPERIMENT.parameters.read_bytes() != PARAMETERS.read_bytes():
        shutil.rmtree(EXPERIMENT.folder / "runs", ignore_errors=True)  # the downloaded text stays
        EXPERIMENT.folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PARAMETERS, EXPERIMENT.parameters)
    settings = EXPERIMENT.settings
    if not EXPERIMENT.corpus.is_dir():
        entry = read_entry(ROOT / "data/params.yaml", settings.corpus.name)
        make_corpus(entry, EXPERIMENT.corpus, checksums=ROOT / "data/checksums.json", mirror=data_mirror())
    if not EXPERIMENT.binarized.is_dir():
        say("preparing Multi30k")
        tokenize_corpus(EXPERIMENT.corpus, EXPERIMENT.tokenized, settings.corpus, settings.text)
        segment_corpus(EXPERIMENT.tokenized, EXPERIMENT.subwords, settings.corpus, settings.units)
        binarize(EXPERIMENT.subwords, EXPERIMENT.binarized, settings.corpus, settings.units)


def corpus() -> BinarizedCorpus:
    """Return the binarized text."""
    return BinarizedCorpus(EXPERIMENT.binarized)


def text_files() -> list[str]:
    """Return the names of all text files."""
    settings = EXPERIMENT.settings.corpus
    splits = (settings.train, settings.validation, *settings.tests)
    return [f"{split}.{language}" for split in splits for language in (settings.source, settings.target)]
