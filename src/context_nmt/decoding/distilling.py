"""Sequence-level distillation (Kim and Rush 2016): a teacher's translations replace the training target."""

import hashlib
import json
import shutil
import sys
import time

from context_nmt.code_closure import digest_of_module
from context_nmt.corpus.binarized import BinarizedCorpus, write_ids
from context_nmt.decoding.translating import translate_ids
from context_nmt.decoding.workers import usable
from context_nmt.files import iterate_lines, replacing_folder, sha256, write_json, write_lines
from context_nmt.models.checkpoints import RUN_WEIGHTS, load_run
from context_nmt.models.devices import device_named
from context_nmt.models.processes import processes
from context_nmt.settings import read_settings
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.run_layout import RunLayout, run_name

SHARD = 10_000  # sentences; a kill loses no more than one shard


def distill_run(experiment: RunLayout, teacher: str, seed: int, *, device: str, shard: int = SHARD) -> None:
    """Translate the training source with a run into `runs/distilled`: the same number of lines in the same order.

    The search is the teacher's own. Finished shards stay in `runs/scratch` until all are finished, and a killed
    distillation resumes after them. Where torchrun started several processes, they share the work.
    """
    path = experiment.plan(teacher, "decoding")
    settings = read_settings(DecodingSettings, path)
    corpus, run = BinarizedCorpus(experiment.binarized), run_name(teacher, seed)
    where = device_named(device)
    model = load_run(experiment.model(run), where, corpus)
    source = corpus.side(corpus.train, corpus.source)
    read = [path, experiment.plan(teacher, "training"), experiment.model(run) / RUN_WEIGHTS]
    for files in ("vocabulary.*.txt", f"{corpus.train}.{corpus.source}.*.npy"):
        read += sorted(corpus.training_folder.glob(files))
    # The translations depend on these, the code and where shards are cut: other ones have another scratch folder.
    dependencies = json.dumps([shard, digest_of_module(__name__), *map(sha256, read)])
    scratch = experiment.scratch(f"distilled-{run}") / hashlib.sha256(dependencies.encode()).hexdigest()[:16]
    shards = [scratch / f"{start:010d}.txt" for start in range(0, len(source), shard)]
    with processes(where) as group:
        began, missing = time.monotonic(), [path for path in shards if not path.is_file()]
        for done, part in enumerate(missing):
            start = int(part.stem)
            found = translate_ids(
                model,
                [source[number] for number in range(start, min(start + shard, len(source)))],
                settings,
                device=where,
                progress=f"{run} from {start + 1:,} of {len(source):,}" if group.first else None,
                workers=usable(where),
                processes=group,
            )
            if group.first:
                units = corpus.target_vocabulary
                write_lines(part, (units.text(best[0].tokens) for best in found))
                left = (time.monotonic() - began) / (done + 1) * (len(missing) - done - 1)
                print(f"{len(missing) - done - 1} shards left, about {left / 60:.0f} minutes", file=sys.stderr)
    if not group.first:
        return
    name = f"{corpus.train}.{corpus.target}"
    with replacing_folder(experiment.distilled) as folder:
        write_lines(folder / name, (line for path in shards for line in iterate_lines(path)))
        write_ids(folder / name, folder, corpus.target_vocabulary)
        write_json(folder / "distilled.json", {"teacher": run, "sentences": len(source)})
        BinarizedCorpus(experiment.binarized, training_target=folder).parallel(corpus.train)
    shutil.rmtree(experiment.scratch(f"distilled-{run}"))
