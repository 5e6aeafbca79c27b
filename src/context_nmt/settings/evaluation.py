"""The keys under significance and probing."""

from dataclasses import dataclass
from typing import Literal

from context_nmt.settings import Checked, require


@dataclass(frozen=True, kw_only=True)
class SignificanceSettings(Checked):
    """Paired bootstrap resampling (Koehn 2004) or the sign test of Collins et al. (2005)."""

    metric: Literal["sacrebleu", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased"] = "sacrebleu"
    resamples: int = 1000
    sample_ratio: float = 1.0  # size of a resample relative to the test set; compare-mt's own default is 0.5
    seed: int = 12345

    def __post_init__(self) -> None:
        require(self.resamples >= 1, f"resamples is {self.resamples}; it must be at least 1")
        require(0 < self.sample_ratio <= 1, f"sample_ratio is {self.sample_ratio}; it must be in (0, 1]")
        require(1 <= self.seed < 2**32, f"seed is {self.seed}; it must be in 1..4294967295")  # sacrebleu: 0 is unseeded


@dataclass(frozen=True, kw_only=True)
class SentenceClassifierSettings(Checked):
    """The classifiers of sentence probes, see measures/probes/classifiers.py."""

    seeds: tuple[int, ...] = (1,)  # a classifier each; accuracies are means over them
    hidden_width: int = 512
    learning_rate: float = 2.5e-4
    weight_decay: float = 1e-4  # of the hidden layer
    batch_sentences: int = 64
    epochs: int = 100
    patience: int = 5  # epochs without a better accuracy on the validation set

    def __post_init__(self) -> None:
        require(len(self.seeds) > 0, "seeds needs at least one seed")
        require(len(set(self.seeds)) == len(self.seeds), f"seeds repeats one: {list(self.seeds)}")
        for name in ("hidden_width", "batch_sentences", "epochs", "patience"):
            require(getattr(self, name) >= 1, f"{name} is {getattr(self, name)}; it must be at least 1")
        require(self.learning_rate > 0, f"learning_rate is {self.learning_rate}; it must be positive")
        require(self.weight_decay >= 0, f"weight_decay is {self.weight_decay}; 0 turns it off")


@dataclass(frozen=True, kw_only=True)
class WordClassifierSettings(Checked):
    """The classifiers of lexical probes, see measures/probes/words.py."""

    seed: int = 1
    hidden_width: int = 512
    dropout: float = 0.5
    learning_rate: float = 2e-4
    training_sentences: int = 100_000  # pairs of the training set, evenly spread; all if it has no more
    batch_tokens: int = 4096
    epochs: int = 20
    patience: int = 5  # epochs without a better accuracy on the validation set

    def __post_init__(self) -> None:
        for name in ("hidden_width", "training_sentences", "batch_tokens", "epochs", "patience"):
            require(getattr(self, name) >= 1, f"{name} is {getattr(self, name)}; it must be at least 1")
        require(self.learning_rate > 0, f"learning_rate is {self.learning_rate}; it must be positive")
        require(0 <= self.dropout < 1, f"dropout is {self.dropout}; it must be in [0, 1)")


@dataclass(frozen=True, kw_only=True)
class ProbingSettings(Checked):
    """Which variants are probed: what their states tell of whole sentences (Conneau et al. 2018) and of words."""

    sentences: tuple[str, ...] = ()  # variants whose encoders get the tasks
    tasks: str | None = None  # their folder under data/, TASK.txt in SentEval's format, in the source language
    words: tuple[str, ...] = ()  # variants whose layers are asked for the unit at each position (Emelin et al. 2019)
    sentence_classifier: SentenceClassifierSettings = SentenceClassifierSettings()
    word_classifier: WordClassifierSettings = WordClassifierSettings()

    def __post_init__(self) -> None:
        require(
            not self.sentences or self.tasks is not None,
            f"sentences names {list(self.sentences)}, but tasks names no folder",
        )
        for name in ("sentences", "words"):
            variants = getattr(self, name)
            require(len(set(variants)) == len(variants), f"{name} repeats one: {list(variants)}")


@dataclass(frozen=True, kw_only=True)
class SentenceProbePlan(Checked):
    """What sentence probes are told: metrics/plans/probe_sentences.json."""

    tasks: str | None
    classifier: SentenceClassifierSettings
