"""The ten probing tasks of Conneau et al. (2018), "What you can cram into a single vector", from gold trees.

Files, labels and format are SentEval's (data/probing): lines `split<TAB>label<TAB>tokens`, the splits tr, va, te in
this order, shuffled within. As published, no sentence occurs twice in a task, or as it is and changed. Each split is
balanced over the classes exactly. Classes without enough sentences are left out; the others keep their labels.

- sentence_length (SentLen): tokens in 6 bins, 5-8, 9-12, 13-16, 17-20, 21-25, 26-28. Here those that the pool fills.
- word_content (WC): which of 1000 words of middle frequency, from 4 letters, occurs, once and with no other of them.
  Here at most `words`, the rarest with enough such sentences.
- tree_depth (TreeDepth): depth of the tree, 5 to 12, sampled so that it does not correlate with the length. Here the
  pool's own depths, and at every length equally many sentences of each: the length says nothing at all.
- bigram_shift (BShift): two neighbouring words are swapped (I) or not (O); neither the first one nor punctuation, no
  sentence with quotes. As published.
- top_constituents (TopConst): the 19 most frequent sequences of labels below the top clause, and OTHER; no quotes. The
  paper leaves out sentences with commas between them; here the comma is left out of the label.
- past_present (Tense): the main verb is PRES (VBZ, VBP) or PAST (VBD); no verb form in two splits. The paper takes
  forms with 100 to 5000 occurrences; here a split takes equally many sentences of each of its forms, as far as it can.
- subj_number (SubjNum): the main clause's subject is NN or NNS; no noun form in two splits. As past_present.
- obj_number (ObjNum): the same of the direct object.
- odd_man_out (SOMO): a noun or verb is replaced (C) or not (O) by one with comparable bigrams on both sides, which
  replaces others in one split only. The paper takes any word with 40 to 400 occurrences. Here it is in 0.1% to 5% of
  the sentences, its bigrams are at most three times or a third as frequent, and words of its kind (those that keep like
  company in the pool) never meet a verb near the noun or a noun near the verb, though chance would have them meet
  twice: in a small lexicon, most words fit as well as the original.
- coordination_inversion (CoordInv): two coordinated clauses in their order (O) or inverted (I), with no other
  conjunction. Equally many O and I have a longer first clause, a longer second one, and equal ones; the paper also
  balances these three among each other.
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
