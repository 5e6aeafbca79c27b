"""The device that a model runs on."""

import os

import torch

from context_nmt.files import UserError


def device_named(name: str) -> torch.device:
    """Return a device; `auto` is a GPU if there is one (torchrun's n-th process takes the n-th), else the CPU.

    Raise UserError for a device that is not available.
    """
    if name == "auto":
        name = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:  # the last two if torch was built without it
        raise UserError(f"--device {name}: not available here ({str(error).splitlines()[0]})") from None
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device
