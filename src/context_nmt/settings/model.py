"""The keys under model, training and averaging, and the slots that mechanisms fill."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from context_nmt.settings import (
    Checked,
    NonNegativeInteger,
    NonNegativeNumber,
    PositiveInteger,
    PositiveNumber,
    ShareBelowOne,
    require,
)

AttentionSlot = Literal["encoder_self_attention", "decoder_self_attention", "cross_attention"]
LayerSlot = Literal[AttentionSlot, "encoder_feed_forward", "decoder_feed_forward"]  # in every layer
OutputSlot = Literal["encoder_output", "decoder_output"]  # after a stack, over previous sentences; mostly empty
ModelSlot = Literal["norm", OutputSlot]  # filled once for the whole model
Slot = Literal[LayerSlot, ModelSlot]


CONCATENATION_KEYS = ("previous_sources", "previous_targets")  # keys of model that only concatenation has


def output_slots(slots: Iterable[str]) -> list[str]:
    """Return the given slots that are after a stack, where mechanisms read previous sentences."""
    return sorted(set(slots) & set(get_args(OutputSlot)))


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Checked):
    """Kind, size and layer conventions of the Transformer (Vaswani et al. 2017)."""

    # autoregressive: predicts target units from left to right; masked: predicts masked units from the others (CMLM,
    # Ghazvininejad et al. 2019); concatenation: autoregressive, on a sentence joined with previous sentences
    kind: Literal["autoregressive", "masked", "concatenation"] = "autoregressive"
    # concatenation: number of previous sentences of the document that are joined with a source, at least 1
    previous_sources: NonNegativeInteger = 0
    previous_targets: NonNegativeInteger = 0  # the same for targets, at most previous_sources
    width: PositiveInteger = 512  # size of embeddings and states, d_model; divisible by heads
    feed_forward_width: PositiveInteger = 2048  # size of the feed-forward's hidden layer
    heads: PositiveInteger = 8  # attention heads per layer
    encoder_layers: PositiveInteger = 6  # number of encoder layers
    decoder_layers: PositiveInteger = 6  # number of decoder layers
    norm: Literal["pre", "post"] = "pre"  # norm before each sublayer, or after the residual addition
    attention_bias: bool = False  # biases in the projections of attention
    # shared embeddings: decoder: target embedding and output; all: also the source embedding (needs units.joint)
    tying: Literal["none", "decoder", "all"] = "all"
    # added to the embeddings; none: positions are left to mechanisms such as rotary_positions
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"
    # number of learned positions, and of lengths that a masked model predicts
    maximum_positions: PositiveInteger = 1024
    embedding_scale: bool = True  # multiply embeddings by the square root of the width
    # normal: N(0, 1/width); glorot: uniform; bert: N(0, 0.02)
    embedding_initialisation: Literal["normal", "glorot", "bert"] = "normal"
    # of linear maps; bert: N(0, 0.02), except queries, keys and values
    initialisation: Literal["glorot", "bert"] = "glorot"
    source_embedding_bias: bool = False  # add a learned vector to every source embedding
    activation: Literal["relu", "gelu"] = "relu"  # of the feed-forward's hidden layer
    layer_norm_epsilon: PositiveNumber = 1e-5  # added to the variance
    dropout: ShareBelowOne = 0.1  # of a sublayer's output, before the residual addition
    embedding_dropout: ShareBelowOne = 0.1  # of embeddings with positions
    attention_dropout: ShareBelowOne = 0.0  # of attention weights
    feed_forward_dropout: ShareBelowOne = 0.0  # of the feed-forward's hidden layer

    def __post_init__(self) -> None:
        require(self.width % self.heads == 0, f"width is {self.width}; it must be divisible by heads ({self.heads})")
        require(
            self.width % 2 == 0 or self.positions != "sinusoidal",
            f"width is {self.width}; it must be even where positions is sinusoidal",
        )
        sources, targets = self.previous_sources, self.previous_targets
        require(
            self.kind != "concatenation" or sources > 0,
            "previous_sources is 0, but kind is concatenation; it must be at least 1, the number of previous sentences"
            " that are joined with each sentence",
        )
        require(
            self.kind == "concatenation" or not (sources or targets),
            f"previous_{'sources' if sources else 'targets'} is {sources or targets}, but kind is {self.kind}; only"
            " concatenation joins sentences",
        )
        require(
            targets <= sources,
            f"previous_targets is {targets}; it must be at most previous_sources ({sources}), because previous"
            " sentences are also translated",
        )


@dataclass(frozen=True, kw_only=True)
class ScheduleSettings(Checked):
    """The learning rate at update t, counted from 1 (Vaswani et al. 2017; fairseq; So et al. 2019)."""

    # linear warm-up, then 1 / sqrt(t) (vaswani, inverse_square_root) or a cosine to 0
    kind: Literal["vaswani", "inverse_square_root", "cosine"] = "vaswani"
    warmup: PositiveInteger = 4000  # updates until the peak
    factor: PositiveNumber = 1.0  # the peak without a peak_rate is factor * (width * warmup) ** -0.5
    initial_rate: NonNegativeNumber = 1e-7  # inverse_square_root: the rate at the start of warm-up
    peak_rate: PositiveNumber | None = None  # inverse_square_root, cosine: the rate at the end of warm-up
    decay_updates: PositiveInteger | None = None  # cosine: updates from the peak to 0; by default until the last update


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Checked):
    """Optimisation, validation, and the checkpoints to keep."""

    batch_tokens: PositiveInteger = 4096  # tokens per batch on the longer side, padding included
    # length that pairs are sorted by, before they are cut into batches: the target's or that of the longer side, which
    # pads less if batches are large: 10% instead of 21% at 25,000 tokens on Multi30k. Documents stay in order
    sort_by: Literal["target", "longest"] = "target"
    accumulation: PositiveInteger = 1  # batches per update
    maximum_updates: PositiveInteger = 100_000  # updates after which training ends
    # epochs after which training ends, unless it has made maximum_updates before; by default only updates count
    maximum_epochs: PositiveInteger | None = None
    # in units; longer training pairs are left out, and their number is reported; it does not limit joined sentences
    maximum_sentence_length: PositiveInteger = 256
    schedule: ScheduleSettings = ScheduleSettings()
    adam_beta1: ShareBelowOne = 0.9  # decay of the mean of gradients
    adam_beta2: ShareBelowOne = 0.98  # decay of the mean of squared gradients
    adam_epsilon: PositiveNumber = 1e-9  # added to the denominator
    weight_decay: NonNegativeNumber = 0.0  # decoupled from the gradient, as in AdamW
    label_smoothing: ShareBelowOne = 0.1  # probability mass that is spread over the vocabulary
    clip_norm: NonNegativeNumber = 0.0  # largest norm of the gradient; 0 turns clipping off
    # masked models: mask 1 to N of N units; false: 1 to N - 1, as in Mask-Predict's code
    mask_whole_targets: bool = True
    # of matrix products; weights and optimiser stay in fp32. auto: bf16 if the processor or GPU has it, decided when a
    # training starts and recorded in its learning curve. fp32 is never TF32
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    # on a GPU: compile the model with torch.compile, which takes minutes and changes the last bits; auto: for at least
    # 50,000 updates
    compile: Literal["auto", "always", "never"] = "never"
    # on a GPU: record the kernels of a batch and replay them, several times faster where batches are small. Not for
    # mechanisms that read the values of tensors, or whose Python code computes something else in each update
    cuda_graphs: bool = False
    # updates between validations, each of which saves a checkpoint; null: a validation at the end of each epoch
    validate_every: PositiveInteger | None = 1000
    # also translate the validation set: greedily, or for masked models in 10 iterations with one length, regardless of
    # the keys under decoding
    validation_bleu: bool = False
    # criterion of early stopping and of the best checkpoints; bleu needs validation_bleu
    select_by: Literal["loss", "bleu"] = "loss"
    patience: PositiveInteger | None = None  # stop after this many validations without improvement; by default never
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
