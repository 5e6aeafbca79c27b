"""Where a model runs."""

import os

import torch

from context_nmt.files import UserError


def device_named(name: str) -> torch.device:
    """`auto` is a GPU where there is one (torchrun's n-th process takes the n-th), else the CPU.

    Raises UserError for a device that is not there.
    """
    if name == "auto":
        name = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:  # the latter two where torch was built without it
        raise UserError(f"--device {name}: not available here ({str(error).splitlines()[0]})") from None
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device
