# `make help` lists the targets. A fresh machine needs Python 3.11, 3.12 or 3.13, git and make.
PYTHON ?= $(firstword $(foreach version,3.11 3.12 3.13,$(shell command -v python$(version) 2>/dev/null)) python3)
# Only the command line sets these, because some systems export NAME.
NAME :=
LIKE :=
CORPUS :=
SOURCE :=
TARGET :=
JOBS :=
ONLY :=

# Stages run `python`, so the environment comes first; they must find it from any folder.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
ifneq ($(DATA_MIRROR),)
ifeq ($(findstring ://,$(DATA_MIRROR))$(filter /%,$(DATA_MIRROR)),)
override DATA_MIRROR := $(CURDIR)/$(DATA_MIRROR)
endif
export DATA_MIRROR
endif

ifeq ($(origin NAME):$(NAME),command line:)
$(error NAME is empty; name an experiment, or leave NAME out for the default one)
endif
EXPERIMENT := $(if $(NAME),experiments/$(NAME),.)
INSTALLED := .venv/requirements.installed
PIP_INSTALL := .venv/bin/python -m pip install --disable-pip-version-check --quiet
# Three processes keep two cores busy while tests wait for Slurm.
PYTEST := OMP_NUM_THREADS=1 pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

NO_REMOTE := no DVC remote is set; set one, for all experiments: .venv/bin/dvc remote add --global --default storage URL

.PHONY: help repro repro-new pull report quick test test-all check docs pictures speed experiment clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z.-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv: $(INSTALLED)  ## create the Python environment, or update it after a change of requirements.lock or pyproject.toml

$(INSTALLED): requirements.lock requirements-torch.lock pyproject.toml
	@echo 'installing requirements.lock into .venv; the first time takes minutes'
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) --require-hashes --requirement requirements.lock
	$(PIP_INSTALL) --requirement requirements-torch.lock
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	printf '%s\n' '$(CURDIR)' > "$$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/context_nmt.pth"
	touch $@

repro: $(INSTALLED)  ## run the stages of the default experiment, or of NAME=…, that are not up to date (JOBS=… at a time, ONLY="VARIANT …")
	context-nmt repro $(EXPERIMENT) $(foreach variant,$(ONLY),--only "$(variant)") $(if $(JOBS),--jobs $(JOBS))

repro-new: $(INSTALLED)  ## the same in a clone without the cache, only for what has changed since the results in git (NAME=…, JOBS=…, ONLY=…)
	context-nmt repro $(EXPERIMENT) --allow-missing $(foreach variant,$(ONLY),--only "$(variant)") $(if $(JOBS),--jobs $(JOBS))

pull: $(INSTALLED)  ## get the models and other large files of the results in git from the DVC remote (NAME=…)
	@test -f $(EXPERIMENT)/params.yaml || { echo '$(EXPERIMENT): not an experiment' >&2; exit 1; }
	@test -n "$$(dvc --cd $(EXPERIMENT) config core.remote)" || { echo '$(NO_REMOTE)' >&2; exit 1; }
	dvc --cd $(EXPERIMENT) pull

report: $(INSTALLED)  ## rebuild reports/ (NAME=…); the default experiment's report includes the latest results of the others
	dvc --cd $(EXPERIMENT) repro --force --single-item report
	cd $(EXPERIMENT) && python $(CURDIR)/stages report --mark

quick: $(INSTALLED)  ## run the fast tests: a minute on two cores
	$(PYTEST) -m 'not slow and not heavy'

test: $(INSTALLED)  ## run all tests but the heavy ones, which rebuild whole pipelines
	$(PYTEST) -m 'not heavy'

test-all: $(INSTALLED)  ## run all tests
	$(PYTEST)

check: $(INSTALLED)  ## check lint, formatting, types, the copies of dvc.yaml and every params.yaml
	ruff check
	ruff format --check
	mypy
	context-nmt check

# The variable hides a notice that Material for MkDocs, which is pinned, does not work with MkDocs 2; see CONTRIBUTING.md.
docs: $(INSTALLED)  ## build the documentation into site/; it needs no network
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict

pictures: $(INSTALLED)  ## after repro: retake the pictures of docs/guides/explorer.md; needs chromium
	PICTURES=docs/pictures $(PYTEST) --numprocesses 0 tests/test_explorer_page.py -k pictures

speed: .venv/speed.installed  ## after repro: compare speed and memory with other programs, about 40 minutes (ROUNDS=…)
	python -m benchmarks $(if $(ROUNDS),--rounds $(ROUNDS))

.venv/speed.installed: $(INSTALLED) requirements-speed.lock
	$(PIP_INSTALL) --require-hashes --requirement requirements-speed.lock
	touch $@

experiment: $(INSTALLED)  ## create experiments/NAME with the recipe of another experiment (NAME=… [LIKE=… CORPUS=… SOURCE=… TARGET=…])
	$(if $(NAME),,$(error NAME is not set; it is the new folder in experiments/))
	context-nmt new "$(NAME)" $(if $(LIKE),--like "$(LIKE)") $(if $(CORPUS),--corpus "$(CORPUS)") $(if $(SOURCE),--source "$(SOURCE)") $(if $(TARGET),--target "$(TARGET)")

clean:  ## remove the environment, unfinished trainings and temporary files; results and the DVC cache stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dvc_plots runs/scratch experiments/*/runs/scratch
	find src stages tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
