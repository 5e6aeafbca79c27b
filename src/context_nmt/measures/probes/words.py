"""Lexical probes: the accuracy of predicting a unit from a layer's state at its position (Emelin et al. 2019).

Each layer of each stack has a classifier, D -> 512 ReLU, dropout 0.5 -> units, without output bias, trained on training
text by Adam with its own early stopping. In the decoder, the unit at a position is the input, not the next unit. The
classes are the units of the training sentences; any other unit of a test set counts as wrong. BEGIN and END, which are
always predicted, are left out. The paper does not specify the batch size in tokens.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.corpus.vocabulary import Vocabulary
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.parts_of_speech import Tags, find_tags, tagged_words
from context_nmt.measures.probes.classifiers import word_probe
from context_nmt.measures.probes.states import STACKS, Layers, cosines, read_layers
from context_nmt.measures.rows import Row, row, write_rows
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named
from context_nmt.models.model import Model
from context_nmt.progress import tracked
from context_nmt.settings.checking import read_plan
from context_nmt.settings.evaluation import WordClassifierSettings
from context_nmt.settings.run_layout import run_name
from context_nmt.training.batches import Pairs

LONGEST = 100  # maximum number of units in a training sentence, on either side
NO_CLASS = -1
BINS = 10  # of frequencies
TOKENS = 4096  # in a batch of a test set, including padding


def probe_words(experiment: EvaluationFolder, variant: str, seed: int, *, device: str) -> None:
    """Write the rows of `WordProbes` for every test set; raise UserError for missing files."""
    run = run_name(variant, seed)
    corpus = BinarizedCorpus(experiment.binarized)
    model = load_run(experiment.model(run), device_named(device), corpus)
    probes = WordProbes(model, corpus, read_plan(WordClassifierSettings, experiment.stage_plan("probe_words")))
    rows: list[Row] = []
    for test in corpus.tests:
        languages = {"encoder": corpus.source, "decoder": corpus.target}
        tags = {stack: find_tags(experiment, test, language) for stack, language in languages.items()}
        rows += probes.rows(test, tags)
    write_rows(experiment.word_probes(run), run, rows)


class WordProbes:
    """The classifiers of all layers of a model, trained on its corpus."""

    def __init__(self, model: Model, corpus: BinarizedCorpus, settings: WordClassifierSettings) -> None:
        self.model, self.corpus, self.settings = model, corpus, settings
        device = next(model.parameters()).device
        training = Pairs(*corpus.parallel(corpus.train), maximum_length=LONGEST).sample(settings.training_sentences)
        validation = Pairs(*corpus.parallel(corpus.validation), maximum_length=None)
        self.vocabularies = {"encoder": corpus.source_vocabulary, "decoder": corpus.target_vocabulary}
        files = {"encoder": training.source, "decoder": training.target}
        sides = {stack: (side, len(self.vocabularies[stack])) for stack, side in files.items()}
        self.classes = {stack: _classes(side, training.kept, size).to(device) for stack, (side, size) in sides.items()}
        self.bins = {stack: frequency_bins(side, size) for stack, (side, size) in sides.items()}
        torch.manual_seed(settings.seed)
        width = model.source_embedding.table.embedding_dim
        self.probes = {
            stack: [
                word_probe(width, int(self.classes[stack].max()) + 1, settings, device)
                for _ in range(len(getattr(model, stack).layers) + 1)
            ]
            for stack in STACKS
        }
        probes = [probe for stack_probes in self.probes.values() for probe in stack_probes]
        random = np.random.default_rng(settings.seed)
        with torch.random.fork_rng(devices=[]):
            for _ in tracked(range(settings.epochs), "lexical probes", settings.epochs, "epochs"):
                self._epoch(training, random)
                self._validate(validation)
                if not any(probe.goes_on for probe in probes):
                    break
        for probe in probes:
            probe.restore()

    def _epoch(self, training: Pairs, random: np.random.Generator) -> None:
        batches = training.batches(tokens=self.settings.batch_tokens, random=random)
        for batch in tracked(batches, "epoch", len(batches), "batches"):
            for stack, layers in read_layers(self.model, training, batch).items():
                labels = self.classes[stack][layers.ids[layers.real]]
                for probe, states in zip(self.probes[stack], layers.states, strict=True):
                    if probe.goes_on:
                        probe.update(states[layers.real], labels)

    def _validate(self, validation: Pairs) -> None:
        hits: dict[str, list[NDArray[np.bool_]]] = {stack: [] for stack in STACKS}
        for batch in validation.batches(tokens=self.settings.batch_tokens):
            for stack, layers in read_layers(self.model, validation, batch).items():
                hits[stack].append(self.right(stack, layers))
        for stack, batches in hits.items():
            for probe, share in zip(self.probes[stack], np.concatenate(batches, axis=1).mean(axis=1), strict=True):
                if probe.goes_on:
                    probe.validated(float(share))

    def right(self, stack: str, layers: Layers) -> NDArray[np.bool_]:
        """Return whether each layer predicts the unit at each of N real positions, by sentence, [layers, N]."""
        labels = self.classes[stack][layers.ids[layers.real]]
        probes = zip(self.probes[stack], layers.states, strict=True)
        return torch.stack([probe.right(states[layers.real], labels) for probe, states in probes]).cpu().numpy()

    def rows(self, test: str, tags: Mapping[str, Tags | None]) -> Iterator[Row]:
        """Measure one test set by layer; STACK is encoder or decoder, and `tags` has the tags of its words.

        lexical_STACK                accuracy of the layer's classifier for all units, in per cent
        lexical_STACK_by_frequency   the same by frequency bin, from 1 (the rarest types) to 10
        lexical_STACK_by_tag         the same by the tag of the unit's word, if it is known
        cosine_STACK_tokens          mean cosine of the layer's states and the embeddings
        cosine_STACK_sentences       the same with the concatenated states of each sentence
        """
        pairs = Pairs(*self.corpus.parallel(test), maximum_length=None)
        tags_of = {
            stack: unit_tags(side, self.vocabularies[stack], stack_tags)
            for stack, side in {"encoder": pairs.source, "decoder": pairs.target}.items()
            if (stack_tags := tags[stack])
        }
        hits: dict[tuple[str, str], list[NDArray[np.bool_]]] = defaultdict(list)  # by metric and tag
        cosines_by_layer: dict[tuple[str, int], list[float]] = defaultdict(list)  # by metric and layer
        batches = pairs.batches(tokens=TOKENS)
        for batch in tracked(batches, test, len(batches), "batches"):
            for stack, layers in read_layers(self.model, pairs, batch).items():
                right = self.right(stack, layers)
                hits[f"lexical_{stack}", ""].append(right)
                bins = self.bins[stack][layers.ids[layers.real].cpu().numpy()]
                for number in np.unique(bins[bins > 0]):
                    hits[f"lexical_{stack}_by_frequency", str(number)].append(right[:, bins == number])
                if stack in tags_of:
                    tagged = np.array([tag for number in batch for tag in tags_of[stack][number]], dtype=np.str_)
                    for tag in np.unique(tagged[tagged != ""]):
                        hits[f"lexical_{stack}_by_tag", str(tag)].append(right[:, tagged == tag])
                for number, (tokens, sentences) in enumerate(cosines(layers), start=1):
                    cosines_by_layer[f"cosine_{stack}_tokens", number] += tokens.tolist()
                    cosines_by_layer[f"cosine_{stack}_sentences", number] += sentences.tolist()
        for (metric, tag), metric_hits in hits.items():
            is_right = np.concatenate(metric_hits, axis=1)  # [layers, N]
            for layer, share in enumerate(is_right.mean(axis=1) if is_right.size else ()):
                yield row(test, metric, round(100 * float(share), 6), layer=layer, tag=tag)
        for (metric, layer), values in cosines_by_layer.items():
            if values:
                yield row(test, metric, round(fmean(values), 6), layer=layer)


def _classes(side: TokenFile, chosen: NDArray[np.int64], vocabulary: int) -> Tensor:
    """Return the class of every id [V]: a number for each id in the chosen sentences, NO_CLASS for others."""
    seen = np.unique(np.concatenate([side[number] for number in chosen]))
    classes = torch.full((vocabulary,), NO_CLASS)
    classes[torch.from_numpy(seen.astype(np.int64))] = torch.arange(len(seen))
    return classes


def frequency_bins(training: TokenFile, vocabulary: int) -> NDArray[np.int64]:
    """Return the frequency bin of every id [V]; bins from 1, the rarest, have equal numbers of types if possible.

    Among types of equal frequency, those later in the vocabulary count as rarer. Types that do not occur in the
    training text are in bin 0.
    """
    counts = np.bincount(np.concatenate([training[number] for number in range(len(training))]), minlength=vocabulary)
    seen = np.flatnonzero(counts)
    bins = np.zeros(vocabulary, dtype=np.int64)
    for number, types in enumerate(np.array_split(seen[np.lexsort((-seen, counts[seen]))], BINS), start=1):
        bins[types] = number
    return bins


def unit_tags(side: TokenFile, vocabulary: Vocabulary, tags: Tags) -> list[list[str]]:
    """Return the tag of each unit's word, by sentence; tags are empty if words and tags of a sentence do not match."""
    tagged = []
    for number, (tokens, sentence_tags) in enumerate(zip(tags.tokens, tags.sentences, strict=True)):
        units = [vocabulary.units[unit_id] for unit_id in side[number]]
        words = tagged_words(vocabulary, units, tokens, sentence_tags)
        tagged.append([tag for start, end, tag in words for _ in range(start, end)] or [""] * len(units))
    return tagged
