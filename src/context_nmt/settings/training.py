"""The keys under training and averaging."""

from dataclasses import dataclass
from typing import Literal

from context_nmt.settings import Checked, require


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
