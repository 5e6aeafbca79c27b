"""Resolve the conflicts of `git merge` in the files that stages write.

When two clones have run stages of one experiment, both have changed its dvc.lock. Git merges it by lines, which can
lose stages or join halves of two. Here it is merged by stages, and DVC, which compares hashes, runs what does not fit
together. The lock is needed: DVC's run cache restores no stage with outputs in git, as trainings have.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dvc.utils.serialize import dump_yaml, loads_yaml

from context_nmt.files import UserError, replacing

WRITTEN = re.compile(r"(experiments/[^/]+/)?(metrics|reports)/|src/code/")
BASE, OURS, THEIRS = "123"  # git's names of the versions of a file in conflict

Entries = Mapping[str, Any]  # the stages of a dvc.lock


def resolve(folder: Path) -> list[str]:
    """Resolve the conflicts in a folder as far as stages wrote the files; return what the user should know, as lines.

    A dvc.lock is merged by stages; other files are kept as they are on this side, and stages write them again. Raise
    UserError if nothing is in conflict.
    """
    conflicts = defaultdict[str, dict[str, str]](dict)  # file -> version -> its blob
    for line in filter(None, _git(folder, "ls-files", "--unmerged", "-z").split("\0")):
        attributes, _, name = line.partition("\t")
        _, blob, version = attributes.split()
        conflicts[name][version] = blob
    if not conflicts:
        raise UserError(f"{folder.resolve()}: no conflicts here; call this after a git merge that stopped at conflicts")
    lines, kept, left = list[str](), list[str](), list[str]()
    for name, blobs in conflicts.items():
        is_lock = Path(name).name == "dvc.lock"
        if not is_lock and not WRITTEN.match(name):
            left.append(f"{name}: left to you")
        elif OURS not in blobs:
            _git(folder, "rm", "--quiet", "--", name)
        else:
            _git(folder, "checkout", "--ours", "--", name)
            if is_lock and THEIRS in blobs:
                locks = {version: loads_yaml(_git(folder, "cat-file", "blob", blob)) for version, blob in blobs.items()}
                sides = [(locks.get(version) or {}).get("stages", {}) for version in (BASE, OURS, THEIRS)]
                with replacing(folder / name) as temporary:
                    dump_yaml(temporary, (locks[OURS] or {}) | {"stages": merged(*sides)})
                lines += [f"{name}: {line}" for line in _what_happened(*sides)]
            else:
                kept.append(name)
            _git(folder, "add", "--", name)
    if kept:
        others = f" and {len(kept) - 1} others" if len(kept) > 1 else ""
        lines.append(f"{kept[0]}{others}: kept as on this side; stages write them again")
    return [*lines, *left]


def merged(base: Entries, ours: Entries, theirs: Entries) -> dict[str, Any]:
    """Merge the stages of two locks: one that a single side has changed is that side's, one that both have, ours."""
    names = dict.fromkeys([*ours, *theirs])
    chosen = {name: (theirs if ours.get(name) == base.get(name) else ours).get(name) for name in names}
    return {name: entry for name, entry in chosen.items() if entry is not None}


def _what_happened(base: Entries, ours: Entries, theirs: Entries) -> Iterator[str]:
    mine, other = ({stage for stage in side if side[stage] != base.get(stage)} for side in (ours, theirs))
    both = sorted(stage for stage in mine & other if ours[stage] != theirs[stage])
    yield f"{len(other - mine)} stages as on the other side; {len(both)} that both sides have changed as on this one"
    for stage in both:
        if ours[stage] | {"outs": None} == theirs[stage] | {"outs": None}:
            yield (
                f"{stage} ran on both sides with different results; those of this side are kept, and what the other"
                " side made from its own runs again"
            )


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=False)  # noqa: S607
    except FileNotFoundError:
        raise UserError("no program git: conflicts of git merge are read from its index") from None
    if done.returncode:
        raise UserError(f"git {arguments[0]}: {' '.join(done.stderr.split())}")
    return done.stdout
