"""Translate documents with several systems and record what each system looks at."""

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
from context_nmt.decoding.in_batches import check_positions, evaluation_mode, lengths_of
from context_nmt.decoding.linear_maps import prepared_weights
from context_nmt.decoding.translating import translate_ids
from context_nmt.explorer import attention
from context_nmt.explorer.attention import MASK_TEXT, Vocabularies
from context_nmt.explorer.page import Candidate, ExploredText, Run, Sentence, Side, Translation
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
from context_nmt.settings.run_layout import split_run_name


@dataclass(frozen=True, kw_only=True)
class System:
    """A trained run, loaded once."""

    name: str  # VARIANT-SEED
    label: str
    model: Model
    settings: DecodingSettings


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Sentences to explore; `Passage(title=…, sources=…)` is a single document without references."""

    title: str
    sources: Sequence[Ids]
    references: Sequence[Ids] | None = None
    documents: list[range] | None = None  # the sentences of each document; None = a single document
    lines: Sequence[int] | None = None  # of each sentence, from 1; None = 1, 2, …
    candidates: Sequence[Ids] = ()  # translations of the last sentence to score, the right one first

    def last_sentence(self) -> "Passage":
        """Return a passage of only the last sentence."""
        references, lines = self.references and self.references[-1:], self.lines and self.lines[-1:]
        return replace(self, sources=self.sources[-1:], references=references, lines=lines, documents=None)


def load_systems(experiment: Experiment, runs: Sequence[str], corpus: BinarizedCorpus, device: str) -> list[System]:
    """Load trained runs, named VARIANT-SEED; raise UserError if their vocabularies differ from the corpus's."""
    torch_device = device_named(device)
    systems = []
    for run in runs:
        variant, _ = split_run_name(run)
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
) -> ExploredText:
    """Translate a passage with each system, and record attention, gates and iterations of each translation.

    The corpus gives languages and vocabularies; it may be the one of a run's text folder (`TextChain.corpus`). An
    autoregressive model reads its own translation. As previous sentences it sees its own translations, or the
    references if `decoding.reference_context` is set or the passage has candidates. Raise UserError for a sentence that
    is longer than a system's position table.
    """
    for system in systems:  # before any system translates
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
    return ExploredText(
        title=passage.title,
        languages=languages,
        select=None,
        pronouns={side: PRONOUNS.get(language, "").split() for side, language in languages.items()},
        sentences=sentences,
        runs=[
            Run(name=system.name, label=system.label, sentences=_translate(system, passage, vocabularies, progress))
            for system in systems
        ],
    )


def _translate(system: System, passage: Passage, vocabularies: Vocabularies, progress: bool) -> list[Translation]:
    is_masked = isinstance(system.model, MaskedLanguageModel)
    translate = _translate_masked if is_masked else _translate_autoregressive
    translations = list(translate(system, passage, vocabularies, system.name if progress else None))
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
        translations[-1] = replace(translations[-1], scores=scores)
    return translations


def _translate_autoregressive(
    system: System, passage: Passage, vocabularies: Vocabularies, progress: str | None
) -> Iterator[Translation]:
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
    seen_targets = references if references is not None and sees_targets else translations
    before, words = sentences_before(documents, len(sources)), vocabularies["target"].words
    with evaluation_mode(model), recording(model, attention.names_to_record(model)) as outputs:
        for number in tracked(range(len(sources)), progress, len(sources), "sentences"):
            # previous sentences are concatenated with this one, or are further rows of the batch, or are not read
            rows, previous = with_previous(
                np.array([number]),
                before,
                context_sentences=model.context_sentences,
                receptive_sentences=model.receptive_sentences,
            )
            first = number - int(before[number])
            input_sources = sources[max(first, number - model.previous_sources) : number + 1]
            input_targets = [*seen_targets[max(first, number - model.previous_targets) : number], translations[number]]
            arrays = (
                pad([join_sentences(input_sources), *(sources[row] for row in rows[1:])], last=END),
                pad([join_sentences(input_targets), *(seen_targets[row] for row in rows[1:])], first=BEGIN),
                previous,
            )
            model.predict(*(torch.from_numpy(ids).to(device) for ids in arrays))
            axes = attention.autoregressive_axes(input_sources, input_targets, vocabularies)
            previous_sentences: dict[Side, Sequence[Ids]] = {
                "source": sources[first:number],
                "target": seen_targets[first:number],
            }
            yield Translation(
                target=words(translations[number]),
                seen_target=None if seen_targets is translations else words(seen_targets[number]),
                views=attention.collect_views(model, outputs, axes),
                gates=attention.collect_gates(model, outputs, axes),
                earlier=attention.collect_earlier(
                    model, outputs, axes, previous_sentences, vocabularies, rows=len(rows), first=first
                ),
            )


def _translate_masked(
    system: System, passage: Passage, vocabularies: Vocabularies, progress: str | None
) -> Iterator[Translation]:
    model, settings = system.model, system.settings
    assert isinstance(model, MaskedLanguageModel)
    read: list[Tensor] = []
    with (
        evaluation_mode(model),
        prepared_weights(model, settings.precision),  # as in translate_ids
        recording(model, attention.names_to_record(model)) as outputs,
    ):
        for ids in tracked(passage.sources, progress, len(passage.sources), "sentences"):
            source = torch.from_numpy(pad([ids], last=END)).to(model.output.weight.device)
            # only the best translation's length, so that the last recorded outputs are those of this translation
            lengths = masked_search.best_lengths(model, source, settings)
            read.clear()
            hook = model.target_embedding.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0][0]))
            try:
                produced, _ = masked_search.mask_predict(model, model.encode(source), lengths, settings.iterations)
            finally:
                hook.remove()
            axes = attention.masked_axes(ids, read[-1].cpu().numpy(), produced[0].cpu().numpy(), vocabularies)
            iterations = [_words_and_masks(units.tolist(), vocabularies["target"]) for units in [*read, produced[0]]]
            yield Translation(
                target=iterations[-1],
                iterations=iterations,
                views=attention.collect_views(model, outputs, axes),
                gates=attention.collect_gates(model, outputs, axes),
            )


def _words_and_masks(ids: list[int], vocabulary: Vocabulary) -> list[str]:
    """Return the words of a sentence; units between two masks make words of their own."""
    words = []
    for is_mask, group in groupby((unit for unit in ids if unit != END), key=lambda unit: unit == MASK):
        units = list(group)
        words += [MASK_TEXT] * len(units) if is_mask else vocabulary.words(units)
    return words
