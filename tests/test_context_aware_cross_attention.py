"""Context-aware cross-attention: the equations written out, with windows at the edges."""

import math

import pytest
import torch
from contract import EXACT, layer_context, small_place
from small_models import HEADS, WIDTH, shake
from torch.testing import assert_close

from context_nmt.mechanisms import context_aware_cross_attention as mechanism

(SLOT,) = mechanism.SLOTS
SIZE = WIDTH // HEADS


def slow(layer, queries, memory, real, window, center):
    """Equations 1 and 2 for one sentence, word by word and head by head."""
    q, k, v = layer.query(queries), layer.key(memory), layer.value(memory)
    w, c = layer.gate[0].weight[0], layer.gate[0].bias[0]
    output = []
    for i in range(len(queries)):
        heads = []
        for head in (slice(start, start + SIZE) for start in range(0, WIDTH, SIZE)):
            query = q[i, head] / math.sqrt(SIZE)
            psi = torch.stack([query @ k[j, head] for j in range(real)])
            middle = int(psi.argmax()) if center == "alignment" else min(i, real - 1)
            near = [j for j in range(real) if abs(j - middle) <= window]
            local = dict(zip(near, psi[near].softmax(0), strict=True))
            gate = torch.sigmoid(query @ w + c)
            weights = [gate * a + (1 - gate) * local.get(j, 0.0) for j, a in enumerate(psi.softmax(0))]
            heads.append(sum(weight * v[j, head] for j, weight in enumerate(weights)))
        output.append(layer.output(torch.cat(heads)))
    return torch.stack(output)


@pytest.mark.parametrize("center", ["alignment", "target"])
@pytest.mark.parametrize("window", [0, 1, 3, 8])
def test_it_follows_the_equations(window, center):
    torch.manual_seed(1)
    settings = mechanism.Settings(window=window, center=center)
    layer = shake(mechanism.build(settings, small_place(SLOT)).double()).eval()
    queries, memory = (torch.randn(length, WIDTH, dtype=torch.float64) for length in (9, 8))
    mask = (torch.arange(8) < 6)[None, None, None]  # the last two are padding
    context = layer_context([queries], [queries], causal=False, mask=mask, memory_states=(memory[None],))
    assert_close(layer(queries[None], context)[0], slow(layer, queries, memory, 6, window, center), **EXACT)
