"""Sequence-level distillation (Kim and Rush 2016): a teacher's translations replace the training target."""

import hashlib
import json
import shutil

from context_nmt.code_closure import digest_of_module
from context_nmt.corpus.binarized import BinarizedCorpus, write_ids
from context_nmt.decoding.in_batches import join_processes_with_workers
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import iterate_lines, replacing_folder, sha256, write_json, write_lines
from context_nmt.models.checkpoints import RUN_WEIGHTS, load_run
from context_nmt.models.devices import device_named, resolve_precision
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.run_layout import RunLayout, run_name

SHARD_SENTENCES = 10_000  # a killed distillation loses at most one shard


def distill_run(experiment: RunLayout, teacher: str, seed: int, *, device: str, shard: int = SHARD_SENTENCES) -> None:
    """Translate the training source with a run into `runs/distilled/SEED`, line by line.

    The search settings are the teacher's. Shards stay in `runs/scratch` until all are finished, and a killed
    distillation resumes after the finished ones. If torchrun started several processes, they share the work.
    """
    path = experiment.plan(teacher, "decoding")
    settings = read_plan(DecodingSettings, path)
    corpus, run = BinarizedCorpus(experiment.binarized), run_name(teacher, seed)
    model = load_run(experiment.model(run), device_named(device), corpus)
    source = corpus.side(corpus.train, corpus.source)
    precision = resolve_precision(settings.precision, model.device)
    files = [path, experiment.plan(teacher, "training"), experiment.model(run) / RUN_WEIGHTS]
    for pattern in ("vocabulary.*.txt", f"{corpus.train}.{corpus.source}.*.npy"):
        files += sorted(corpus.training_folder.glob(pattern))
    # A change of these files, the code or the shard size, on which translations depend, gives another scratch folder.
    dependencies = json.dumps([shard, precision, digest_of_module(__name__), *map(sha256, files)])
    scratch = experiment.scratch(f"distilled-{run}") / hashlib.sha256(dependencies.encode()).hexdigest()[:16]
    shards = [scratch / f"{start:010d}.txt" for start in range(0, len(source), shard)]
    with join_processes_with_workers(model.device) as group:
        sizes = {path: min(shard, len(source) - int(path.stem)) for path in shards if not path.is_file()}
        done = len(source) - sum(sizes.values())
        for shard_path in tracked(sizes, run, unit="sentences", sizes=sizes.values(), done=done):
            start = int(shard_path.stem)
            translations = translate_ids(
                model,
                [source[number] for number in range(start, start + sizes[shard_path])],
                settings,
                progress=f"{run} from {start + 1:,} of {len(source):,}",
                processes=group,
            )
            if group.is_first:
                vocabulary = corpus.target_vocabulary
                write_lines(shard_path, (vocabulary.text(hypotheses[0].tokens) for hypotheses in translations))
    if not group.is_first:
        return
    name = f"{corpus.train}.{corpus.target}"
    with replacing_folder(experiment.distilled(str(seed))) as folder:
        write_lines(folder / name, (line for path in shards for line in iterate_lines(path)))
        write_ids(folder / name, folder, corpus.target_vocabulary)
        write_json(folder / "distilled.json", {"teacher": run, "sentences": len(source)})
        BinarizedCorpus(experiment.binarized, training_target=folder).parallel(corpus.train)
    shutil.rmtree(experiment.scratch(f"distilled-{run}"))
