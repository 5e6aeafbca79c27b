"""README.md and docs/: commands run in a project of tiny experiments, or their page says what they need.

A reader goes from page to page and does what each says: commands in a shell, snippets into files. All pages share one
project, and each starts from the same commit of it.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent, indent
from types import ModuleType
from typing import NamedTuple

import pandas as pd
import pytest
import torch
import typer
import yaml
from dvc.cli import parse_args
from dvc.utils.collections import merge_dicts
from shell import environment
from torch import nn

from context_nmt.code_closure import stages
from context_nmt.commands import app
from context_nmt.corpus.catalogue import read_entry
from context_nmt.files import read_json
from context_nmt.pipeline.new_experiment import REPOSITORY_FILES
from context_nmt.pipeline.planning import check_variant
from context_nmt.results.metrics import format_difference
from context_nmt.settings.parameters import ExperimentSettings, read_parameters
from context_nmt.transformer.attention import LayerContext, MultiHeadAttention, Place

ROOT = Path(__file__).parents[1]
OWN_CORPUS = "docs/guides/own-corpus.md"  # other pages go on with its experiment
OWN_MECHANISM = "docs/guides/own-mechanism.md"
WORDS = {  # a caveat of metrics/claims.json: what README.md says of it
    "the corpus refers up to three sentences back": "up to three sentences back",
    "with 0.8 × the training tokens": "it reads the text 20 times, and HAN 11 times",  # noqa: RUF001
}
ALL = [OWN_CORPUS, "README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md"))]
PAGES = list(dict.fromkeys(ALL))

# Targets that test, build or measure this project.
WHOLE = re.compile("make (quick|test|test-all|docs|pictures|speed)")
RUN = "experiments/mine-en-cs/runs/models/transformer-1"
TABLE = yaml.safe_load(
    (ROOT / "tests/documented_commands.yaml").read_text(encoding="utf-8").replace(" RUN ", f" {RUN} ")
)
NEEDS, EDITED, BEFORE, PRINTS, RUNS_NO = (TABLE[key] for key in ("needs", "edited", "before", "prints", "runs no"))
SPLITS, UPDATES = TABLE["sentences"], TABLE["updates"]
MINIATURE = SPLITS | TABLE["miniature"]
RECIPE = TABLE["recipe"] | {"training": TABLE["recipe"]["training"] | UPDATES}
CHOICE = {"src": ["One.", "Two."], "trg": {"correct": ["Un.", "Deux."], "incorrect": ["Un.", "Trois."]}}


class Block(NamedTuple):
    """A block of a page: its language, its text, and the paragraph before it."""

    language: str
    text: str
    before: str


def blocks(page):
    """Yield the fenced blocks of a page and the indented ones, which are commands."""
    lines = ["", *(ROOT / page).read_text(encoding="utf-8").split("\n"), ""]
    paragraph, number = [], 0
    while number < len(lines) - 1:
        start = number = number + 1
        if fence := re.match(r" *```(\w*)", lines[start]):
            while not lines[number := number + 1].strip().startswith("```"):
                pass
            yield Block(fence[1], dedent("\n".join(lines[start + 1 : number])).strip(), " ".join(paragraph))
        elif lines[start].startswith("    ") and not lines[start - 1].strip():
            while lines[number + 1].startswith("    "):
                number += 1
            yield Block("bash", dedent("\n".join(lines[start : number + 1])).strip(), " ".join(paragraph))
        elif lines[start].strip():
            paragraph = [*paragraph, lines[start]] if lines[start - 1].strip() else [lines[start]]


def commands(page):
    return [block for block in blocks(page) if block.language == "bash"]


def without_comment(line):
    return re.sub(r" +# .*", "", line)


def calls(text):
    """Yield the calls of programs in shell commands, as words, without values of variables before them."""
    for line in text.replace("\\\n", " ").splitlines():
        call, words = [], shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True  # train@transformer-1 is a word
        for word in [*words, ";"]:
            if set(word) <= set("();<>|&"):
                if call:
                    yield call
                call = []
            elif call or not re.match(r"\w+=", word):
                call.append(word)


def edited(values, snippet):
    """Put a snippet of YAML into settings: lists under `train` get longer, and a variant that is in none is added."""
    kept = {key: value for key, value in (values.get("train") or {}).items() if isinstance(value, list)}
    values = merge_dicts(values, snippet)
    if "units" in snippet:
        values["units"] = snippet["units"]  # keys of another kind are refused
    for key, names in kept.items():
        values["train"][key] = list(dict.fromkeys([*names, *values["train"][key]]))
    for name in snippet.get("variants", {}):
        if not any(name in names for names in values["train"].values() if isinstance(names, list)):
            of_documents = any(slot.endswith("_output") for slot in values["variants"][name].get("slots", {}))
            values["train"]["document" if of_documents else "bitext"].append(name)
    return values


SNIPPETS = [
    pytest.param(block.text, id=page)
    for page in PAGES
    for block in blocks(page)
    if block.language == "yaml"
    and page != OWN_MECHANISM
    and not block.text.startswith(("generated:", "corpora:", "common:"))
]
ENTRIES = [
    pytest.param(entry, id=name)
    for page in PAGES
    for block in blocks(page)
    if block.language == "yaml" and block.text.startswith("corpora:")
    for name, entry in yaml.safe_load(block.text)["corpora"].items()
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_page_shows_an_entry_of_data_that_can_be_read(tmp_path, entry):
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump({"corpora": {"shown": entry}}), encoding="utf-8")
    assert read_entry(path, "shown").licence == entry["licence"]


@pytest.mark.parametrize("text", SNIPPETS)
def test_settings_of_a_page_can_be_added_to_the_default_experiment(tmp_path, text):
    snippet = yaml.safe_load(text)
    if not set(snippet) <= {field.name for field in fields(ExperimentSettings)}:
        snippet = {"variants": snippet}
    values = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    values["model"] |= {"encoder_layers": 6, "decoder_layers": 6}  # as papers have
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(edited(values, snippet)), encoding="utf-8")
    settings = read_parameters(path)
    for name in snippet.get("variants", settings.variants):
        check_variant(settings, name)


@pytest.mark.parametrize("by_head", [False, True])
def test_the_mechanism_of_the_guide_works_and_the_readme_shows_a_part_of_it(monkeypatch, by_head):
    (shown,), (whole, *_) = (
        [block.text for block in blocks(page) if block.language == "python"] for page in ("README.md", OWN_MECHANISM)
    )
    assert indent(shown, "    ") in whole
    module = ModuleType("guide")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look their module up
    exec(whole, module.__dict__)
    sizes = {"layer": 1, "width": 8, "feed_forward_width": 8, "heads": 2, "bias": True}
    place = Place(slot="cross_attention", causal=True, dropout=0, attention_dropout=0, **sizes)
    guide = module.build(module.Settings(by_head=by_head), place)
    plain = MultiHeadAttention(width=8, heads=2, bias=True, dropout=0)
    plain.load_state_dict(guide.state_dict(), strict=False)  # without the gate
    plain.output = nn.Identity()
    queries, mask = torch.randn(2, 3, 8), torch.ones(1, 1, 1, 3, dtype=torch.bool)
    context = LayerContext(
        (queries,),
        (queries,),
        mask,
        causal=False,
        real_tokens=mask[0, 0].expand(2, 3),
        ids=mask[0, 0].expand(2, 3).long(),
    )
    gates = torch.sigmoid(queries @ guide.gate[0].weight.T).repeat_interleave(4 if by_head else 1, dim=-1)
    expected = guide.output(gates * plain(queries, context))
    torch.testing.assert_close(guide(queries, context), expected)


@pytest.mark.parametrize("page", PAGES)
def test_programs_accept_what_a_page_calls_them_with(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    inline = re.findall(r"`((?:\w+=\S+ )?(?:context-nmt|dvc|make|python) [^`…]+)`", text)
    for call in (call for text in [*(block.text for block in commands(page)), *inline] for call in calls(text)):
        match call:
            case ["context-nmt", *arguments]:
                accept(typer.main.get_command(app), arguments)
            case ["dvc", *arguments] | ["python", "-m", "context_nmt.pipeline.dvc", *arguments] if arguments:
                parse_args(arguments)
            case ["make", target, *variables]:
                makefile = (ROOT / "Makefile").read_text()
                assert f"\n{target}:" in makefile, call
                assert all(f"$({variable.split('=')[0]})" in makefile for variable in variables), call
            case ["python", "stages", stage, *_]:
                assert stage in ["--help", *stages(ROOT)], call
            case ["python", "-m", module, *_]:
                assert find_spec(module), call


def six_layer_gain(variant):
    """Return a variant's difference from the Transformer with six layers, as README.md prints it, and as a number."""
    table = pd.read_csv(ROOT / "experiments/miniature-six-layers/metrics/results.csv")
    row = table.query("variant == @variant and test_set == 'test' and metric == 'sacrebleu'").squeeze()
    ends = ", ".join(f"{end:.2f}" for end in (row.interval_low, row.interval_high)).replace("-", "−")  # noqa: RUF001
    return f"{format_difference(row.difference)} [{ends}]", row.difference


def has_counts(text, claims):
    """Whether a sentence counts the claims with each verdict: "Of 3 claims, 2 are supported, and 1 is open"."""
    found = re.search(rf"\b[Oo]f {len(claims)} (\[?claims\b.*?\. )", " ".join(text.split()) + " ")
    counts = Counter(claim["verdict"] for claim in claims)
    return bool(found) and all(
        re.search(rf"\b{count} (is |are )?\*?{verdict}\b(?! against)", found[1]) for verdict, count in counts.items()
    )


def test_the_readme_has_the_verdicts_and_obstacles_of_the_claims():
    claims = [claim for claim in read_json(ROOT / "metrics/claims.json")["claims"] if claim["family"] == "primary"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    findings = " ".join(text.split("\n## Findings so far\n")[1].split("\n## ")[0].split())
    assert f"Of {len(claims)} primary claims, " in findings
    for verdict, count in Counter(claim["verdict"] for claim in claims).items():
        assert re.search(rf"\b{count} (are )?\[?{verdict}", findings), (count, verdict)
    first = {claim["paper"]: claim["id"] for claim in reversed(claims)}
    supported = [claim for claim in claims if claim["verdict"] == "supported"]
    for claim in (claim for claim in claims if claim["p"] is not None):
        ends = f" [{claim['low']:.2f}, {claim['high']:.2f}]".replace("-", "−")  # noqa: RUF001
        assert format_difference(claim["difference"]) + ends in findings
    layers = read_json(ROOT / "experiments/miniature-lexical-shortcuts/metrics/results.json")
    plain, third = (layers[name]["test"]["sacrebleu"]["mean"] for name in ("transformer", "transformer_3_layers"))
    assert f"(a third layer gives the Transformer {third - plain:.1f})" in findings
    (text, all_layers), (_, top_layers) = map(six_layer_gain, ("dual_context_encoder", "dual_context_layers_5_6"))
    assert f"with six layers instead of two, {text} in the encoder" in findings
    assert top_layers > all_layers  # README.md says so
    for claim in (*supported, *(claim for claim in claims if claim["id"] in first.values())):
        if not claim["caveat"]:
            continue
        phrases = [WORDS[caveat] for caveat in claim["caveat"].split("; ") if caveat in WORDS]
        assert phrases, claim["caveat"]
        assert all(phrase in findings for phrase in phrases)


def test_pages_count_the_verdicts_of_the_claims():
    claims = read_json(ROOT / "metrics/claims.json")["claims"]
    six_layers = [claim for claim in claims if claim["experiment"] == "miniature-six-layers"]
    assert has_counts((ROOT / "docs/preregistration.md").read_text(encoding="utf-8"), six_layers)
    for report in ROOT.glob("reports/papers/*.md"):
        of_paper = [claim for claim in claims if claim["id"].startswith(f"{report.stem}/")]
        (page,) = (
            text
            for path in ROOT.glob("docs/papers/*.md")
            if f"papers/{report.name}" in (text := path.read_text("utf-8"))
        )
        assert has_counts(page, [claim for claim in of_paper if claim["preregistered"]]), report.stem
        with_six_layers = [claim for claim in of_paper if claim in six_layers]
        assert not with_six_layers or has_counts(page, with_six_layers), report.stem


def test_a_report_says_that_the_root_s_decides_where_their_corrections_differ():
    claims = {claim["id"]: claim for claim in read_json(ROOT / "metrics/claims.json")["claims"]}
    differing = 0
    for path in ROOT.glob("experiments/*/metrics/claims.json"):
        own = [claim for claim in read_json(path)["claims"] if claim["adjusted_p"] is not None]
        pairs = [
            (claim, claims[claim["id"]]) for claim in own if claims[claim["id"]]["experiment"] == path.parents[1].name
        ]
        if any(claim["adjusted_p"] != in_root["adjusted_p"] for claim, in_root in pairs):
            assert "The report in the root" in (path.parents[1] / "reports/report.md").read_text(encoding="utf-8")
            differing += 1
    assert differing


def test_reports_can_be_read():
    """No report is longer than 30 kB, no page of a paper longer than 60 kB; every link leads to a file."""
    for page in [*ROOT.glob("reports/*.md"), *ROOT.glob("experiments/*/reports/*.md")]:
        papers = [*(page.parent / "papers").iterdir()]
        assert papers
        assert page.stat().st_size <= 30_000
        assert max(path.stat().st_size for path in papers) <= 60_000
        for path in (page, *papers):
            links = re.findall(r"\]\((.*?)\)", path.read_text(encoding="utf-8"))
            assert all((path.parent / link).is_file() for link in links), path
        assert {f"papers/{path.name}" for path in papers} <= set(re.findall(r"\]\((.*?)\)", page.read_text("utf-8")))


def accept(command, arguments):
    """Parse the arguments of a command or subcommand as Click does."""
    while hasattr(command, "commands") and arguments and not arguments[0].startswith("-"):
        assert arguments[0] in command.commands, arguments
        command, arguments = command.commands[arguments[0]], arguments[1:]
    if arguments and "--help" not in arguments:
        command.make_context("context-nmt", arguments)


def test_blocks_have_a_language():
    assert [(page, block.text) for page in PAGES for block in blocks(page) if not block.language] == []


def test_what_does_not_run_says_why():
    found = [
        (without_comment(line), block.before + line)
        for page in PAGES
        for block in commands(page)
        for line in block.text.splitlines()
    ]
    assert [line for line, said in found if line in NEEDS and NEEDS[line] not in said] == []
    assert {*NEEDS, *PRINTS, *BEFORE, *(line for lines in RUNS_NO.values() for line in lines)} - {
        line for line, _ in found
    } == set()


DOCUMENTED = {
    without_comment(line)
    for page in PAGES
    if page != "README.md"
    for block in commands(page)
    for line in block.text.splitlines()
}


def is_left_out(page, line):
    """Whether a command is not to run here, or has nothing to do, or is one of README.md that runs on another page."""
    nothing_new = re.fullmatch("make repro( NAME=.*)?", line) and page not in (OWN_CORPUS, *EDITED)
    return line in NEEDS or WHOLE.fullmatch(line) or nothing_new or (page == "README.md" and line in DOCUMENTED)


class Reader:
    """Somebody at a shell in the project."""

    def __init__(self, folder, warm):
        self.folder, self.place = folder / "project", folder
        search_path = f"{self.folder / 'src'}:{warm['PYTHONPATH']}"
        own = {"OMP_NUM_THREADS": "1", "DATA_MIRROR": str(folder / "mirror"), "PYTHONPATH": search_path}
        self.environment = environment(folder, **warm | own)

    def run(self, script, folder="."):
        """Run a script in a folder of the project; return the folder where it ends and what it printed."""
        script = script.replace("/path/to", str(self.place))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{script}\npwd > {self.place / 'pwd'}"],
            cwd=self.folder / folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return os.path.relpath((self.place / "pwd").read_text().strip(), self.folder), done.stdout

    def write(self, name, values):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(values if isinstance(values, str) else json.dumps(values, indent=1), encoding="utf-8")

    def commit(self):
        """Let pages start from what is here now."""
        self.run("git add --all; git commit --quiet -m start; git tag --force start")

    def start_page(self):
        """Go back to the commit that pages start from, and make what stands for the environment."""
        shutil.rmtree(self.place / "settings", ignore_errors=True)
        self.run("git reset --hard --quiet start; git clean -fdq; dvc checkout --quiet")
        for folder in self.folder.glob("experiments/*"):
            if not (folder / "params.yaml").is_file():  # the rest is ignored by git
                shutil.rmtree(folder)
        self.run("git for-each-ref --format 'delete %(refname)' refs/exps | git update-ref --stdin")
        self.write(".venv/bin/activate", f"PATH={self.folder}/.venv/bin:$PATH\n")
        self.write(".venv/bin/mypy", "#!/bin/sh\n")  # takes a minute
        (self.folder / ".venv/bin/mypy").chmod(0o755)
        self.write(".venv/requirements.installed", "")

    def read(self, page, block):
        """Put what is no command where the page says."""
        if block.language == "yaml" and page in EDITED:
            path = self.folder / EDITED[page]
            snippet = yaml.safe_load(block.text)
            for sizes in snippet.get("generated", {}).values():
                sizes |= MINIATURE
            self.write(EDITED[page], edited(yaml.safe_load(path.read_text()), snippet))
        elif block.language == "json":
            self.write("data/mine/NAME.en-cs.jsonl", f"{block.text}\n")
        elif block.language == "python" and page == OWN_MECHANISM and "SLOTS" in block.text:
            self.write("ideas/gated_attention.py", f"{block.text}\n")


def tiny(parameters, variants, **changes):
    """Return the settings of an experiment with the least recipe, and with these of its variants."""
    values = yaml.safe_load((ROOT / parameters).read_text(encoding="utf-8")) | RECIPE
    values["variants"] = {name: values["variants"][name] for name in variants}
    for variant in values["variants"].values():
        if "training" in variant:
            variant["training"] |= UPDATES
            variant["averaging"] = variant["averaging"] | {"count": 1}
    values["train"] = {
        key: [name for name in value if name in variants] if isinstance(value, list) else value
        for key, value in values["train"].items()
    }
    if not values["train"]["distilled"]:
        values["train"]["teachers"] = []
    values["probing"] |= {"sentences": [], "words": []}
    return values | changes


@pytest.fixture(scope="module")
def reader(tmp_path_factory, warm):
    """In a copy of the project with tiny experiments, the default one of which has run."""
    reader = Reader(tmp_path_factory.mktemp("reader"), warm)
    for name in (".dvc", "src", "stages", "tests", "benchmarks"):
        skip = shutil.ignore_patterns("__pycache__", "cache", "tmp", "config.local")
        shutil.copytree(ROOT / name, reader.folder / name, ignore=skip)
    for path in (path for path in ROOT.iterdir() if path.is_file() and path.name not in (".git", "dvc.lock")):
        shutil.copy(path, reader.folder)
    texts = {f"{split}.{language}": "I .\n" * count for split, count in SPLITS.items() for language in ("en", "de")}
    sets = {"choice.json": json.dumps({"1": {"type": "repet", "examples": [CHOICE]}})}
    corpora = {}
    for name, form, files in (("multi30k", "text", texts), ("discourse_mt", "discourse_mt", sets)):
        entry = [
            {"to": file.removesuffix(".json"), "url": f"https://example.org/{file}", "sha256": None} for file in files
        ]
        corpora[name] = {"format": form, "licence": "free", "homepage": "none", "files": entry}
        for file, text in files.items():
            reader.write(reader.place / "mirror" / name / file, text)
    reader.write("data/params.yaml", {"generated": {"miniature": MINIATURE}, "corpora": corpora})
    shutil.copy(ROOT / "data/.gitignore", reader.folder / "data")
    kept = ("transformer", "dual_context_encoder", "cmlm", "ccan", "transformer_continued", "han_encoder")
    reader.write("params.yaml", tiny("params.yaml", kept))
    corpus = {"name": "multi30k", "source": "en", "target": "de", "tests": ["valid", "test"]}
    for name, variants in {"multi30k-en-de": ["transformer"], "multi30k-en-de-masked": ["transformer", "cmlm"]}.items():
        parameters = f"experiments/{name}/params.yaml"
        reader.write(parameters, tiny(parameters, variants, corpus=corpus))
        shutil.copy(ROOT / "dvc.yaml", reader.folder / "experiments" / name)
        for path, text in REPOSITORY_FILES.items():
            reader.write(f"experiments/{name}/{path}", text)
    reader.run("git init --quiet; context-nmt repro --jobs 2")
    reader.commit()
    return reader


@pytest.mark.heavy
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_the_commands_of_a_page_run(reader, page):
    reader.start_page()
    if page == "docs/guides/several-processes.md":  # it runs everything thrice: here, one system is only trained
        reader.write("params.yaml", tiny("params.yaml", ["transformer"]))
        pipeline = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
        stages_left = ("plan", "download", "tokenize", "bpe", "train")
        reader.write("dvc.yaml", {"stages": {stage: pipeline[stage] for stage in stages_left}})
    folder = "."
    for block in blocks(page):
        lines = [
            without_comment(line) for line in block.text.splitlines() if not is_left_out(page, without_comment(line))
        ]
        if block.language != "bash":
            reader.read(page, block)
        elif lines:
            reader.run(BEFORE.get(lines[0], ""), folder)
            folder, printed = reader.run("\n".join(lines), folder)
            for line in lines:
                assert re.search(PRINTS.get(line, ""), printed), printed
                unwanted = RUNS_NO.get(page, {}).get(line, "!")
                assert not re.search(rf"(?m)^(Running stage ')?({unwanted})", printed), printed
    assert folder == ".", "a page leads back to the project's folder"
    if page == OWN_CORPUS:
        reader.commit()
