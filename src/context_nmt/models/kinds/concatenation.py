"""Translation of a sentence joined with those before it (Tiedemann and Scherrer 2017, Agrawal et al. 2018).

The source is up to `previous_sources` sentences, BREAK after each, and the current one; the target has up to
`previous_targets` in the same way, which are translated once more. 3 and 0 are 4-to-1, 1 and 1 are 2-to-2.
"""

from typing import Any

from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.models.model import Model
from context_nmt.settings.model import ModelSettings


def build(settings: ModelSettings, parts: dict[str, Any]) -> Model:
    """Build the Transformer of these parts, which knows how many sentences are joined."""
    model = TranslationModel(**parts)
    model.previous_sources, model.previous_targets = settings.previous_sources, settings.previous_targets
    return model
