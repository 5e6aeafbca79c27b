"""Hooks of the documentation site: MathML, results as pages, and a check that every path that a page names exists."""

import logging
import re
from functools import partial
from html import unescape
from os.path import normpath
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
RESULTS = {  # pages that the pipeline writes, by the page that shows them
    "results/report.md": "reports/report.md",
    "results/default.md": "metrics/results.md",
    "results/speed.md": "benchmarks/README.md",
    **{f"results/papers/{path.name}": f"reports/papers/{path.name}" for path in ROOT.glob("reports/papers/*.md")},
}
FOLDERS = ("src", "stages", "tests", "data", "experiments", "metrics", "reports", "benchmarks")
NOT_IN_GIT = re.compile(r"data/(?!params)|reports/(report\.html|pages|tables)|[A-Z]{3}|mine")  # or a placeholder
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([([])(.*?)\\[)\]]</\1>', re.DOTALL)
TAG = re.compile(r"\\tag\{([^}]*)\}")  # the number of an equation
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!#|\w+://)([^)]+)\)")  # to another file
PATH = re.compile(rf"<code>((?:{'|'.join(FOLDERS)})/[\w./-]*)</code>")

log = logging.getLogger("mkdocs.hooks")


def on_files(files, config):
    """Add the results and the pictures that they and other pages show."""
    pictures = {"results/figures/headlines.svg": ROOT / "reports/figures/headlines.svg"}
    for page, source in RESULTS.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        for mark, _, target in LINK.findall(text):
            if mark:
                pictures[normpath(f"{Path(page).parent}/{target}")] = ROOT / Path(source).parent / target
        text = LINK.sub(partial(_link, Path(source).parent), text)
        files.append(File.generated(config, page, content=f"---\nsearch: {{exclude: true}}\n---\n\n{text}"))
    for page, picture in pictures.items():
        files.append(File.generated(config, page, abs_src_path=str(picture)))
    return files


def _link(folder, link):
    """Return a picture or a link to a page that is here as it is, and the name of any other page."""
    is_kept = link[1] or normpath(folder / link[3]) in RESULTS.values()
    return link[0] if is_kept else f"`{Path(link[3]).name}`"


def on_page_markdown(text, page, config, files):
    """Point links to files of the project, which work in a clone, to their pages here."""
    if page.file.src_uri not in RESULTS:
        up = "../" * len(Path(page.file.src_uri).parts)
        for target, source in {**RESULTS, "results/figures/headlines.svg": "reports/figures/headlines.svg"}.items():
            text = text.replace(f"({up}{source}", f"({up.removesuffix('../')}{target}")
    return text


def on_page_content(html, page, config, files):
    """Turn formulas into MathML, and warn of paths that do not exist."""
    if page.file.src_uri not in RESULTS:
        for path in PATH.findall(html):
            if not NOT_IN_GIT.search(path) and not (ROOT / path).exists():
                log.warning("%s names %s, which does not exist", page.file.src_uri, path)
    return FORMULA.sub(lambda found: _mathml(unescape(found[3]), display=found[2] == "["), html)


def _mathml(formula, *, display):
    number = TAG.search(formula)
    mathml = convert(TAG.sub("", formula), display="block" if display else "inline")
    tag = f"<span>({number[1]})</span>" if number else ""
    return f'<div class="formula">{mathml}{tag}</div>' if display else mathml
