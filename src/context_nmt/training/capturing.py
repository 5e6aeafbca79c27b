"""Gradients on a GPU by CUDA graphs: the kernels of a batch are recorded once for each shape, and then replayed.

For a batch of 3,072 tokens, starting the kernels one by one takes four times as long as running them. Replayed kernels
give the same bytes, which tests/test_gpu.py checks.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.files import UserError
from context_nmt.models.model import Model
from context_nmt.training.batches import Batch

MAXIMUM_GRAPHS = 512  # for batches of other shapes, kernels are started one by one
SHORT_LENGTH = 32  # up to which lengths are multiples of 4; longer ones are multiples of 8

AddGradients = Callable[[Batch, Tensor], Tensor]
Shape = tuple[torch.Size, ...]


@dataclass(frozen=True)
class Capture:
    """A recorded computation, with the tensors that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    sums: Tensor


class CapturedGradients:
    """`add_gradients` of an Updater, captured when the shape of a batch occurs for the second time."""

    def __init__(self, add_gradients: AddGradients, model: Model) -> None:
        self.compute, self.model = add_gradients, model
        self.tokens = torch.ones((), device=model.device)
        self.captures: dict[Shape, Capture | None] = {}
        self.stream = torch.cuda.Stream(model.device)  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle()
        for parameter in model.parameters():  # graphs add to the gradients where these are now
            parameter.grad = torch.zeros_like(parameter)

    def prepare(self, batch: Batch) -> Batch:
        """Copy a batch to the GPU, with one of few shapes."""
        return with_few_shapes(batch, self.model).to(self.model.device)

    def add_gradients(self, batch: Batch, tokens: float) -> Tensor:
        """Add the gradients of a batch's loss, divided by `tokens`; return the sums of its losses, float64 [2]."""
        self.tokens.fill_(tokens)
        shape = tuple(tensor.shape for tensor in batch.tensors.values())
        if shape not in self.captures:
            if len(self.captures) < MAXIMUM_GRAPHS:
                self.captures[shape] = None
            return self._compute(batch)
        capture = self.captures[shape] = self.captures[shape] or self._capture(batch)
        for static, tensor in zip(capture.batch.tensors.values(), batch.tensors.values(), strict=True):
            static.copy_(tensor)
        capture.graph.replay()
        return capture.sums

    def _compute(self, batch: Batch) -> Tensor:
        """Start the kernels one by one, on the stream on which they are captured."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            sums = self.compute(batch, self.tokens)
        torch.cuda.current_stream().wait_stream(self.stream)
        return sums

    def _capture(self, batch: Batch) -> Capture:
        static = replace(batch, **{name: tensor.clone() for name, tensor in batch.tensors.items()})
        graph = torch.cuda.CUDAGraph()
        try:  # other threads may use the GPU meanwhile, to copy the next batches
            with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
                sums = self.compute(static, self.tokens)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise UserError(
                f"the kernels of a batch cannot be recorded ({str(error).splitlines()[0]}); set training.cuda_graphs to"
                " false if a mechanism reads the values of tensors"
            ) from error
        return Capture(graph, static, sums)


def with_few_shapes(batch: Batch, model: Model) -> Batch:
    """Lengthen both sides to multiples of 4 or 8; then no shape depends on the number of predicted positions."""
    padded: dict[str, Any] = {}
    for name in ("source", "target_inputs", "targets"):
        ids = batch.tensors[name]
        embedding = model.source_embedding if name == "source" else model.target_embedding
        length = ids.size(1)
        step = 4 if length <= SHORT_LENGTH else 8
        longer = -(-length // step) * step
        if embedding.positions is not None:  # learned
            longer = max(length, min(longer, embedding.positions.num_embeddings))
        padded[name] = functional.pad(ids, (0, longer - length), value=PADDING)
    return replace(batch, **padded, predicted=None)
