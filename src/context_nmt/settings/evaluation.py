"""The keys under significance and probing, and the plan of the stages that score."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

from context_nmt.settings import (
    Checked,
    NonNegativeNumber,
    PositiveInteger,
    PositiveNumber,
    Seed,
    ShareBelowOne,
    require,
    require_distinct,
)
from context_nmt.settings.text import TextPlan, base_language

ScoreOfText = Literal["sacrebleu", "chrf", "chrf_plus_plus", "ter"]
ScoreOfTokens = Literal["bleu_tokenized", "bleu_compound_split", "bleu_lowercased"]
Tokenizer = Literal["13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200"]
# flores200 also suits the languages of `char`, but sacrebleu downloads its model on first use, without a checksum.
TOKENIZERS: dict[str, Tokenizer] = {
    **dict.fromkeys(("zh", "zho", "cmn", "yue"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod", "dz", "dzo"), "char"),
}


def tokenizer_of(language: str) -> Tokenizer:
    """Return sacrebleu's tokenizer for a language's code, such as zh or zh_TW."""
    return TOKENIZERS.get(base_language(language), "13a")


@dataclass(frozen=True, kw_only=True)
class SignificanceSettings(Checked):
    """The main score, and its tests, see docs/reference/measures.md."""

    # the score that is tested
    metric: Literal[ScoreOfText, ScoreOfTokens] = "sacrebleu"
    # how sacrebleu splits raw text; the default depends on the target language: zh, ja-mecab and ko-mecab for Chinese,
    # Japanese and Korean, char for other languages that are written without spaces, otherwise 13a
    tokenizer: Tokenizer | None = None
    # lowest allowed score of the references themselves, tokenized and detokenized; the text stage refuses a lower one
    minimum_ceiling: Annotated[float, Field(ge=0, le=100)] = 90.0
    resamples: PositiveInteger = 1000  # number of resamples of both bootstrap tests
    # size of a resample relative to the test set, in compare-mt's test, whose own default is 0.5
    sample_ratio: Annotated[float, Field(gt=0, le=1)] = 1.0
    # fixes the resamples, and the trials of the randomization; not 0, which sacrebleu treats as no seed
    seed: Annotated[int, Field(ge=1, lt=2**32)] = 12345

    @property
    def is_of_tokens(self) -> bool:
        """Whether the metric is defined on tokens, not on raw text."""
        return self.metric in get_args(ScoreOfTokens)

    @property
    def bleu(self) -> str:
        """The kind of BLEU that overviews and claims about BLEU show: the metric, or sacrebleu if it is no BLEU."""
        return self.metric if "bleu" in self.metric else "sacrebleu"


@dataclass(frozen=True, kw_only=True)
class SentenceClassifierSettings(Checked):
    """The classifiers of sentence probes, see measures/sentence_probes.py."""

    seeds: tuple[Seed, ...] = (1,)  # one classifier per seed; accuracies are means over them
    hidden_width: PositiveInteger = 512  # size of the hidden layer
    learning_rate: PositiveNumber = 2.5e-4  # of RMSprop
    weight_decay: NonNegativeNumber = 1e-4  # of the hidden layer
    batch_sentences: PositiveInteger = 64  # sentences per batch
    epochs: PositiveInteger = 100  # maximum number of epochs
    patience: PositiveInteger = 5  # epochs without a better accuracy on the validation set

    def __post_init__(self) -> None:
        require(len(self.seeds) > 0, "seeds is empty; it must list at least one seed")
        require_distinct("seeds", self.seeds)


@dataclass(frozen=True, kw_only=True)
class WordClassifierSettings(Checked):
    """The classifiers of lexical probes, see measures/word_probes.py."""

    seed: Seed = 1  # of weights, dropout and batches
    hidden_width: PositiveInteger = 512  # size of the hidden layer
    dropout: ShareBelowOne = 0.5  # of the hidden layer
    learning_rate: PositiveNumber = 2e-4  # of Adam
    adam_beta2: ShareBelowOne = 0.999  # the authors' code has 0.98
    adam_epsilon: PositiveNumber = 1e-8  # the authors' code has 1e-9
    training_sentences: PositiveInteger = 100_000  # evenly spaced pairs of the training set; all of it if it is smaller
    batch_tokens: PositiveInteger = 4096  # tokens per batch
    epochs: PositiveInteger = 20  # maximum number of epochs
    patience: PositiveInteger = 5  # epochs without a better accuracy on the validation set


@dataclass(frozen=True, kw_only=True)
class ProbingSettings(Checked):
    """The variants to probe for properties of sentences (Conneau et al. 2018) and for the identity of words."""

    sentences: tuple[str, ...] = ()  # variants whose encoders are probed with the tasks
    tasks: str | None = None  # folder in data/ with TASK.txt in SentEval's format, in the source language
    words: tuple[str, ...] = ()  # variants whose layers are probed for the unit at each position (Emelin et al. 2019)
    sentence_classifier: SentenceClassifierSettings = SentenceClassifierSettings()
    word_classifier: WordClassifierSettings = WordClassifierSettings()

    def __post_init__(self) -> None:
        require(
            not self.sentences or self.tasks is not None,
            f"sentences is {list(self.sentences)}, but tasks is not set; it must name their folder under data/",
        )
        require_distinct("sentences", self.sentences)
        require_distinct("words", self.words)


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan(TextPlan):
    """The plan of the stages that tokenize and evaluate, metrics/plans/text.json."""

    tokenizer: Tokenizer | None = None

    @property
    def chosen_tokenizer(self) -> Tokenizer:
        """The sacrebleu tokenizer: the one that is set, or the default for the target language."""
        return self.tokenizer or tokenizer_of(self.corpus.target)


@dataclass(frozen=True, kw_only=True)
class SentenceProbePlan(Checked):
    """The plan of sentence probes, metrics/plans/probe_sentences.json."""

    tasks: str | None
    classifier: SentenceClassifierSettings
