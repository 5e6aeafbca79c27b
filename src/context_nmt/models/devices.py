"""Where a model runs."""

import torch

from context_nmt.files import UserError


def device_named(name: str) -> torch.device:
    """`auto` is a GPU where there is one, else the CPU; raises UserError for a device that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:  # the latter two where torch was built without it
        raise UserError(f"--device {name}: not available here ({str(error).splitlines()[0]})") from None
    return device
