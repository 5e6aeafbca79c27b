"""The Dual Contextual module: the equations written out."""

import pytest
import torch
from contract import EXACT, layer_context, small_place
from small_models import WIDTH, shake, slow_attention
from torch.testing import assert_close

from context_nmt.mechanisms import dual_context


def slow(layer, r, mask, before):
    """Equations 6 to 8, position by position; r [T, D] has no padding, mask [T, T]."""
    length, size = len(r), layer.local_context.kernel_size
    local = layer.local_context
    l_c = []
    for t in range(length):
        window = [r[s] if 0 <= s < length else torch.zeros(WIDTH) for s in range(t - before, t - before + size)]
        conv = local.convolution.weight @ torch.cat(window).double() + local.convolution.bias
        l_c.append(local.norm(conv[:WIDTH] * torch.sigmoid(conv[WIDTH:]) + r[t]))
    units = ((layer.local_interaction, torch.stack(l_c)), (layer.global_interaction, r))
    h = [slow_attention(unit.query(r), unit.key(memory), unit.value(memory), mask) for unit, memory in units]
    return layer.output(torch.cat(h, dim=-1))


@pytest.mark.parametrize("kernel_size", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("causal", [False, True])
def test_it_follows_the_equations(kernel_size, causal):
    place = small_place("decoder_self_attention" if causal else "encoder_self_attention")
    torch.manual_seed(3)
    layer = shake(dual_context.build(dual_context.Settings(kernel_size=kernel_size), place).double()).eval()
    r = torch.randn(6, WIDTH, dtype=torch.float64)
    context = layer_context([r], [r], causal=causal)
    before = kernel_size - 1 if causal else (kernel_size - 1) // 2
    assert_close(layer(r[None], context)[0], slow(layer, r, context.mask[0, 0], before), **EXACT)
