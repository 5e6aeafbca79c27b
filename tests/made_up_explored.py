"""Data for the explorer's page, made up without a model: a document of three sentences and four systems."""

from dataclasses import replace

import numpy as np

from context_nmt.explorer.page import Candidate, Earlier, ExploredText, Gate, Run, Sentence, Translation, View, Window

SOURCES = ["Anna bought a boat .", "the cat is old .", "it sank today ."]
REFERENCES = ["Anna kaufte ein Boot .", "die Katze ist alt .", "es sank heute ."]
TRANSLATIONS = {
    "plain-1": ["Anna kaufte ein Boot .", "die Katze ist alt .", "er sank heute ."],
    "aware-1": ["Anna kaufte ein Boot .", "die Katze ist sehr alt .", "es sank heute ."],
    "masked-1": ["Anna kaufte ein Boot .", "die Katze ist alt .", "es sank heute ."],
    "silent-1": ["Anna kaufte Boot .", "die Katze ist alt .", "sie sank heute ."],
}


def view(place, title, queries, keys, *, turn=0, window=None):
    """Two layers of two heads: head 1 looks at the same place, head 2 at the next one, layer 2 `turn` further."""
    words, count = len(queries), len(keys) + 1
    weights = np.zeros((2, 2, words, count))
    for layer, head, query in np.ndindex(2, 2, words):
        weights[layer, head, query, (query + head + layer * turn) % count] = 1
    side = "target" if place == "decoder" else "source"
    tokens = [{"sentence": 0, "side": side, "word": word} for word in range(len(keys))]
    return View(
        place=place,
        title=title,
        queries="source" if place == "encoder" else "target",
        keys=[*tokens, {"text": "</s>"}],
        layers=[1, 2],
        heads=2,
        weights=weights,
        window=window and Window(size=window, centers=np.tile(np.arange(words, dtype=np.uint16), (2, 2, 1))),
    )


def earlier(number, source):
    """In each sentence before, a word looks at the last word but one; the oldest sentence has 80 percent."""
    if not number:
        return []
    shares = np.full((len(source), number), 0.2 / max(number - 1, 1))
    shares[:, 0] = 0.8 if number > 1 else 1
    words = [np.zeros((len(source), len(text.split()))) for text in SOURCES[:number]]
    for matrix in words:
        matrix[:, -2], matrix[:, 0] = 0.9, 0.1
    return [Earlier(title="After the encoder", own="source", seen="source", first=0, sentences=shares, words=words)]


def translated(name, number):
    source, target = SOURCES[number].split(), TRANSLATIONS[name][number].split()
    last = number == len(SOURCES) - 1
    scores = {"plain-1": [-4.5, -3.25], "aware-1": [-1.5, -2.75], "masked-1": [-1.0, -2.0]}.get(name) if last else None
    if name == "silent-1":
        return Translation(target=target)
    if name == "plain-1":
        views = [
            view("encoder", "Encoder, self-attention", source, source),
            view("cross", "Cross-attention", target, source),
        ]
        return Translation(target=target, scores=scores, views=views)
    if name == "masked-1":
        views = [view("cross", "Cross-attention", target, source, window=1)]
        # the last iteration predicts the first word again
        steps = [["␣"] * len(target), [*target[:-1], "␣"], ["␣", *target[1:]], target]
        return Translation(target=target, scores=scores, views=views, iterations=steps)
    shares = np.linspace(0, 1, 2 * len(source)).reshape(2, len(source))
    return Translation(
        target=target,
        scores=scores,
        views=[
            view("encoder", "Encoder, self-attention, local interaction", source, source, turn=1),
            view("encoder", "Encoder, self-attention, global interaction", source, source),
            view("decoder", "Decoder, self-attention", target, target),
            view("cross", "Cross-attention", target, source),
        ],
        gates=[Gate(title="Encoder, key: share of the context", side="source", layers=[1, 2], values=shares)],
        earlier=earlier(number, source),
    )


def explored(**changes):
    """A new one each time."""
    sentences = [
        Sentence(line=number + 7, source=source.split(), reference=reference.split())
        for number, (source, reference) in enumerate(zip(SOURCES, REFERENCES, strict=True))
    ]
    candidates = [Candidate(text=["es", "sank"], correct=True), Candidate(text=["er", "sank"], correct=False)]
    sentences[-1] = replace(sentences[-1], candidates=candidates)
    values = {
        "title": "A <b>boat</b> & </script>",
        "languages": {"source": "en", "target": "de"},
        "select": None,
        "pronouns": {"source": ["it"], "target": ["es", "er", "sie"]},
        "sentences": sentences,
        "runs": [
            Run(name=name, label=name.removesuffix("-1").title(), sentences=[translated(name, n) for n in range(3)])
            for name in TRANSLATIONS
        ],
    }
    return ExploredText(**values | changes)
