"""Lexical shortcuts: the equations written out, for every kind of shortcut."""

import pytest
import torch
from contract import EXACT, experiment, layer_context, small_place
from small_models import WIDTH, shake, slow_attention
from torch.testing import assert_close

from context_nmt.mechanisms import lexical_shortcuts as mechanism
from context_nmt.models.building import build
from context_nmt.pipeline.planning import plan

ENCODER, DECODER, CROSS = mechanism.SLOTS


def gated(unit, e, h):
    """Equations 5 to 14 for one position."""
    if hasattr(unit, "shortcut"):
        shortcut, projected = unit.shortcut(e), unit.projection(h)
    else:
        both = unit.projection.weight @ torch.cat([e, h]) + unit.projection.bias
        shortcut, projected = both[:WIDTH], both[WIDTH:]
    if not hasattr(unit.mixed, "bias"):
        return shortcut + projected
    gate = torch.sigmoid(shortcut + projected + unit.mixed.bias)
    return gate * shortcut + (1 - gate) * projected


def slow(layer, queries, shortcuts, states, mask):
    """The output, position by position and head by head; queries, shortcuts and states are [T, D] each."""
    keys, values = (
        torch.stack([gated(unit, e, h) for e, h in zip(shortcuts, states, strict=True)])
        for unit in (layer.key, layer.value)
    )
    return layer.output(slow_attention(layer.query(queries), keys, values, mask))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("gates", [True, False])
@pytest.mark.parametrize("lexical", [True, False])
@pytest.mark.parametrize("feature_fusion", [True, False])
@pytest.mark.parametrize("slot", mechanism.SLOTS)
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_it_follows_the_equations(depth, slot, feature_fusion, lexical, gates, normalized):
    torch.manual_seed(depth)
    more = {"gates": gates, "normalized_states": normalized}
    settings = mechanism.Settings(feature_fusion=feature_fusion, lexical=lexical, **more)
    layer = shake(mechanism.build(settings, small_place(slot, layer=depth)).double()).eval()
    queries, *states = torch.randn(5, 4, WIDTH, dtype=torch.float64)
    states = states[:depth]  # embeddings, then the outputs of the layers below
    memory = list(torch.randn(3, 4, WIDTH, dtype=torch.float64)) if slot == CROSS else []
    memory_states = tuple(state[None] for state in memory)
    context = layer_context(states, [queries], causal=slot == DECODER, memory_states=memory_states)
    if slot == CROSS:
        shortcut, top = memory[0 if lexical else -2], memory[-1]
    else:  # not lexical: the output of layer l - 2, or E if there is none
        shortcut, top = states[0 if lexical else max(depth - 2, 0)], queries if normalized else states[-1]
    assert_close(layer(queries[None], context)[0], slow(layer, queries, shortcut, top, context.mask[0, 0]), **EXACT)


@pytest.mark.parametrize("slot", mechanism.SLOTS)
def test_the_authors_residual_starts_from_the_normalized_input(slot):
    """Under post-norm nothing is normalized before the attention, and the flag changes nothing."""
    outputs = {}
    for norm in ("pre", "post"):
        for official in (False, True):
            entry = {"mechanism": "lexical_shortcuts", "official_residual": official}
            chosen = plan(experiment(model={"norm": norm}, slots={slot: entry}), "one").training.model
            torch.manual_seed(1)
            model = build(chosen, source_vocabulary=20, target_vocabulary=20).double().eval()
            outputs[norm, official] = model(torch.tensor([[5, 6, 7]]), torch.tensor([[2, 8]]))
    assert torch.equal(outputs["post", True], outputs["post", False])
    assert not torch.allclose(outputs["pre", True], outputs["pre", False], rtol=0, atol=1e-3)
