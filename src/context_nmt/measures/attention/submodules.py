"""Which submodules of a model show what goes on in its attentions; no mechanism is known by its name."""

from torch import nn

from context_nmt.models.model import Model


def attentions(model: Model) -> list[tuple[str, int, str]]:
    """Every attention of a model: its place (encoder, decoder or cross), its layer from 1, and its submodule's name."""
    encoder, decoder = range(len(model.encoder.layers)), range(len(model.decoder.layers))
    return [
        *(("encoder", number + 1, f"encoder.layers.{number}.self_attention") for number in encoder),
        *(("decoder", number + 1, f"decoder.layers.{number}.self_attention") for number in decoder),
        *(("cross", number + 1, f"decoder.layers.{number}.cross_attention") for number in decoder),
    ]


def weights_of(model: Model, path: str) -> list[str]:
    """The submodules of an attention that its weights [B, H, T, S] pass through, nn.Identity named `weights`."""
    return [
        f"{path}.{name}"
        for name, module in model.get_submodule(path).named_modules()
        if name.rpartition(".")[2] == "weights" and isinstance(module, nn.Identity)
    ]


def gates_of(model: Model, path: str) -> dict[str, str]:
    """By `query`, `key` and `value`, the one submodule named `gate` in that of this name, if it has one.

    It puts out how much of a context is mixed in, from 0 to 1: [B, T, ...], the same at every place or not.
    """
    names = [name.split(".") for name, _ in model.get_submodule(path).named_modules()]
    found = {}
    for side in ("query", "key", "value"):
        gates = [".".join(name) for name in names if name[0] == side and name[-1] == "gate"]
        if len(gates) == 1:
            found[side] = f"{path}.{gates[0]}"
    return found
