"""Puts what a project consists of besides the package into the wheel, for `context-nmt new` outside of a project."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PROJECT = (
    *(
        "dvc.yaml",
        "params.yaml",
        ".dvcignore",
        ".gitignore",
        ".gitattributes",
        ".dvc/config",
        ".dvc/.gitignore",
        ".dvc/plots/*",
    ),
    *("data/params.yaml", "data/.gitignore", "benchmarks/variants.json", "experiments/*/params.yaml"),
    *("stages/*.py", "src/dvc.yaml", "src/dvc.lock", "src/code/*.json"),
)


class BuildWithProject(build_py):
    """Builds the package, and copies PROJECT into context_nmt/project."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            here = Path(__file__).parent
            for pattern in PROJECT:
                paths = list(here.glob(pattern))
                if not paths:
                    raise FileNotFoundError(f"{here / pattern}: nothing matches; MANIFEST.in names what an sdist has")
                for path in paths:
                    copy = Path(self.build_lib, "context_nmt", "project", path.relative_to(here))
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, copy)


setup(cmdclass={"build_py": BuildWithProject})
