"""Mask-predict with made-up predictions: what is masked when, and what is kept."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from context_nmt.decoding.masked_search import mask_predict

MASK, PADDING = 1, 0


class Oracle:
    """Predicts, in iteration t, units 100 * t + position with log-probabilities that a table gives."""

    def __init__(self, certainties):
        self.certainties, self.seen = certainties, []

    def __call__(self, tokens, wanted):
        number = len(self.seen)
        self.seen.append((tokens.clone(), wanted.clone()))
        units = 100 * (number + 1) + torch.arange(tokens.size(1)).expand(tokens.shape)
        table = torch.tensor(self.certainties[min(number, len(self.certainties) - 1)])
        return units[wanted], table.expand(tokens.shape)[wanted]


def run(lengths, iterations, certainties):
    oracle = Oracle(certainties)
    result = mask_predict(oracle, torch.tensor(lengths), iterations=iterations, mask=MASK, padding=PADDING)
    return (*result, oracle.seen)


def test_one_iteration_predicts_all_units_from_none():
    tokens, certainty, seen = run([3, 2], 1, [[-1.0, -2.0, -3.0]])
    assert tokens.tolist() == [[100, 101, 102], [100, 101, PADDING]]
    assert certainty.tolist() == [[-1, -2, -3], [-1, -2, 0]]
    assert [inputs.tolist() for inputs, _ in seen] == [[[MASK] * 3, [MASK, MASK, PADDING]]]


def test_the_least_certain_are_predicted_again_and_the_others_kept():
    """Four units in four iterations: 4, then 3, 2 and 1 are masked; kept ones keep their old certainty."""
    certainties = [[-0.1, -0.4, -0.3, -0.2], [-0.9, -0.05, -0.06, -0.7], [-0.8] * 4, [-0.5] * 4]
    tokens, certainty, seen = run([4], 4, certainties)
    assert [wanted[0].tolist() for _, wanted in seen] == [
        [True, True, True, True],
        [False, True, True, True],  # all but the most certain
        [True, False, False, True],  # -0.1 of the first iteration and -0.7; -0.05 and -0.06 are sure now
        [True, False, False, False],  # of equals the first
    ]
    assert [inputs[0].tolist() for inputs, _ in seen[1:]] == [
        [100, MASK, MASK, MASK],
        [MASK, 201, 202, MASK],
        [MASK, 201, 202, 303],
    ]
    assert tokens.tolist() == [[400, 201, 202, 303]]
    assert torch.allclose(certainty, torch.tensor([[-0.5, -0.05, -0.06, -0.8]]))


@given(st.lists(st.integers(2, 30), min_size=1, max_size=4), st.integers(1, 12))
def test_as_many_are_masked_as_the_schedule_says(lengths, iterations):
    _, _, seen = run(lengths, iterations, [[-0.01 * position for position in range(max(lengths))]])
    for number, (inputs, wanted) in enumerate(seen):
        expected = [max(1, length * (iterations - number) // iterations) for length in lengths]
        assert wanted.sum(1).tolist() == expected
        assert torch.equal(inputs == MASK, wanted)
        assert all(not row[length:].any() for row, length in zip(wanted, lengths, strict=True))
    assert len(seen) == iterations
