"""The tables of the page that says what goes on inside systems."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Tables:
    """The tables of some metrics, one per test set, with a column per layer or per tag."""

    name: str  # of its picture
    title: str
    text: str
    column: str  # the title of a layer's or tag's
    absent: str  # said where no system has the measures
    parts: tuple[tuple[str, str], ...]  # metrics, each in a row of its own, and what is said of it there
    by: Literal["layer", "tag"] = "layer"
    wholes: tuple[tuple[str, str], ...] = ()  # further columns, of no layer: metrics ("" is the row's), titles
    counts: tuple[str, str] | None = None  # what the test set has of each tag, for titles of columns, and its unit
    of_few: bool = False  # rows that have nothing are left out
    decimals: int = 3


GATES = tuple(
    (f"gate_{place}_{side}", f"{where}, {sides}")
    for place, where in (("encoder", "encoder"), ("decoder", "decoder"), ("cross", "cross-attention"))
    for side, sides in (("query", "queries"), ("key", "keys"), ("value", "values"))
)
DIVERGENCES = tuple(
    (f"{measure}_{place}", f"{place}, {what}")
    for place in ("encoder", "decoder")
    for measure, what in (("divergence", "maxima"), ("head_divergence", "pairs of heads"))
)
TABLES = (
    Tables(
        name="locality_entropy",
        title="Locality entropy",
        text="""\
How widely the decoder's cross-attention looks over the source, in bits (Ding et al. 2020): 0 if at one unit, 3 if at
eight alike; the mean over heads, target positions and sentences. An autoregressive system is read on the reference, a
masked one in its last iteration. The mean map is that of all heads.""",
        column="layer {}",
        absent="No system shows its cross-attention.",
        parts=(("locality_entropy", ""),),
        wholes=(("", "all layers"), ("locality_entropy_of_mean_map", "all layers, mean map")),
    ),
    Tables(
        name="local_share",
        title="Local cross-attention",
        text="""\
How much of a gated system's cross-attention is local, 1 - g; the mean over heads, target positions and sentences.""",
        column="layer {}",
        absent="No system has a gate between global and local cross-attention.",
        parts=(("local_share", ""),),
        of_few=True,
    ),
    Tables(
        name="divergence",
        title="Divergence of two attentions",
        text="""\
How far the maps of the local and the global attention of a dual context are apart (Ampomah et al. 2021): the
Jensen-Shannon divergence in nats, from 0 to ln 2 = 0.693; the mean over queries and sentences. A map is the greatest
weight of any head, made a distribution again; below it stands the mean over pairs of heads of the same number.""",
        column="layer {}",
        absent="No system has two attentions in one layer.",
        parts=DIVERGENCES,
        wholes=(("", "its layers"),),
        of_few=True,
    ),
    Tables(
        name="gates",
        title="Gates",
        text="""\
How much of a context is mixed into queries, keys and values, from 0 to 1: of the sentence and of lower layers in
context-aware self-attention (Yang et al. 2019), of the embeddings in lexical shortcuts (Emelin et al. 2019). The mean
over heads or features, positions and sentences.""",
        column="layer {}",
        absent="No system has gates before its attention.",
        parts=GATES,
        wholes=(("", "its layers"),),
        of_few=True,
    ),
    Tables(
        name="gates_by_tag",
        title="Gates by part of speech",
        text="""\
The same by the universal part of speech of words, SYM being punctuation: the mean over layers and a word's units, then
over words. Tags are the corpus's gold ones or, of English text without these, those of NLTK's tagger.""",
        column="{}",
        absent="No system has such gates, or no parts of speech are known.",
        parts=GATES,
        by="tag",
        of_few=True,
    ),
    Tables(
        name="ngram_accuracy",
        title="N-gram accuracy",
        text="""\
Per cent of a test set's translated n-grams that stand in the reference of their sentence, each as often as there.""",
        column="n = {}",
        absent="No translation has a word.",
        parts=(("ngram_accuracy", ""),),
        by="tag",
        decimals=2,
    ),
    Tables(
        name="bleu_of_iterations",
        title="BLEU by iterations",
        text="""\
sacrebleu of masked language models after 1, 4 and 10 iterations of mask-predict: how much a first guess at all words at
once gains when they see each other.""",
        column="{}",
        absent="No system is a masked language model.",
        parts=(("bleu_of_iterations", ""),),
        by="tag",
        of_few=True,
        decimals=2,
    ),
    Tables(
        name="bleu_of_units",
        title="BLEU by length",
        text="""\
sacrebleu of the sentences whose source has at least so many units and fewer than the next column's (Ampomah et al.
2021).""",
        column="from {}",
        absent="No BLEU by length was measured.",
        parts=(("bleu_of_units", ""),),
        by="tag",
        counts=("sentences_of_units", "sentences"),
        decimals=2,
    ),
    Tables(
        name="bleu_of_tenth",
        title="BLEU by tenths of length",
        text="""\
sacrebleu of each tenth of a test set's sentences, from the shortest to the longest, and how many words their sources
have on average.""",
        column="{}",
        absent="No BLEU by length was measured.",
        parts=(("bleu_of_tenth", ""),),
        by="tag",
        counts=("words_of_tenth", "words"),
        decimals=2,
    ),
)
