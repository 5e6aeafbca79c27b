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
    """Learning rate by update t, from 1 (Vaswani et al. 2017; fairseq; So et al. 2019)."""

    # linear warm-up, then 1 / sqrt(t) (vaswani, inverse_square_root) or a cosine to 0
    kind: Literal["vaswani", "inverse_square_root", "cosine"] = "vaswani"
    warmup: PositiveInteger = 4000  # updates until the peak
    factor: PositiveNumber = 1.0  # vaswani, cosine: multiplies width ** -0.5
    initial_rate: NonNegativeNumber = 1e-7  # inverse_square_root: the rate that warm-up starts from
    peak_rate: PositiveNumber = 5e-4  # inverse_square_root: the rate at the end of warm-up
    decay_updates: PositiveInteger | None = None  # cosine: updates from the peak to 0; if unset, until maximum_updates


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Checked):
    """Optimisation, validation and the checkpoints to keep."""

    batch_tokens: PositiveInteger = 4096  # tokens per batch on the longer side, padding included
    accumulation: PositiveInteger = 1  # batches per update
    maximum_updates: PositiveInteger = 100_000  # updates after which training ends
    # in units; longer training pairs are left out, and counted; sentences may be longer once they are joined
    maximum_sentence_length: PositiveInteger = 256
    schedule: ScheduleSettings = ScheduleSettings()
    adam_beta1: ShareBelowOne = 0.9  # decay of the mean of gradients
    adam_beta2: ShareBelowOne = 0.98  # decay of the mean of squared gradients
    adam_epsilon: PositiveNumber = 1e-9  # added to the denominator
    weight_decay: NonNegativeNumber = 0.0  # decoupled from the gradient, as in AdamW
    label_smoothing: ShareBelowOne = 0.1  # share of the probability that is spread over the vocabulary
    clip_norm: NonNegativeNumber = 0.0  # largest norm of the gradient; 0 turns clipping off
    # masked models: mask 1 to N of N units; false: 1 to N - 1, as in Mask-Predict's code
    mask_whole_targets: bool = True
    # of matrix products, weights and optimiser stay in fp32; auto: bf16 where the processor or GPU has it, decided when
    # a training starts; its curve says which; fp32 is never TF32
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    validate_every: PositiveInteger = 1000  # updates between validations, each of which saves a checkpoint
    # also translate the validation set: greedily, masked models in 10 iterations with one length, whatever `decoding`
    # says
    validation_bleu: bool = False
    # criterion of early stopping and of the best checkpoints; bleu needs validation_bleu
    select_by: Literal["loss", "bleu"] = "loss"
    patience: PositiveInteger | None = None  # stop after this many validations without improvement; if unset, never
    keep_last: NonNegativeInteger = 5  # most recent checkpoints to keep
    keep_best: NonNegativeInteger = 0  # best checkpoints to keep

    def __post_init__(self) -> None:
        require(self.keep_last + self.keep_best >= 1, "keep_last and keep_best are both 0: no checkpoint would be kept")
        require(self.select_by != "bleu" or self.validation_bleu, "select_by is bleu, but validation_bleu is false")


@dataclass(frozen=True, kw_only=True)
class AveragingSettings(Checked):
    """The checkpoints to average into the run's model."""

    select: Literal["last", "best"] = "last"  # average the last or the best checkpoints
    count: PositiveInteger = 5  # number of checkpoints; at most training.keep_last or keep_best
