"""Learning rates by update."""

import math

from context_nmt.settings.training import ScheduleSettings


def learning_rate(update: int, schedule: ScheduleSettings, *, width: int, maximum_updates: int) -> float:
    """The learning rate of an update, counted from 1."""
    progress = update / schedule.warmup
    match schedule.kind:
        case "vaswani":  # Vaswani et al. (2017) eq. 3
            return schedule.factor * width**-0.5 * schedule.warmup**-0.5 * min(progress, progress**-0.5)
        case "inverse_square_root":  # fairseq
            if progress <= 1:
                return schedule.initial_rate + (schedule.peak_rate - schedule.initial_rate) * progress
            return float(schedule.peak_rate * progress**-0.5)
        case "cosine":  # one cycle with warm-up, So et al. (2019)
            decay = schedule.decay_updates or max(1, maximum_updates - schedule.warmup)
            done = min(1.0, max(0, update - schedule.warmup) / decay)
            peak = schedule.factor * width**-0.5 * schedule.warmup**-0.5
            return peak * min(1.0, progress) * (0.5 + 0.5 * math.cos(math.pi * done))
