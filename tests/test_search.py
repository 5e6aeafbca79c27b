"""Beam search equals a plain implementation, on random distributions that depend on the whole prefix."""

import functools
import itertools
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from context_nmt.decoding.search import Hypothesis, LengthPenalty, State, Step, beam_search, reorder
from context_nmt.files import UserError

PADDING, BEGIN, END = 0, 1, 2
WORDS = (3, 4, 5)
VOCABULARY = 6
PENALTIES: list[tuple[LengthPenalty, float]] = [("gnmt", 0.6), ("gnmt", 2.0), ("fairseq", 1.0), ("none", 0.0)]


@dataclass(frozen=True)
class Tables:
    """A language model per sentence: random logits for every prefix of at most `longest` tokens."""

    logits: Tensor  # [sentences, prefixes, V]

    @classmethod
    def random(cls, sentences: int, longest: int, seed: int, sharpness: float = 1.5) -> "Tables":
        generator = torch.Generator().manual_seed(seed)
        shape = (sentences, VOCABULARY ** (longest + 1), VOCABULARY)
        return cls(sharpness * torch.randn(shape, generator=generator, dtype=torch.float64))

    def start(self, sentences: list[int]) -> dict[str, object]:
        rows = torch.tensor(sentences)
        # The prefix and the sentence are kept only in the state, at different depths of the trees.
        hypotheses = {"step": 0, "nothing": None, "nested": [(rows,), {"prefix": torch.zeros(len(rows), 0).long()}]}
        return {"sentences": [{"rows": rows}], "hypotheses": hypotheses}

    def step(self, tokens: Tensor, state: dict) -> tuple[Tensor, dict]:
        (rows,), inner = state["hypotheses"]["nested"]
        sentences = state["sentences"][0]["rows"]
        assert torch.equal(rows, sentences.repeat_interleave(len(tokens) // max(1, len(sentences))))
        prefix = torch.cat([inner["prefix"], tokens[:, None]], dim=1)
        code = torch.zeros_like(rows)
        for column in prefix[:, 1:].T:
            code = code * VOCABULARY + column
        logits = self.logits[rows, code % self.logits.shape[1]]
        step = state["hypotheses"]["step"] + 1
        return logits, {**state, "hypotheses": {"step": step, "nothing": None, "nested": [(rows,), {"prefix": prefix}]}}


def run(step: Step, state: State, maximum_lengths: list[int], **options) -> list[list[Hypothesis]]:
    defaults = {"beam": 4, "length_penalty": "gnmt", "weight": 0.6, "n_best": 1}
    longest = torch.tensor(maximum_lengths, dtype=torch.long)
    special = {"begin": BEGIN, "end": END, "forbidden": (PADDING, BEGIN)}
    return beam_search(step, state, batch=len(longest), maximum_lengths=longest, **special, **(defaults | options))


def search(tables: Tables, sentences: list[int], maximum_lengths: list[int], **options) -> list[list[Hypothesis]]:
    return run(tables.step, tables.start(sentences), maximum_lengths, **options)


def divided(log_probability: float, length: int, kind: str, weight: float) -> float:
    divisors = {"gnmt": ((5 + length) / 6) ** weight, "fairseq": length**weight, "none": 1.0}
    return log_probability / divisors[kind]


def assert_same(results: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    """Assert that hypotheses are equal, and their scores up to rounding."""
    assert [[hypothesis.tokens for hypothesis in n_best] for n_best in results] == [
        [hypothesis.tokens for hypothesis in n_best] for n_best in expected
    ]
    for name in ("score", "log_probability"):
        values, expected_values = (
            [getattr(hypothesis, name) for hypothesis in itertools.chain(*hypotheses)]
            for hypotheses in (results, expected)
        )
        assert values == pytest.approx(expected_values, abs=1e-10)


def rows_of_steps(tables: Tables, sentences: list[int], maximum_lengths: list[int], **options) -> list[int]:
    """The number of hypotheses in each step."""
    sizes = []

    def step(tokens: Tensor, state: dict) -> tuple[Tensor, dict]:
        sizes.append(len(tokens))
        return tables.step(tokens, state)

    run(step, tables.start(sentences), maximum_lengths, **options)
    return sizes


def test_finished_sentences_leave_the_batch() -> None:
    tables = Tables.random(2, 4, seed=0)
    tables.logits[0, :, END] += 30.0
    tables.logits[1, :, END] -= 30.0
    sizes = rows_of_steps(tables, [0, 1], [4, 4], beam=2, length_penalty="none")
    assert sizes == [2, 2, 2, 2, 2]  # two sentences with one hypothesis, then one with two


def plain_beam_search(tables, sentence, longest, *, beam, length_penalty, weight, stop, n_best):
    """Search for one sentence, one prefix at a time, without tensors."""
    live, ended = [(0.0, ())], []
    while live:
        length = len(live[0][1]) + 1
        best_possible = divided(max(total for total, _ in live), longest + 1, length_penalty, weight)
        if len(ended) >= n_best and best_possible <= sorted(ended)[-n_best][0]:
            break
        if stop == "beam" and len(ended) >= beam:
            break
        continued = []
        for total, prefix in live:
            code = functools.reduce(lambda code, token: code * VOCABULARY + token, prefix, 0)
            log_probabilities = tables.logits[sentence, code].log_softmax(-1).tolist()
            allowed = (END, *WORDS) if length <= longest else (END,)
            continued += [(total + log_probabilities[token], (*prefix, token)) for token in allowed]
        best = sorted(continued, reverse=True)[:beam]
        ended += [(divided(total, length, length_penalty, weight), total, y[:-1]) for total, y in best if y[-1] == END]
        live = [(total, y) for total, y in best if y[-1] != END]
    return [Hypothesis(y, total, score) for score, total, y in sorted(ended, reverse=True)[:n_best]]


@pytest.mark.parametrize(("kind", "weight"), PENALTIES)
@pytest.mark.parametrize("stop", ["exact", "beam"])
@pytest.mark.parametrize(("beam", "n_best"), [(1, 1), (2, 1), (3, 2), (5, 5), (400, 7)])
def test_it_finds_what_a_plain_beam_search_finds(
    beam: int, n_best: int, stop: str, kind: LengthPenalty, weight: float
) -> None:
    """Some sentences leave the batch early, some late."""
    lengths = [5, 3, 5, 0, 4, 5, 1, 5] if beam < 400 else [3, 0, 2, 1]  # then every hypothesis has a slot
    tables = Tables.random(len(lengths), max(lengths), seed=beam, sharpness=1.0)
    tables.logits[::2, :, END] -= 2.0
    tables.logits[:, :, [PADDING, BEGIN]] += 1.0  # the model likes what is forbidden
    options = {"beam": beam, "length_penalty": kind, "weight": weight, "stop": stop, "n_best": n_best}
    results = search(tables, list(range(len(lengths))), lengths, **options)
    expected = [plain_beam_search(tables, number, longest, **options) for number, longest in enumerate(lengths)]
    assert_same(results, expected)


@pytest.mark.parametrize("vocabulary", [700, 704])
@pytest.mark.parametrize("beam", [1, 4])
def test_the_best_units_of_a_large_vocabulary_are_found_anywhere(vocabulary: int, beam: int) -> None:
    generator = torch.Generator().manual_seed(beam)
    peaks = [[3, 4, 5, 6], [vocabulary - 1, vocabulary - 2, 64, 127], [63, 128, 130, 699], [66, 67, 68, 400]]
    logits = 0.1 * torch.randn(len(peaks), vocabulary, generator=generator, dtype=torch.float64)
    for row, peak in enumerate(peaks):
        logits[row, peak] += torch.tensor([9.0, 8.0, 7.0, 6.0], dtype=torch.float64)
    last = torch.full((vocabulary,), -50.0, dtype=torch.float64).index_fill(0, torch.tensor(END), 50.0)

    def step(tokens: Tensor, state: dict) -> tuple[Tensor, dict]:
        step_logits = logits if state["hypotheses"] == 0 else last.expand(len(tokens), -1)
        return step_logits, {**state, "hypotheses": state["hypotheses"] + 1}

    state = {"sentences": None, "hypotheses": 0}
    results = run(step, state, [1] * len(peaks), beam=beam, length_penalty="none", n_best=beam)
    assert [[hypothesis.tokens for hypothesis in n_best] for n_best in results] == [
        [(unit,) for unit in peak[:beam]] for peak in peaks
    ]


def test_a_diverged_model_is_an_error() -> None:
    tables = Tables.random(1, 2, seed=0)
    tables.logits[:] = torch.nan
    with pytest.raises(UserError, match="not a number"):
        search(tables, [0], [2])


def test_reorder_takes_rows_of_every_tensor() -> None:
    rows = torch.arange(6).view(3, 2)
    taken = reorder({"a": [rows, (rows[:, 0], None)], "b": 7, "c": {}}, torch.tensor([2, 2, 0]))
    (both, (first, nothing)) = taken.pop("a")
    assert (both.tolist(), first.tolist(), nothing) == ([[4, 5], [4, 5], [0, 1]], [4, 4, 0], None)
    assert taken == {"b": 7, "c": {}}
    with pytest.raises(TypeError, match="str"):
        reorder({"a": "text"}, torch.tensor([0]))
