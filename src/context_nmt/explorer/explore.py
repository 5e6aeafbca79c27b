"""Translate documents with several systems and record what each of them looked at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from context_nmt.corpus.batching import join_sentences, pad, sentences_before, with_previous
from context_nmt.corpus.binarized import BinarizedCorpus, Ids
from context_nmt.corpus.vocabulary import BEGIN, END, MASK, Vocabulary
from context_nmt.decoding import masked_search
from context_nmt.decoding.forced_scoring import score_pairs
from context_nmt.decoding.in_batches import check_positions, evaluating, lengths_of
from context_nmt.decoding.linear_maps import prepared
from context_nmt.decoding.translating import translate_ids
from context_nmt.explorer import attention
from context_nmt.explorer.attention import MASK_TEXT, Vocabularies
from context_nmt.explorer.page import Candidate, Explored, Run, Sentence, Side, Translated
from context_nmt.measures.recording import recording
from context_nmt.measures.word_accuracy import PRONOUNS
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import Processes, device_named
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.parameters import Experiment


@dataclass(frozen=True, kw_only=True)
class System:
    """A trained run, loaded once."""

    name: str  # VARIANT-SEED
    label: str
    model: Model
    settings: DecodingSettings


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Sentences to explore; `Passage(title=…, sources=…)` is one document without references."""

    title: str
    sources: Sequence[Ids]
    references: Sequence[Ids] | None = None
    documents: list[range] | None = None  # the sentences of each document; None = all are one document
    lines: Sequence[int] | None = None  # of each sentence, from 1; None = 1, 2, …
    candidates: Sequence[Ids] = ()  # translations of the last sentence to score, the right one first

    def last_sentence(self) -> "Passage":
        """Return the passage without the sentences before the last."""
        references, lines = self.references and self.references[-1:], self.lines and self.lines[-1:]
        return replace(self, sources=self.sources[-1:], references=references, lines=lines, documents=None)


def load_systems(experiment: Experiment, runs: Sequence[str], corpus: BinarizedCorpus, device: str) -> list[System]:
    """Load trained runs, named VARIANT-SEED; raise UserError for vocabularies unlike the corpus's."""
    torch_device = device_named(device)
    systems = []
    for run in runs:
        variant = run.rpartition("-")[0]
        plan = experiment.with_plan_of(variant).plan(variant, "decoding")
        systems.append(
            System(
                name=run,
                label=experiment.settings.label(variant) if variant in experiment.settings.variants else variant,
                model=load_run(experiment.model(run), torch_device, corpus),
                settings=replace(read_plan(DecodingSettings, plan), n_best=1),
            )
        )
    return systems


def explore(
    systems: Sequence[System], passage: Passage, corpus: BinarizedCorpus, *, progress: bool = False
) -> Explored:
    """Translate a passage with each system, and record attention, gates and iterations of each translation.

    The corpus gives languages and vocabularies; that of a run's text folder (`TextChain.corpus`) does, too. An
    autoregressive model reads its own translation. Of previous sentences it sees its translations or, with
    `decoding.reference_context` and for candidates, the references. Raise UserError for sentences that are too long.
    """
    for system in systems:  # before any translates
        check_positions(
            system.model.source_embedding.positions, lengths_of(passage.sources), f"{system.name}: sentence"
        )
    vocabularies: Vocabularies = {"source": corpus.source_vocabulary, "target": corpus.target_vocabulary}
    languages: dict[Side, str] = {"source": corpus.source, "target": corpus.target}
    target_words = corpus.target_vocabulary.words
    lines, references = passage.lines or range(1, len(passage.sources) + 1), passage.references
    sentences = [
        Sentence(
            line=line,
            source=corpus.source_vocabulary.words(source),
            reference=target_words(references[number]) if references else None,
        )
        for number, (line, source) in enumerate(zip(lines, passage.sources, strict=True))
    ]
    if passage.candidates:
        right = passage.candidates[0]
        candidates = [Candidate(text=target_words(ids), correct=ids is right) for ids in passage.candidates]
        sentences[-1] = replace(sentences[-1], candidates=candidates)
    return Explored(
        title=passage.title,
        languages=languages,
        select=None,
        pronouns={side: PRONOUNS.get(language, "").split() for side, language in languages.items()},
        sentences=sentences,
        runs=[
            Run(name=system.name, label=system.label, sentences=_translated(system, passage, vocabularies, progress))
            for system in systems
        ],
    )


def _translated(system: System, passage: Passage, vocabularies: Vocabularies, progress: bool) -> list[Translated]:
    translate = _masked if isinstance(system.model, MaskedLanguageModel) else _autoregressive
    translated = list(translate(system, passage, vocabularies, system.name if progress else None))
    if passage.candidates:
        assert passage.references is not None
        count, context = len(passage.candidates), zip(passage.sources[:-1], passage.references[:-1], strict=True)
        scores = score_pairs(
            system.model,
            [passage.sources[-1]] * count,
            passage.candidates,
            contexts=[list(context)] * count,
            processes=Processes(workers=1),
        )
        translated[-1] = replace(translated[-1], scores=scores)
    return translated


def _autoregressive(
    system: System, passage: Passage, vocabularies: Vocabularies, progress: str | None
) -> Iterator[Translated]:
    model, device, sources = system.model, system.model.device, passage.sources
    documents = passage.documents or [range(len(sources))]
    references = passage.references if system.settings.reference_context or passage.candidates else None
    hypotheses = translate_ids(
        model,
        sources,
        system.settings,
        documents=documents,
        references=references,
        progress=progress,
        processes=Processes(workers=1),
    )
    translations = [np.array(best.tokens, dtype=np.int64) for best, *_ in hypotheses]
    sees_targets = model.in_documents or model.previous_targets > 0
    seen = references if references is not None and sees_targets else translations
    before, words = sentences_before(documents, len(sources)), vocabularies["target"].words
    with evaluating(model), recording(model, attention.names_shown(model)) as outputs:
        for number in tracked(range(len(sources)), progress, len(sources), "sentences"):
            # previous sentences are joined with this one, or are further rows of the batch, or neither
            rows, previous = with_previous(np.array([number]), before, sentences=model.sentences, reach=model.reach)
            first = number - int(before[number])
            own_sources = sources[max(first, number - model.previous_sources) : number + 1]
            own_targets = [*seen[max(first, number - model.previous_targets) : number], translations[number]]
            ids = (
                pad([join_sentences(own_sources), *(sources[row] for row in rows[1:])], last=END),
                pad([join_sentences(own_targets), *(seen[row] for row in rows[1:])], first=BEGIN),
                previous,
            )
            model.predict(*(torch.from_numpy(one).to(device) for one in ids))
            axes = attention.autoregressive_axes(own_sources, own_targets, vocabularies)
            sentences_seen: dict[Side, Sequence[Ids]] = {"source": sources[first:number], "target": seen[first:number]}
            yield Translated(
                target=words(translations[number]),
                seen_target=None if seen is translations else words(seen[number]),
                views=attention.views(model, outputs, axes),
                gates=attention.gates(model, outputs, axes),
                earlier=attention.earlier(
                    model, outputs, axes, sentences_seen, vocabularies, rows=len(rows), first=first
                ),
            )


def _masked(system: System, passage: Passage, vocabularies: Vocabularies, progress: str | None) -> Iterator[Translated]:
    model, settings = system.model, system.settings
    assert isinstance(model, MaskedLanguageModel)
    read: list[Tensor] = []
    with (
        evaluating(model),
        prepared(model, settings.precision),  # as translate_ids
        recording(model, attention.names_shown(model)) as outputs,
    ):
        for ids in tracked(passage.sources, progress, len(passage.sources), "sentences"):
            source = torch.from_numpy(pad([ids], last=END)).to(model.output.weight.device)
            lengths = masked_search.best_lengths(model, source, settings)  # so that the last outputs are of the best
            read.clear()
            hook = model.target_embedding.register_forward_pre_hook(lambda _, given: read.append(given[0][0]))
            try:
                produced, _ = masked_search.mask_predict(model, model.encode(source), lengths, settings.iterations)
            finally:
                hook.remove()
            axes = attention.masked_axes(ids, read[-1].cpu().numpy(), produced[0].cpu().numpy(), vocabularies)
            iterations = [_words_and_masks(step.tolist(), vocabularies["target"]) for step in [*read, produced[0]]]
            yield Translated(
                target=iterations[-1],
                iterations=iterations,
                views=attention.views(model, outputs, axes),
                gates=attention.gates(model, outputs, axes),
            )


def _words_and_masks(ids: list[int], vocabulary: Vocabulary) -> list[str]:
    """Return the words of a sentence; what is between two masks is a word of its own."""
    words = []
    for is_mask, group in groupby((unit for unit in ids if unit != END), key=lambda unit: unit == MASK):
        units = list(group)
        words += [MASK_TEXT] * len(units) if is_mask else vocabulary.words(units)
    return words
