"""The states of every layer of both stacks at the units of sentence pairs, and their cosines to layer 0.

The encoder reads the source and END, the decoder the reference: after BEGIN in an autoregressive model, with no unit
masked in a masked model. A model that uses previous sentences gets none here. Layer 0 is the embeddings with positions,
the last layer the output of the final norm, and any other layer the output of its feed-forward sublayer, including the
residual.
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
    """The states of one stack for B sentences."""

    states: tuple[Tensor, ...]  # [B, T, D] each: [0] embeddings, [-1] the stack's output
    ids: Tensor  # [B, T], the input unit at each position
    real: Tensor  # bool [B, T], True = a unit of the text: not BEGIN, END or padding


def read_layers(model: Model, pairs: Pairs, numbers: Indices) -> dict[str, Layers]:
    """Return the states of both stacks for the sentence pairs with these numbers."""
    batch = pairs.load(numbers).to(next(model.parameters()).device)
    inputs = batch.targets if isinstance(model, MaskedLanguageModel) else batch.target_inputs
    inner = [f"decoder.layers.{number}.feed_forward" for number in range(len(model.decoder.layers) - 1)]
    names = ["target_embedding", *inner, "decoder.final_norm"]
    with evaluating(model):
        memory = model.encode(batch.source)
        with recording(model, names) as outputs:
            model.decode(inputs, memory)
    states = {"encoder": (memory.states, batch.source), "decoder": (tuple(outputs[name] for name in names), inputs)}
    return {
        # clones, since tensors made in inference mode cannot be used in training
        stack: Layers(tuple(state.clone() for state in layers), ids, (ids != PADDING) & (ids != BEGIN) & (ids != END))
        for stack, (layers, ids) in states.items()
    }


def cosines(layers: Layers) -> list[tuple[Tensor, Tensor]]:
    """Return the cosines to layer 0 of each layer from 1: of every real position [N], and of every sentence [B].

    The code of Emelin et al. (2019, figures 6 and 7) concatenates the states of all positions of a sentence into one
    vector. BEGIN and END are left out here.
    """
    embeddings, with_units = layers.states[0].double(), layers.real.any(1)
    pairs = []
    for states in (one.double() for one in layers.states[1:]):
        products, embedding_norms, state_norms = (
            (one * other).sum(-1) * layers.real  # [B, T], 0 where there is no unit
            for one, other in ((embeddings, states), (embeddings, embeddings), (states, states))
        )
        tokens = products[layers.real] / (embedding_norms[layers.real] * state_norms[layers.real]).sqrt()
        product, norm, other = (values[with_units].sum(1) for values in (products, embedding_norms, state_norms))
        pairs.append((tokens, product / (norm * other).sqrt()))
    return pairs
