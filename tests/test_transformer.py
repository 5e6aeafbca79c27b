"""The plain Transformer equals PyTorch's, for whole sentences and step by step."""

import math
import warnings

import pytest
import torch
from small_models import (
    HEADS,
    LAYERS,
    SIZES,
    VOCABULARY,
    WIDTH,
    sentences,
    shake,
    small_model,
    small_plan,
    step_by_step,
)
from torch import nn
from torch.testing import assert_close

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.files import UserError
from context_nmt.models.building import build
from context_nmt.models.plans import Filling
from context_nmt.transformer.attention import Dropout, LayerContext, ScaledDotProduct
from context_nmt.transformer.embedding import sinusoids
from context_nmt.transformer.layers import DecoderLayer, EncoderLayer, FeedForward, Residual, causal_mask

EXACT = {"rtol": 0, "atol": 1e-10}
SOURCE = sentences(5, 3, 4, seed=1)
TARGETS = sentences(4, 6, 2, seed=2)
DROPOUTS = {  # the end of a submodule's name: the setting that it follows
    "residual.dropout": "dropout",
    "embedding.dropout": "embedding_dropout",
    "attend": "attention_dropout",
    "network.dropout": "feed_forward_dropout",
}
NORMS = pytest.mark.parametrize("norm", ["pre", "post"])


def torch_transformer(norm, activation):
    """PyTorch's Transformer in training mode; in evaluation mode it takes a path that writes zeros at padding."""
    sizes = (WIDTH, HEADS, LAYERS, LAYERS, SIZES["feed_forward_width"])
    options = {"dropout": 0.0, "activation": activation, "batch_first": True, "norm_first": norm == "pre"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "enable_nested_tensor")
        reference = nn.Transformer(*sizes, **options, dtype=torch.float64)
    if norm == "post":  # PyTorch norms the stack's output once more
        reference.encoder.norm = reference.decoder.norm = None
    return reference


def copy_stack(ours, theirs):
    def copy(module, name):
        reference.get_submodule(name).load_state_dict(module.state_dict())

    for layer, reference in zip(ours.layers, theirs.layers, strict=True):
        norms, attentions = [layer.residual.norm], {"self_attn": layer.self_attention}
        if hasattr(layer, "cross_attention"):
            attentions["multihead_attn"] = layer.cross_attention
            norms.append(layer.cross_residual.norm)
        for number, norm in enumerate([*norms, layer.feed_forward.residual.norm], start=1):
            copy(norm, f"norm{number}")
        copy(layer.feed_forward.network.inner, "linear1")
        copy(layer.feed_forward.network.outer, "linear2")
        for name, attention in attentions.items():
            projections = attention.query, attention.key, attention.value
            for part in ("weight", "bias"):
                together = torch.cat([getattr(projection, part).data for projection in projections])
                getattr(reference.get_submodule(name), f"in_proj_{part}").data = together
            copy(attention.output, f"{name}.out_proj")
    if theirs.norm is not None:
        theirs.norm.load_state_dict(ours.final_norm.state_dict())


@NORMS
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_it_equals_torch_nn_transformer(norm, activation):
    model = small_model(norm=norm, activation=activation, attention_bias=True)
    reference = torch_transformer(norm, activation)
    copy_stack(model.encoder, reference.encoder)
    copy_stack(model.decoder, reference.decoder)
    source, targets = model.source_embedding(SOURCE), model.target_embedding(TARGETS)

    ours = model(SOURCE, TARGETS)
    theirs = reference(
        source,
        targets,
        tgt_mask=~causal_mask(TARGETS.size(1), targets.device)[0, 0],
        src_key_padding_mask=SOURCE == PADDING,
        tgt_key_padding_mask=TARGETS == PADDING,
        memory_key_padding_mask=SOURCE == PADDING,
    )

    real = TARGETS != PADDING
    assert_close(ours[real], theirs[real], **EXACT)
    count, reference_count = (sum(tensor.numel() for tensor in one.parameters()) for one in (model, reference))
    assert count == reference_count + VOCABULARY * WIDTH


def test_sinusoids_follow_the_formula():
    signals = sinusoids(first=3, length=40, width=6, device=torch.device("cpu"))
    for row, position in enumerate(range(3, 43)):
        angles = [position / 10000 ** (2 * i / 6) for i in range(3)]
        expected = [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]
        assert signals[row].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("scaled", "factor"), [(True, math.sqrt(WIDTH)), (False, 1.0)])
def test_embeddings_are_scaled_and_biased_before_positions_are_added(scaled, factor, bias):
    model = small_model(embedding_scale=scaled, source_embedding_bias=bias)
    embedding, signals = model.source_embedding, sinusoids(2, SOURCE.size(1), WIDTH, SOURCE.device).double()
    expected = factor * embedding.table.weight[SOURCE] + (embedding.bias if bias else 0) + signals
    assert_close(embedding(SOURCE, first_position=2), expected, **EXACT)
    biases = [name for name, _ in model.named_parameters() if name.endswith("embedding.bias")]
    assert biases == ["source_embedding.bias"] * bias


def test_embeddings_have_the_initialisation_of_the_setting():
    def table(kind):
        torch.manual_seed(1)
        plan = small_plan(width=64, embedding_initialisation=kind)
        return build(plan, source_vocabulary=1000, target_vocabulary=1000).source_embedding.table.weight

    limit = math.sqrt(6 / (1000 + 64))
    assert table("normal").std().item() == pytest.approx(1 / 8, rel=0.02)
    assert table("normal").abs().max() > 3 / 8
    assert table("glorot").abs().max().item() == pytest.approx(limit, rel=0.01)
    assert table("glorot").std().item() == pytest.approx(limit / math.sqrt(3), rel=0.02)


@NORMS
def test_every_norm_has_the_epsilon_of_the_setting(norm):
    dual_context = Filling(mechanism="dual_context", settings={"kernel_size": 2})
    model = small_model({"encoder_self_attention": (dual_context,) * LAYERS}, norm=norm, layer_norm_epsilon=1e-3)
    epsilons = [module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)]
    assert len(epsilons) == 6 * LAYERS + (2 if norm == "pre" else 0)
    assert set(epsilons) == {1e-3}


def test_learned_positions_are_a_table_for_each_side():
    model = small_model(positions="learned", maximum_positions=6, embedding_scale=False)
    source, target = model.source_embedding, model.target_embedding
    assert_close(source(SOURCE), source.table.weight[SOURCE] + source.positions.weight[:5], **EXACT)
    assert_close(target(SOURCE, first_position=1), target.table.weight[SOURCE] + target.positions.weight[1:6], **EXACT)
    assert not torch.equal(source.positions.weight, target.positions.weight)


def test_a_sentence_longer_than_the_learned_positions_is_refused():
    model = small_model(positions="learned", maximum_positions=4)
    with pytest.raises(UserError, match=r"5 units.* 4$"):
        model.encode(SOURCE)
    step_by_step(model, SOURCE[:, :4], sentences(4, 4, 4, seed=3))
    with pytest.raises(UserError, match=r"5 units.* 4$"):
        step_by_step(model, SOURCE[:, :4], sentences(5, 5, 5, seed=3))


def test_hooks_read_attention_weights_without_changing_the_output():
    model, seen = small_model(), {}
    fused = model(SOURCE, TARGETS)
    hooks = [
        module.register_forward_hook(lambda _, __, output, name=name: seen.update({name: output}))
        for name, module in model.named_modules()
        if name.endswith("attend.weights")
    ]
    assert len(hooks) == 3 * LAYERS
    assert_close(model(SOURCE, TARGETS), fused, **EXACT)
    for name, weights in seen.items():
        rows, allowed = (SOURCE if name.startswith("encoder") else TARGETS).size(1), (SOURCE != PADDING)[:, None, None]
        if name.startswith("decoder") and "self_attention" in name:
            allowed = causal_mask(rows, TARGETS.device)
        assert weights.shape == (len(SOURCE), HEADS, rows, allowed.size(-1))
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64), **EXACT)
        assert torch.equal(weights > 0, allowed.expand_as(weights))
    for hook in hooks:
        hook.remove()
    assert torch.equal(model(SOURCE, TARGETS), fused)


def test_each_dropout_has_the_probability_of_its_setting():
    values = {setting: number / 10 for number, setting in enumerate(DROPOUTS.values(), start=1)}
    model = small_model(**values)
    found = set()
    for path, module in model.named_modules():
        if isinstance(module, Dropout | ScaledDotProduct):
            (setting,) = (setting for end, setting in DROPOUTS.items() if path.endswith(end))
            assert (module.probability if isinstance(module, Dropout) else module.dropout) == values[setting], path
            found.add(setting)
    assert found == set(values)


class ZeroAttention(nn.Module):
    """An attention with an output of 0, which is added to its queries."""

    residual_of_queries = True

    def forward(self, queries, context):
        return torch.zeros_like(queries)


@NORMS
def test_a_residual_may_start_from_the_queries(norm):
    states = torch.randn(2, 3, WIDTH)
    mask = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    ids = torch.ones(2, 3, dtype=torch.long)
    context = LayerContext((states,), (), mask, causal=False, real_tokens=ids.bool(), ids=ids)
    first, cross, last = (shake(Residual(nn.LayerNorm(WIDTH), pre=norm == "pre", dropout=0.0)) for _ in range(3))
    parts = {
        "self_attention": ZeroAttention(),
        "residual": first,
        "feed_forward": FeedForward(network=ZeroAttention(), residual=last),
    }

    def left(states):
        return states if norm == "pre" else last.norm(states)

    assert_close(EncoderLayer(**parts)(states, context)[0], left(first.norm(states)))
    decoder = DecoderLayer(**parts, cross_attention=ZeroAttention(), cross_residual=cross)
    cross_context = context.over_memory((states,), ids, mask, None)
    assert_close(decoder(states, context, cross_context, context)[0], left(cross.norm(first.norm(states))))
