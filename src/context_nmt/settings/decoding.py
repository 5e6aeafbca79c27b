"""The keys under decoding."""

from dataclasses import dataclass
from typing import Literal

from context_nmt.settings import Checked, NonNegativeNumber, PositiveInteger


@dataclass(frozen=True, kw_only=True)
class DecodingSettings(Checked):
    """Greedy (beam 1) or beam search; mask-predict for masked models."""

    # Masked models ignore the keys from here to maximum_length_offset.
    beam: PositiveInteger = 4
    length_penalty: Literal["gnmt", "fairseq", "none"] = "gnmt"
    length_penalty_weight: NonNegativeNumber = 0.6
    stop: Literal["exact", "beam"] = "exact"  # exact: no other hypothesis can win; beam: as many as the beam have ended
    maximum_length_ratio: NonNegativeNumber = 1.5  # longest output: ratio * source length + offset, in units
    maximum_length_offset: PositiveInteger = 20
    batch_tokens: PositiveInteger = 4096  # source tokens times beam; for masked models, times length_beam
    precision: Literal["fp32", "bf16"] = "fp32"  # of the linear maps
    n_best: PositiveInteger = 1
    reference_context: bool = False  # document models see references instead of their own earlier translations
    iterations: PositiveInteger = 10  # masked models
    length_beam: PositiveInteger = 5  # masked models: number of lengths tried
