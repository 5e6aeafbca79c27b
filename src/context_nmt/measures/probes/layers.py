"""What is measured of every layer of one run's two stacks: lexical probes, by frequency and by tag, and cosines."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import Vocabulary
from context_nmt.decoding.in_batches import evaluating
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.parts_of_speech import Tags, find_tags
from context_nmt.measures.probes.similarity import cosines
from context_nmt.measures.probes.states import STACKS, read_layers
from context_nmt.measures.probes.unit_groups import frequency_bins, unit_tags
from context_nmt.measures.probes.words import WordProbes, batches
from context_nmt.measures.rows import Row, row, write_rows
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import device_named
from context_nmt.settings.checking import read_plan
from context_nmt.settings.evaluation import WordClassifierSettings
from context_nmt.settings.layout import run_name

TOKENS = 4096  # of a batch, padding included


def probe_words(experiment: Evaluated, variant: str, seed: int, *, device: str) -> None:
    """Write what lexical probes find in one run, see `Measuring`; raises UserError for missing files.

    Nothing is said by tag where there are neither gold tags nor a tagger.
    """
    run = run_name(variant, seed)
    corpus = BinarizedCorpus(experiment.binarized)
    model = load_run(experiment.model(run), device_named(device), corpus)
    probes = WordProbes(model, corpus, read_plan(WordClassifierSettings, experiment.stage_plan("probe_words")))
    measuring = Measuring(probes, corpus)
    rows: list[Row] = []
    for test in corpus.tests:
        tags = [find_tags(experiment, test, language) for language in (corpus.source, corpus.target)]
        rows += measuring.rows(test, dict(zip(STACKS, tags, strict=True)))
    write_rows(experiment.word_probes(run), run, rows)


class Measuring:
    """Metrics by layer; STACK is encoder or decoder.

    lexical_STACK                per cent of all units that the layer's classifier finds
    lexical_STACK_by_frequency   the same by bin, from 1, the rarest types, to 10
    lexical_STACK_by_tag         the same by the tag of the unit's word
    cosine_STACK_tokens          mean cosine of the layer's states and the embeddings
    cosine_STACK_sentences       the same with a sentence's states as one vector
    """

    def __init__(self, probes: WordProbes, corpus: BinarizedCorpus) -> None:
        self.probes, self.corpus = probes, corpus
        vocabularies = (corpus.source_vocabulary, corpus.target_vocabulary)
        self.vocabularies: dict[str, Vocabulary] = dict(zip(STACKS, vocabularies, strict=True))
        self.bins = {
            stack: frequency_bins(side, len(self.vocabularies[stack]))
            for stack, side in zip(STACKS, corpus.parallel(corpus.train), strict=True)
        }

    def rows(self, test: str, tags: Mapping[str, Tags | None]) -> Iterator[Row]:
        """Measure one test set; `tags` are those of what each stack reads."""
        pairs = self.corpus.parallel(test)
        tags_of = {
            stack: unit_tags(side, self.vocabularies[stack], own.sentences)
            for stack, side in zip(STACKS, pairs, strict=True)
            if (own := tags[stack])
        }
        accuracies: dict[tuple[str, str], list[NDArray[np.bool_]]] = defaultdict(list)  # by metric and tag
        angles: dict[tuple[str, int], list[float]] = defaultdict(list)  # by metric and layer
        for batch in batches(pairs, np.arange(len(pairs[0])), TOKENS):
            with evaluating(self.probes.model):
                read = read_layers(self.probes.model, pairs, batch)
            for stack, layers in read.items():
                right = self.probes.right(stack, layers)
                ids = layers.ids[layers.real].cpu().numpy()
                tagged = None
                if stack in tags_of:
                    tagged = np.array([tag or "" for number in batch for tag in tags_of[stack][number]])
                for name, chosen in self._groups(stack, ids, tagged):
                    accuracies[name].append(right[:, chosen])
                for number, (tokens, sentences) in enumerate(cosines(layers), start=1):
                    angles[f"cosine_{stack}_tokens", number] += tokens.tolist()
                    angles[f"cosine_{stack}_sentences", number] += sentences.tolist()
        for (metric, tag), parts in accuracies.items():
            for layer, share in enumerate(np.concatenate(parts, axis=1).mean(axis=1)):
                yield row(test, metric, round(100 * float(share), 6), layer=layer, tag=tag)
        for (metric, layer), values in angles.items():
            if values:
                yield row(test, metric, round(fmean(values), 6), layer=layer)

    def _groups(
        self, stack: str, ids: NDArray[np.int64], tags: NDArray[np.str_] | None
    ) -> Iterator[tuple[tuple[str, str], NDArray[np.bool_]]]:
        """The groups that N units are in, as metric and tag, each with which of them are, bool [N]."""
        if not len(ids):
            return
        yield (f"lexical_{stack}", ""), np.ones(len(ids), dtype=np.bool_)
        bins = self.bins[stack][ids]
        for number in np.unique(bins[bins > 0]):
            yield (f"lexical_{stack}_by_frequency", str(number)), bins == number
        if tags is not None:
            for tag in np.unique(tags[tags != ""]):
                yield (f"lexical_{stack}_by_tag", str(tag)), tags == tag
