"""The keys under decoding."""

from dataclasses import dataclass
from typing import Literal

from context_nmt.settings import Checked, require


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
