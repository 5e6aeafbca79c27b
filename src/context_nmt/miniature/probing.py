"""The ten probing tasks of Conneau et al. (2018), "What you can cram into a single vector", from gold trees.

Files, labels and format are SentEval's (data/probing). As published, no sentence occurs twice in a task, or unchanged
and changed. README.md has the definition of each task and what differs here.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from context_nmt.files import UserError, write_lines
from context_nmt.miniature import probing_tasks
from context_nmt.miniature.probing_odd_word import odd_man_out
from context_nmt.miniature.probing_samples import SPLITS, Dealer, ParsedSentence, Task
from context_nmt.settings.miniature import ProbingSettings

TASKS: Mapping[str, Callable[[Sequence[ParsedSentence], Dealer], Task]] = {
    "sentence_length": probing_tasks.sentence_length,
    "word_content": probing_tasks.word_content,
    "tree_depth": probing_tasks.tree_depth,
    "bigram_shift": probing_tasks.bigram_shift,
    "top_constituents": probing_tasks.top_constituents,
    "past_present": probing_tasks.past_present,
    "subj_number": probing_tasks.subj_number,
    "obj_number": probing_tasks.obj_number,
    "odd_man_out": odd_man_out,
    "coordination_inversion": probing_tasks.coordination_inversion,
}


def write_probing_tasks(
    sentences: Sequence[ParsedSentence], folder: Path, settings: ProbingSettings, random: Random
) -> None:
    """Write FOLDER/TASK.txt for all ten tasks; raises UserError for too few sentences or sizes of an unknown task."""
    for name in settings.training_of:
        if name not in TASKS:
            raise UserError(f"probing.training_of.{name}: no such task; there are {', '.join(TASKS)}")
    distinct = list({sentence.text: sentence for sentence in sentences}.values())
    for name, task in TASKS.items():
        try:
            examples = task(distinct, Dealer(settings.of(name), random))
        except UserError as error:
            raise UserError(f"probing task {name}: {error}") from None
        lines = (f"{split}\t{example.label}\t{example.text}" for split in SPLITS for example in examples[split])
        write_lines(folder / f"{name}.txt", lines)
