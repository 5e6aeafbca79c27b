"""Translate documents with several systems and record what each of them looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

from context_nmt.corpus.binarized import BinarizedCorpus, Ids
from context_nmt.explorer.data import Explored
from context_nmt.models.model import Model
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.folder import Experiment


@dataclass(frozen=True, kw_only=True)
class System:
    """A trained run, loaded once."""

    name: str  # VARIANT-SEED
    label: str
    model: Model
    settings: DecodingSettings


@dataclass(frozen=True, kw_only=True)
class Text:
    """Sentences to explore; `Text(title=…, sources=…)` is one document without references."""

    title: str
    sources: Sequence[Ids]
    references: Sequence[Ids] | None = None
    documents: list[range] | None = None  # the sentences of each document; None = all are one document
    lines: Sequence[int] | None = None  # of each sentence, from 1; None = 1, 2, …
    candidates: Sequence[Ids] = ()  # translations of the last sentence to score, the right one first


def load_systems(experiment: Experiment, runs: Sequence[str], corpus: BinarizedCorpus, device: str) -> list[System]:
    """Load runs, named VARIANT-SEED; raise UserError for unknown ones, and for vocabularies unlike the corpus's."""
    raise NotImplementedError


def explore(
    systems: Sequence[System],
    text: Text,
    corpus: BinarizedCorpus,
    *,
    progress: bool = False,
) -> Explored:
    """Translate a text with each system, and record the attention, gates and iterations of each translation.

    The corpus gives languages and vocabularies; that of a run's text folder (`TextChain.corpus`) does, too. An
    autoregressive model reads its own translation, and its translations of previous sentences, or their references if
    `decoding.reference_context` says so and there are any. Raise UserError for sentences that are too long for a model.
    """
    raise NotImplementedError
