"""The keys under training and averaging."""

from dataclasses import dataclass
from typing import Literal

from context_nmt.settings import (
    Checked,
    NonNegativeInteger,
    NonNegativeNumber,
    PositiveInteger,
    PositiveNumber,
    ShareBelowOne,
    require,
)


@dataclass(frozen=True, kw_only=True)
class ScheduleSettings(Checked):
    """Learning rate by update t, from 1 (papers: Vaswani; fairseq; So et al. 2019)."""

    kind: Literal["vaswani", "inverse_square_root", "cosine"] = "vaswani"
    warmup: PositiveInteger = 4000
    factor: PositiveNumber = 1.0  # vaswani, cosine: multiplies width ** -0.5
    initial_rate: NonNegativeNumber = 1e-7  # inverse_square_root: the rate that warm-up starts from
    peak_rate: PositiveNumber = 5e-4  # inverse_square_root: the rate at the end of warm-up
    decay_updates: PositiveInteger | None = None  # cosine: updates from the peak to 0; unset: to maximum_updates


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Checked):
    """Optimisation, validation and the checkpoints to keep."""

    batch_tokens: PositiveInteger = 4096  # per batch, padding included, on the longer side
    accumulation: PositiveInteger = 1  # batches per update
    maximum_updates: PositiveInteger = 100_000
    maximum_sentence_length: PositiveInteger = 256  # in units; longer training pairs are left out, and counted
    schedule: ScheduleSettings = ScheduleSettings()
    adam_beta1: ShareBelowOne = 0.9
    adam_beta2: ShareBelowOne = 0.98
    adam_epsilon: PositiveNumber = 1e-9
    weight_decay: NonNegativeNumber = 0.0
    label_smoothing: ShareBelowOne = 0.1
    clip_norm: NonNegativeNumber = 0.0  # 0 turns clipping off
    mask_whole_targets: bool = True  # masked models mask 1..N of N units; else 1..N-1, as in Mask-Predict's code
    # auto: bf16 where a processor or GPU has it, else fp32, decided when a run starts; its curve says which.
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    validate_every: PositiveInteger = 1000  # updates; each validation saves a checkpoint
    # Also decodes the validation set, whatever `decoding` says: greedily, masked models in 10 iterations of one length.
    validation_bleu: bool = False
    select_by: Literal["loss", "bleu"] = "loss"  # criterion of early stopping and of the best checkpoints
    patience: PositiveInteger | None = None  # stop after this many validations without a better one
    keep_last: NonNegativeInteger = 5
    keep_best: NonNegativeInteger = 0

    def __post_init__(self) -> None:
        require(self.keep_last + self.keep_best >= 1, "keep_last and keep_best are both 0: no checkpoint would be kept")
        require(self.select_by != "bleu" or self.validation_bleu, "select_by is bleu, but validation_bleu is false")


@dataclass(frozen=True, kw_only=True)
class AveragingSettings(Checked):
    """The checkpoints to average into the run's model."""

    select: Literal["last", "best"] = "last"
    count: PositiveInteger = 5
