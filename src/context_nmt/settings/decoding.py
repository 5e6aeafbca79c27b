"""The keys under decoding."""

from dataclasses import dataclass
from typing import Literal

from context_nmt.settings import Checked, NonNegativeNumber, PositiveInteger


@dataclass(frozen=True, kw_only=True)
class DecodingSettings(Checked):
    """Greedy (beam 1) or beam search; mask-predict for masked models."""

    # hypotheses per sentence; 1 is greedy search. Masked models ignore the keys from here to maximum_length_offset
    beam: PositiveInteger = 4
    # divisor of log-probabilities: gnmt: ((5 + length) / 6) ** weight; fairseq: length ** weight; none: 1
    length_penalty: Literal["gnmt", "fairseq", "none"] = "gnmt"
    length_penalty_weight: NonNegativeNumber = 0.6  # exponent of the length penalty
    # when the search ends: exact: when no other hypothesis can win; beam: when as many as the beam have ended
    stop: Literal["exact", "beam"] = "exact"
    maximum_length_ratio: NonNegativeNumber = 1.5  # outputs have at most ratio * source length + offset units
    maximum_length_offset: PositiveInteger = 20  # offset of the maximum length
    # source tokens times beam, or times length_beam in masked models; by default 4,096, and 262,144 on a GPU
    batch_tokens: PositiveInteger | None = None
    # of linear maps; auto: bf16 where the processor or GPU has it, so that translations depend on the machine
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    n_best: PositiveInteger = 1  # hypotheses to write per sentence; at most beam or length_beam
    # document models: previous target sentences are references, not the model's translations
    reference_context: bool = False
    iterations: PositiveInteger = 10  # masked models: iterations of mask-predict
    length_beam: PositiveInteger = 5  # masked models: lengths to try per sentence
