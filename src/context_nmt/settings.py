"""Every key of a params.yaml, with its default and its allowed values."""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

LayerSlot = Literal["encoder_self_attention", "decoder_self_attention", "cross_attention"]  # in every layer
OutputSlot = Literal["encoder_output", "decoder_output"]  # behind a stack, over the sentences before; most are empty
Slot = Literal[
    "encoder_self_attention", "decoder_self_attention", "cross_attention", "encoder_output", "decoder_output"
]


def require(condition: bool, message: str) -> None:
    """Raise ValueError(message) unless the condition holds; the reader of params.yaml adds the key's path."""
    if not condition:
        raise ValueError(message)


class Checked:
    """Base of all settings: unknown keys are refused, see `parameters.check`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True, kw_only=True)
class CorpusSettings(Checked):
    """Which parallel text: files `data/NAME/SPLIT.LANGUAGE`, one sentence per line."""

    name: str
    source: str
    target: str
    train: str = "train"
    validation: str = "valid"
    tests: tuple[str, ...]  # decoded and scored; the validation set may be one of them
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)  # mean scores over several test sets
    contrastive: tuple[str, ...] = ()  # sets `data/NAME/SET.SOURCE-TARGET.jsonl`, see corpus/contrastive.py

    def __post_init__(self) -> None:
        require(self.source != self.target, f"source and target are both {self.source!r}")
        require(len(self.tests) > 0, "tests needs at least one test set")
        evaluated = (self.validation, *self.tests)
        require(self.train not in evaluated, f"{self.train!r} is the training set: it cannot be evaluated on as well")
        for group, members in self.groups.items():
            missing = sorted(set(members) - set(self.tests))
            require(not missing, f"group {group!r} names {missing}, which tests does not list ({list(self.tests)})")
            require(group not in self.tests, f"group {group!r} has the name of a test set")
            require(len(members) > 0, f"group {group!r} has no members")
        names = [*dict.fromkeys((self.train, *evaluated)), *self.groups, *self.contrastive]
        for name in self.contrastive:
            require(names.count(name) == 1, f"contrastive: {name!r} is the name of another set, too")
        evaluated_on = {*self.tests, *self.groups, *self.contrastive}
        require("model" not in evaluated_on, "a test set, group or contrastive set cannot be named 'model'")


@dataclass(frozen=True, kw_only=True)
class SideSettings(Checked):
    """How one side's raw text becomes Moses tokens, and back."""

    pretokenized: bool = False
    script: str | None = None  # a command that maps raw lines to lines before all else; DVC sees its words only
    normalize_punctuation: bool = True
    aggressive_hyphens: bool = False
    truecase: bool = True


@dataclass(frozen=True, kw_only=True)
class CleaningSettings(Checked):
    """Which training pairs stay: lengths in Moses tokens, both sides, and their ratio."""

    minimum_length: int = 1
    maximum_length: int = 80
    maximum_ratio: float = 9.0

    def __post_init__(self) -> None:
        require(self.minimum_length >= 1, f"minimum_length is {self.minimum_length}; it must be at least 1")
        require(
            self.maximum_length >= self.minimum_length,
            f"maximum_length is {self.maximum_length}; it must be at least minimum_length ({self.minimum_length})",
        )
        require(self.maximum_ratio >= 1, f"maximum_ratio is {self.maximum_ratio}; it must be at least 1")


@dataclass(frozen=True, kw_only=True)
class TextSettings(Checked):
    """From raw text to tokens."""

    source: SideSettings = SideSettings()
    target: SideSettings = SideSettings()
    cleaning: CleaningSettings = CleaningSettings()


@dataclass(frozen=True, kw_only=True)
class UnitSettings(Checked):
    """What the vocabulary holds: BPE units or the most frequent words."""

    kind: Literal["bpe", "words"] = "bpe"
    joint: bool = True  # one vocabulary (and one set of merges) for both sides
    merges: int = 8000
    vocabulary_threshold: int = 0  # BPE units rarer than this on their side are split further
    words: int = 30000

    def __post_init__(self) -> None:
        require(self.merges >= 1, f"merges is {self.merges}; it must be at least 1")
        require(self.words >= 1, f"words is {self.words}; it must be at least 1")
        require(self.vocabulary_threshold >= 0, f"vocabulary_threshold is {self.vocabulary_threshold}; 0 turns it off")


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Checked):
    """Size and layer conventions of the Transformer (Vaswani et al. 2017), and what it models."""

    # One target unit after the other, or the masked ones given the others (CMLM, Ghazvininejad et al. 2019).
    kind: Literal["autoregressive", "masked"] = "autoregressive"
    width: int = 512
    feed_forward_width: int = 2048
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    norm: Literal["pre", "post"] = "pre"
    attention_bias: bool = False
    tying: Literal["none", "decoder", "all"] = "all"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    maximum_positions: int = 1024  # of learned positions, and of the lengths that a masked model predicts
    embedding_scale: bool = True  # embeddings times the square root of the width
    embedding_initialisation: Literal["normal", "glorot", "bert"] = "normal"  # N(0, 1/width), uniform, N(0, 0.02)
    initialisation: Literal["glorot", "bert"] = "glorot"  # bert: maps N(0, 0.02) but for queries, keys and values
    source_embedding_bias: bool = False  # a learned vector added to every source embedding
    activation: Literal["relu", "gelu"] = "relu"
    layer_norm_epsilon: float = 1e-5
    dropout: float = 0.1  # of a sublayer's output, before the residual addition
    embedding_dropout: float = 0.1
    attention_dropout: float = 0.0
    feed_forward_dropout: float = 0.0  # of the feed-forward's hidden layer

    def __post_init__(self) -> None:
        for name in ("width", "feed_forward_width", "heads", "encoder_layers", "decoder_layers", "maximum_positions"):
            require(getattr(self, name) >= 1, f"{name} is {getattr(self, name)}; it must be at least 1")
        require(self.width % self.heads == 0, f"width ({self.width}) must be divisible by heads ({self.heads})")
        require(
            self.width % 2 == 0 or self.positions == "learned", f"width is {self.width}; sinusoids need an even one"
        )
        for name in ("dropout", "embedding_dropout", "attention_dropout", "feed_forward_dropout"):
            require(0 <= getattr(self, name) < 1, f"{name} is {getattr(self, name)}; it must be in [0, 1)")
        require(self.layer_norm_epsilon > 0, f"layer_norm_epsilon is {self.layer_norm_epsilon}; it must be positive")


@dataclass(frozen=True, kw_only=True)
class ScheduleSettings(Checked):
    """Learning rate by update t, from 1 (papers: Vaswani; fairseq; So et al. 2019)."""

    kind: Literal["vaswani", "inverse_square_root", "cosine"] = "vaswani"
    warmup: int = 4000
    factor: float = 1.0  # vaswani, cosine: multiplies width ** -0.5
    initial_rate: float = 1e-7  # inverse_square_root: the rate that warm-up starts from
    peak_rate: float = 5e-4  # inverse_square_root: the rate at the end of warm-up
    decay_updates: int | None = None  # cosine: updates from the peak to 0; unset: to maximum_updates

    def __post_init__(self) -> None:
        require(self.warmup >= 1, f"warmup is {self.warmup}; it must be at least 1 update")
        require(self.factor > 0, f"factor is {self.factor}; it must be positive")
        require(self.peak_rate > 0, f"peak_rate is {self.peak_rate}; it must be positive")
        require(self.initial_rate >= 0, f"initial_rate is {self.initial_rate}; it must not be negative")
        require(
            self.decay_updates is None or self.decay_updates >= 1,
            f"decay_updates is {self.decay_updates}; it must be at least 1",
        )


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Checked):
    """Optimisation, validation and which checkpoints are kept."""

    batch_tokens: int = 4096  # per batch, padding included, on the longer side
    accumulation: int = 1  # batches per update
    maximum_updates: int = 100_000
    maximum_sentence_length: int = 256  # in units; longer training pairs are left out, and counted
    schedule: ScheduleSettings = ScheduleSettings()
    adam_beta1: float = 0.9
    adam_beta2: float = 0.98
    adam_epsilon: float = 1e-9
    weight_decay: float = 0.0
    label_smoothing: float = 0.1
    clip_norm: float = 0.0  # 0 turns clipping off
    mask_whole_targets: bool = True  # masked models: 1..N units of N are masked; else 1..N-1, as in Mask-Predict's code
    precision: Literal["fp32", "bf16"] = "fp32"
    validate_every: int = 1000  # updates; each validation saves a checkpoint
    # Also decode the validation set: greedily, masked models in 10 iterations of one length, whatever `decoding` says.
    validation_bleu: bool = False
    select_by: Literal["loss", "bleu"] = "loss"  # what "best" means, for early stopping and best checkpoints
    patience: int | None = None  # stop after this many validations without a better one
    keep_last: int = 5
    keep_best: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_tokens", "accumulation", "maximum_updates", "maximum_sentence_length", "validate_every"):
            require(getattr(self, name) >= 1, f"{name} is {getattr(self, name)}; it must be at least 1")
        require(self.adam_epsilon > 0, f"adam_epsilon is {self.adam_epsilon}; it must be positive")
        require(self.weight_decay >= 0, f"weight_decay is {self.weight_decay}; 0 turns it off")
        require(0 <= self.label_smoothing < 1, f"label_smoothing is {self.label_smoothing}; it must be in [0, 1)")
        require(0 <= self.adam_beta1 < 1, f"adam_beta1 is {self.adam_beta1}; it must be in [0, 1)")
        require(0 <= self.adam_beta2 < 1, f"adam_beta2 is {self.adam_beta2}; it must be in [0, 1)")
        require(self.clip_norm >= 0, f"clip_norm is {self.clip_norm}; 0 turns clipping off")
        require(self.patience is None or self.patience >= 1, f"patience is {self.patience}; it must be at least 1")
        require(self.keep_last >= 0, f"keep_last is {self.keep_last}; it must not be negative")
        require(self.keep_best >= 0, f"keep_best is {self.keep_best}; it must not be negative")
        require(self.keep_last + self.keep_best >= 1, "keep_last and keep_best are both 0: no checkpoint would be kept")
        require(self.select_by != "bleu" or self.validation_bleu, "select_by is bleu, but validation_bleu is false")


@dataclass(frozen=True, kw_only=True)
class AveragingSettings(Checked):
    """Which checkpoints are averaged into the run's model."""

    select: Literal["last", "best"] = "last"
    count: int = 5

    def __post_init__(self) -> None:
        require(self.count >= 1, f"count is {self.count}; it must be at least 1")


@dataclass(frozen=True, kw_only=True)
class DecodingSettings(Checked):
    """Greedy (beam 1) or beam search; of masked models mask-predict."""

    # Masked models have no use for the keys from here to maximum_length_offset.
    beam: int = 4
    length_penalty: Literal["gnmt", "fairseq", "none"] = "gnmt"
    length_penalty_weight: float = 0.6
    stop: Literal["exact", "beam"] = "exact"  # when no other hypothesis can win; when as many as the beam have ended
    maximum_length_ratio: float = 1.5  # longest output: ratio * source length + offset, in units
    maximum_length_offset: int = 20
    batch_tokens: int = 4096  # source tokens times beam, of masked models times length_beam
    precision: Literal["fp32", "bf16"] = "fp32"  # of the linear maps
    n_best: int = 1
    reference_context: bool = False  # models of documents see references in place of their own earlier translations
    iterations: int = 10  # masked models
    length_beam: int = 5  # masked models: lengths that are tried

    def __post_init__(self) -> None:
        require(self.iterations >= 1, f"iterations is {self.iterations}; it must be at least 1")
        require(self.length_beam >= 1, f"length_beam is {self.length_beam}; it must be at least 1")
        require(self.beam >= 1, f"beam is {self.beam}; it must be at least 1")
        require(
            1 <= self.n_best <= max(self.beam, self.length_beam),
            f"n_best is {self.n_best}; it must be in 1..beam ({self.beam}), of a masked model in 1..length_beam"
            f" ({self.length_beam})",
        )
        require(self.batch_tokens >= 1, f"batch_tokens is {self.batch_tokens}; it must be at least 1")
        require(self.maximum_length_ratio >= 0, f"maximum_length_ratio is {self.maximum_length_ratio}")
        require(
            self.maximum_length_offset >= 1,
            f"maximum_length_offset is {self.maximum_length_offset}; it must be at least 1",
        )
        require(self.length_penalty_weight >= 0, f"length_penalty_weight is {self.length_penalty_weight}")


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
class VariantSettings(Checked):
    """One named system: what fills its slots and what it overrides in the experiment's recipe.

    A slot holds a mechanism with its settings, `{mechanism: NAME, layers: [1, 2], KEY: VALUE}`, or a list of such
    entries for different layers.
    """

    label: str | None = None  # the name that tables print; the variant's key if unset
    slots: dict[Slot, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    averaging: dict[str, Any] = field(default_factory=dict)
    decoding: dict[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    test: Literal["bootstrap", "sign"] = "bootstrap"

    def __post_init__(self) -> None:
        for slot, given in self.slots.items():
            entries = given if isinstance(given, list) else [given]
            require(
                len(entries) > 0 and all(isinstance(entry, dict) for entry in entries),
                f"slots.{slot} is {given!r}; it must be {{mechanism: NAME, …}} or a list of such entries",
            )


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Checked):
    """What each variant is trained on; every variant stands in exactly one list."""

    bitext: tuple[str, ...] = ()  # the text as it is
    teachers: tuple[str, ...] = ()  # one variant of bitext at most: its run with the first seed translates the source
    distilled: tuple[str, ...] = ()  # the source with the teacher's translations
    document: tuple[str, ...] = ()  # the text as it is, from the run of `document_start` with the same seed
    document_start: str | None = None
    continued: tuple[str, ...] = ()  # the same, from `continued_start`, which may itself be under document
    continued_start: str | None = None

    @property
    def everything(self) -> tuple[str, ...]:
        """The variants of all lists."""
        return (*self.bitext, *self.distilled, *self.document, *self.continued)

    def __post_init__(self) -> None:
        for name, earlier in {
            "document": (*self.bitext, *self.distilled),
            "continued": (*self.bitext, *self.distilled, *self.document),
        }.items():
            start, begun = getattr(self, f"{name}_start"), getattr(self, name)
            require(
                not begun or start in earlier,
                f"{name}_start is {start!r}; what {list(begun)} start from must be one of {list(earlier)}",
            )
        require(len(self.teachers) < 2, f"teachers names {list(self.teachers)}; there can be one")
        absent = sorted(set(self.teachers) - set(self.bitext))
        require(not absent, f"teachers: {absent} is not trained on bitext ({list(self.bitext)})")
        require(
            not self.distilled or len(self.teachers) == 1,
            f"distilled names {list(self.distilled)}, but teachers names no teacher",
        )


@dataclass(frozen=True, kw_only=True)
class SentenceClassifierSettings(Checked):
    """The classifiers of sentence probes, see evaluation/probing/classifier.py."""

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
    """The classifiers of lexical probes, see evaluation/probing/words.py."""

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
class LaunchSettings(Checked):
    """The commands in front of `-m stages.NAME`; another one runs these stages again, and so distils again.

    `train` is that of all trainings, `decode` that of decode, distill, rescore, contrast and analyse, for example
    `python`, `env OMP_NUM_THREADS=1 python`, `torchrun --nproc-per-node 8`, `srun --ntasks-per-node 1 torchrun …`
    """

    train: str = "python"
    decode: str = "python"

    def __post_init__(self) -> None:
        for name in ("train", "decode"):
            command = getattr(self, name)
            require(command.strip() != "" and "\n" not in command, f"{name} is {command!r}; it must be a command")


@dataclass(frozen=True, kw_only=True)
class ExperimentSettings(Checked):
    """A whole params.yaml."""

    root: str
    launch: LaunchSettings = LaunchSettings()
    corpus: CorpusSettings
    text: TextSettings = TextSettings()
    units: UnitSettings = UnitSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    averaging: AveragingSettings = AveragingSettings()
    decoding: DecodingSettings = DecodingSettings()
    significance: SignificanceSettings = SignificanceSettings()
    variants: dict[str, VariantSettings]
    train: TrainSettings
    rescored: tuple[str, ...] = ()  # masked variants: of their candidates, one per length, the teacher also chooses
    probing: ProbingSettings = ProbingSettings()
    seeds: tuple[int, ...]
    focus: str

    def label(self, variant: str) -> str:
        """The name that tables and figures print for a variant."""
        return self.variants[variant].label or variant

    def __post_init__(self) -> None:
        require(len(self.seeds) > 0, "seeds needs at least one seed")
        require(len(set(self.seeds)) == len(self.seeds), f"seeds repeats one: {list(self.seeds)}")
        for seed in self.seeds:
            require(0 <= seed < 2**32, f"seeds: {seed} is not in 0..4294967295")
        require(self.focus in self.variants, f"focus: no variant {self.focus!r}; there are {list(self.variants)}")
        for name in ("bitext", "distilled", "document", "continued"):
            unknown = sorted(set(getattr(self.train, name)) - set(self.variants))
            require(not unknown, f"train.{name}: no variant {unknown}; there are {list(self.variants)}")
        require(
            not self.rescored or len(self.train.teachers) == 1,
            f"rescored names {list(self.rescored)}, but train.teachers names no teacher",
        )
        for name in ("sentences", "words"):
            unknown = sorted(set(getattr(self.probing, name)) - set(self.variants))
            require(not unknown, f"probing.{name}: no variant {unknown}; there are {list(self.variants)}")
        sets = (*self.corpus.tests, *self.corpus.groups, *self.corpus.contrastive)
        require(self.probing.tasks not in sets, f"probing.tasks is {self.probing.tasks!r}, which is a test set's name")
        for name in self.rescored:
            require(name in self.variants, f"rescored: no variant {name!r}; there are {list(self.variants)}")
            require(self.rescored.count(name) == 1, f"rescored repeats {name!r}")
            kind = self.variants[name].model.get("kind", self.model.kind)
            require(kind == "masked", f"rescored: {name!r} is {kind}; only a masked variant has a candidate per length")
        for name, variant in self.variants.items():
            require(
                re.fullmatch(r"\w[\w-]*", name, re.ASCII) is not None,
                f"variants: {name!r} names files; it must be made of letters, digits, _ and -, and not start with -",
            )
            times = self.train.everything.count(name)
            require(times == 1, f"variants.{name} stands in {times} lists under train; it must stand in exactly one")
            require(
                variant.baseline is None or (variant.baseline in self.variants and variant.baseline != name),
                f"variants.{name}.baseline: no other variant {variant.baseline!r}; there are {list(self.variants)}",
            )
