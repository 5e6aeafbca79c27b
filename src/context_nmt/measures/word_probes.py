"""Lexical probes: the accuracy of predicting a unit from a layer's state at its position (Emelin et al. 2019).

Each layer of each stack has a classifier: D -> 512 with ReLU and dropout 0.5 -> units, without output bias. Adam trains
it on training text, with its own early stopping. In the decoder, the unit at a position is the input, not the next
unit. The classes are the units of the training sentences; any other unit of a test set counts as wrong. BEGIN and END
are left out, since they are always predicted. The authors' code has all units as classes, trains on the whole corpus
and shuffles the tokens of many sentences; here, a batch has whole sentences.

The encoder reads the source and END. The decoder reads the reference: after BEGIN in an autoregressive model, without
masks in a masked model. A model that uses previous sentences is given none here. Layer 0 is the embeddings with
positions, the last layer is the output of the final norm, and any other layer is the output of its feed-forward
sublayer, including the residual.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from context_nmt.corpus.batching import Indices
from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING, Vocabulary
from context_nmt.decoding.in_batches import evaluation_mode
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.parts_of_speech import TaggedWord, Tags, find_tags, tagged_words
from context_nmt.measures.probe import Probe
from context_nmt.measures.recording import recording
from context_nmt.measures.rows import Row, row, write_rows
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.evaluation import WordClassifierSettings
from context_nmt.settings.run_layout import run_name
from context_nmt.training.batches import Pairs

STACKS = ("encoder", "decoder")
LONGEST_TRAINING_SENTENCE = 100  # maximum number of units in a training sentence, on either side
NO_UNIT_CLASS = -1
NUMBER_OF_BINS = 10  # groups of unit types by frequency
WORD_CLASSES = {"NOUN": "N", "VERB": "V", "ADJ/ADV": "JJ|RB|ADJ|ADV$"}  # by the beginning of tags
BATCH_TOKENS = 4096  # in a batch of a test set, including padding


@dataclass(frozen=True)
class StackStates:
    """The states of one stack for B sentences."""

    states: tuple[Tensor, ...]  # [B, T, D] each: [0] embeddings, [-1] the stack's output
    ids: Tensor  # [B, T], the input unit at each position
    real: Tensor  # bool [B, T], True = a unit of the text: not BEGIN, END or padding


def read_states(model: Model, pairs: Pairs, numbers: Indices) -> dict[str, StackStates]:
    """Return the states of both stacks for the sentence pairs with these numbers."""
    batch = pairs.load(numbers).to(next(model.parameters()).device)
    inputs = batch.targets if isinstance(model, MaskedLanguageModel) else batch.target_inputs
    inner = [f"decoder.layers.{number}.feed_forward" for number in range(len(model.decoder.layers) - 1)]
    names = ["target_embedding", *inner, "decoder.final_norm"]
    with evaluation_mode(model):
        memory = model.encode(batch.source)
        with recording(model, names) as outputs:
            model.decode(inputs, memory)
    states = {"encoder": (memory.states, batch.source), "decoder": (tuple(outputs[name] for name in names), inputs)}
    return {
        # clones, since tensors made in inference mode cannot be used in training
        stack: StackStates(
            tuple(state.clone() for state in layers), ids, (ids != PADDING) & (ids != BEGIN) & (ids != END)
        )
        for stack, (layers, ids) in states.items()
    }


def cosines(layers: StackStates) -> list[tuple[Tensor, Tensor]]:
    """Return, for each layer from 1, its cosines to layer 0: of all real positions [N], and of all sentences [B].

    The code of Emelin et al. (2019, figures 6 and 7) concatenates the states of all positions of a sentence into one
    vector. BEGIN and END are left out here.
    """
    embeddings, has_units = layers.states[0].double(), layers.real.any(1)
    pairs = []
    for states in (layer_states.double() for layer_states in layers.states[1:]):
        products, embedding_norms, state_norms = (
            (left * right).sum(-1) * layers.real  # [B, T], 0 where there is no unit
            for left, right in ((embeddings, states), (embeddings, embeddings), (states, states))
        )
        tokens = products[layers.real] / (embedding_norms[layers.real] * state_norms[layers.real]).sqrt()
        sums = [values[has_units].sum(1) for values in (products, embedding_norms, state_norms)]  # [B] each
        pairs.append((tokens, sums[0] / (sums[1] * sums[2]).sqrt()))
    return pairs


def make_word_probe(width: int, classes: int, settings: WordClassifierSettings, device: torch.device) -> Probe:
    """Make the word classifier of one layer (Emelin et al. 2019)."""
    classifier = nn.Sequential(
        nn.Linear(width, settings.hidden_width),
        nn.ReLU(),
        nn.Dropout(settings.dropout),
        nn.Linear(settings.hidden_width, classes, bias=False),
    ).to(device)
    betas = (0.9, settings.adam_beta2)
    optimizer = torch.optim.Adam(classifier.parameters(), settings.learning_rate, betas, settings.adam_epsilon)
    return Probe(classifier, optimizer, settings.patience)


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
        training = Pairs(*corpus.parallel(corpus.train), maximum_length=LONGEST_TRAINING_SENTENCE).sample(
            settings.training_sentences
        )
        validation = Pairs(*corpus.parallel(corpus.validation), maximum_length=None)
        self.vocabularies = {"encoder": corpus.source_vocabulary, "decoder": corpus.target_vocabulary}
        self.classes: dict[str, Tensor] = {}
        self.bins: dict[str, NDArray[np.int64]] = {}
        self.probes: dict[str, list[Probe]] = {}
        torch.manual_seed(settings.seed)
        width = model.source_embedding.table.embedding_dim
        for stack, side in (("encoder", training.source), ("decoder", training.target)):
            size, layers = len(self.vocabularies[stack]), len(getattr(model, stack).layers) + 1
            self.classes[stack] = classes = _unit_classes(side, training.kept, size).to(device)
            self.bins[stack] = frequency_bins(side, size)
            count = int(classes.max()) + 1
            self.probes[stack] = [make_word_probe(width, count, settings, device) for _ in range(layers)]
        probes = [*self.probes["encoder"], *self.probes["decoder"]]
        random = np.random.default_rng(settings.seed)
        with torch.random.fork_rng(devices=[]):
            for _ in tracked(range(settings.epochs), "lexical probes", settings.epochs, "epochs"):
                self._epoch(training, random)
                self._validate(validation)
                if not any(probe.is_improving for probe in probes):
                    break
        for probe in probes:
            probe.restore()

    def _epoch(self, training: Pairs, random: np.random.Generator) -> None:
        batches = training.batches(tokens=self.settings.batch_tokens, random=random)
        for batch in tracked(batches, "epoch", len(batches), "batches"):
            for stack, layers in read_states(self.model, training, batch).items():
                labels = self.classes[stack][layers.ids[layers.real]]
                for probe, states in zip(self.probes[stack], layers.states, strict=True):
                    if probe.is_improving:
                        probe.update(states[layers.real], labels)

    def _validate(self, validation: Pairs) -> None:
        hits: dict[str, list[NDArray[np.bool_]]] = {stack: [] for stack in STACKS}
        for batch in validation.batches(tokens=self.settings.batch_tokens):
            for stack, layers in read_states(self.model, validation, batch).items():
                hits[stack].append(self.is_correct(stack, layers))
        for stack, batches in hits.items():
            for probe, accuracy in zip(self.probes[stack], np.concatenate(batches, axis=1).mean(axis=1), strict=True):
                if probe.is_improving:
                    probe.record_accuracy(float(accuracy))

    def is_correct(self, stack: str, layers: StackStates) -> NDArray[np.bool_]:
        """Return whether each layer predicts the unit at each of N real positions, by sentence, [layers, N]."""
        labels = self.classes[stack][layers.ids[layers.real]]
        probes = zip(self.probes[stack], layers.states, strict=True)
        return torch.stack([probe.is_correct(states[layers.real], labels) for probe, states in probes]).cpu().numpy()

    def rows(self, test: str, tags: Mapping[str, Tags | None]) -> Iterator[Row]:
        """Measure one test set by layer; STACK is encoder or decoder, and `tags` has the tags of its words.

        lexical_STACK                accuracy of the layer's classifier for all units, in per cent
        lexical_STACK_by_frequency   the same by frequency bin, from 1 (the rarest types) to 10
        lexical_STACK_by_tag         the same by the tag of the unit's word, if it is known
        lexical_STACK_by_word_class  per cent of the words of a class of which some unit is predicted, as in the paper's
                                     code
        cosine_STACK_tokens          mean cosine of the layer's states and the embeddings
        cosine_STACK_sentences       the same, with the concatenated states of each sentence
        """
        pairs = Pairs(*self.corpus.parallel(test), maximum_length=None)
        words_by_stack = {
            stack: words_of_units(side, self.vocabularies[stack], stack_tags)
            for stack, side in {"encoder": pairs.source, "decoder": pairs.target}.items()
            if (stack_tags := tags[stack])
        }
        hits: dict[tuple[str, str], list[NDArray[np.bool_]]] = defaultdict(list)  # by metric and tag
        cosines_by_layer: dict[tuple[str, int], list[float]] = defaultdict(list)  # by metric and layer
        batches = pairs.batches(tokens=BATCH_TOKENS)
        for batch in tracked(batches, test, len(batches), "batches"):
            for stack, layers in read_states(self.model, pairs, batch).items():
                is_correct = self.is_correct(stack, layers)
                hits[f"lexical_{stack}", ""].append(is_correct)
                bins = self.bins[stack][layers.ids[layers.real].cpu().numpy()]
                for number in np.unique(bins[bins > 0]):
                    hits[f"lexical_{stack}_by_frequency", str(number)].append(is_correct[:, bins == number])
                if stack in words_by_stack:
                    starts = accumulate(layers.real.sum(1).tolist(), initial=0)
                    words = [
                        TaggedWord(first + start, first + end, tag)
                        for number, first in zip(batch, starts, strict=False)
                        for start, end, tag in words_by_stack[stack][number]
                    ]
                    tagged = np.full(is_correct.shape[1], "", dtype=object)
                    for word in words:
                        tagged[word.start : word.end] = word.tag
                        is_word_predicted = np.logical_or.reduce(
                            is_correct[:, word.start : word.end], axis=1, keepdims=True
                        )
                        hits[f"lexical_{stack}_by_word_class", word_class(word.tag)].append(is_word_predicted)
                    for tag in dict.fromkeys(word.tag for word in words):
                        hits[f"lexical_{stack}_by_tag", tag].append(is_correct[:, tagged == tag])
                for number, (tokens, sentences) in enumerate(cosines(layers), start=1):
                    cosines_by_layer[f"cosine_{stack}_tokens", number] += tokens.tolist()
                    cosines_by_layer[f"cosine_{stack}_sentences", number] += sentences.tolist()
        for (metric, tag), metric_hits in hits.items():
            is_predicted = np.concatenate(metric_hits, axis=1)  # [layers, N]
            for layer, accuracy in enumerate(is_predicted.mean(axis=1) if is_predicted.size else ()):
                yield row(test, metric, round(100 * float(accuracy), 6), layer=layer, tag=tag)
        for (metric, layer), values in cosines_by_layer.items():
            if values:
                yield row(test, metric, round(fmean(values), 6), layer=layer)


def _unit_classes(side: TokenFile, chosen: NDArray[np.int64], vocabulary: int) -> Tensor:
    """Return the class of every id [V]: a number for each id in the chosen sentences, NO_UNIT_CLASS for all others."""
    seen = np.unique(np.concatenate([side[number] for number in chosen]))
    classes = torch.full((vocabulary,), NO_UNIT_CLASS)
    classes[torch.from_numpy(seen.astype(np.int64))] = torch.arange(len(seen))
    return classes


def frequency_bins(training: TokenFile, vocabulary: int) -> NDArray[np.int64]:
    """Return the frequency bin of every id [V]; bins, from 1 (the rarest), have equal numbers of types if possible.

    Among types of equal frequency, those later in the vocabulary count as rarer. Types that do not occur in the
    training text are in bin 0.
    """
    counts = np.bincount(np.concatenate([training[number] for number in range(len(training))]), minlength=vocabulary)
    seen = np.flatnonzero(counts)
    bins = np.zeros(vocabulary, dtype=np.int64)
    for number, types in enumerate(np.array_split(seen[np.lexsort((-seen, counts[seen]))], NUMBER_OF_BINS), start=1):
        bins[types] = number
    return bins


def words_of_units(side: TokenFile, vocabulary: Vocabulary, tags: Tags) -> list[list[TaggedWord]]:
    """Return the words of each sentence with their units; a sentence whose tags do not match its words has none."""
    return [
        tagged_words(vocabulary, [vocabulary.units[unit_id] for unit_id in side[number]], tokens, sentence_tags)
        for number, (tokens, sentence_tags) in enumerate(zip(tags.tokens, tags.sentences, strict=True))
    ]


def word_class(tag: str) -> str:
    """Return NOUN, VERB, ADJ/ADV or OTHER for a tag of the Penn Treebank or STTS, as the paper's code does."""
    return next((name for name, pattern in WORD_CLASSES.items() if re.match(pattern, tag)), "OTHER")
