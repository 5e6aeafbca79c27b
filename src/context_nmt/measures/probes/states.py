"""The states of every layer of a model's two stacks at the units of sentence pairs, and their cosines to layer 0.

The encoder sees the source and END, the decoder the reference: an autoregressive one after BEGIN, a masked one whole,
with no unit masked. A model that looks at previous sentences sees none before these. Layer 0 is the embeddings with
their positions; another layer is the output of its feed-forward sublayer, residual included, and the last one that of
the stack's final norm.
"""

from dataclasses import dataclass

from torch import Tensor

from context_nmt.corpus.batching import Indices
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding.in_batches import evaluating
from context_nmt.measures.attention.recording import recording
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model
from context_nmt.training.batches import Pairs

STACKS = ("encoder", "decoder")


@dataclass(frozen=True)
class Layers:
    """One stack's states of B sentences."""

    states: tuple[Tensor, ...]  # [B, T, D] each: [0] embeddings, [-1] the stack's output
    ids: Tensor  # [B, T], the input unit at each position
    real: Tensor  # bool [B, T], True = a unit of the text: not BEGIN, END or padding


def read_layers(model: Model, pairs: Pairs, numbers: Indices) -> dict[str, Layers]:
    """Return the states of both stacks for the sentence pairs with these numbers."""
    batch = pairs.load(numbers)
    inputs = batch.targets if isinstance(model, MaskedLanguageModel) else batch.target_inputs
    inner = [f"decoder.layers.{number}.feed_forward" for number in range(len(model.decoder.layers) - 1)]
    names = ["target_embedding", *inner, "decoder.final_norm"]
    with evaluating(model):
        memory = model.encode(batch.source)
        with recording(model, names) as outputs:
            model.decode(inputs, memory)
    states = {"encoder": (memory.states, batch.source), "decoder": (tuple(outputs[name] for name in names), inputs)}
    return {
        # clones, since no classifier can learn from tensors of the inference mode
        stack: Layers(tuple(state.clone() for state in own), ids, (ids != PADDING) & (ids != BEGIN) & (ids != END))
        for stack, (own, ids) in states.items()
    }


def cosines(layers: Layers) -> list[tuple[Tensor, Tensor]]:
    """For each layer from 1, return the cosines to layer 0: of every real position [N], and of every sentence [B].

    The code of Emelin et al. (2019, figures 6 and 7) takes a sentence's states, at all its positions, as one vector.
    BEGIN and END are left out here.
    """
    embeddings, there = layers.states[0].double(), layers.real.any(1)
    found = []
    for states in (one.double() for one in layers.states[1:]):
        products, norms, others = (
            (one * other).sum(-1) * layers.real  # [B, T], 0 where there is no unit
            for one, other in ((embeddings, states), (embeddings, embeddings), (states, states))
        )
        tokens = products[layers.real] / (norms[layers.real] * others[layers.real]).sqrt()
        product, norm, other = (values[there].sum(1) for values in (products, norms, others))
        found.append((tokens, product / (norm * other).sqrt()))
    return found
