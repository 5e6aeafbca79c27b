"""Documents: word alignment, cohesion and coherence by hand, the stage that scores them, and its page."""

import json
import random
import shutil

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_experiment import PARAMETERS, RAW, REFERENCE, evaluate_all, make_experiment, write_contrastive
from measured import add_flat, by_name
from shown import cells

from context_nmt.files import UserError, write_lines
from context_nmt.measures import discourse
from context_nmt.measures.discourse import Coherence, Cohesion, ContentWords, DocumentScorer, find_wordnet
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import Measure
from context_nmt.measures.word_alignment import WordAligner
from context_nmt.report.analyses import analyses_page
from context_nmt.report.formats import render
from context_nmt.report.tables import DASH
from context_nmt.results.reading import read_results, write_results
from context_nmt.settings.parameters import Experiment

ENGLISH = ContentWords("en")


def toy_pairs(count):
    """Sentences `noun verb noun .` with translations that have the verb behind the nouns."""
    choose = random.Random(1).choice
    for _ in range(count):
        subject, verb, thing = choose("abcdef"), choose("uvw"), choose("abcdef")
        yield f"{subject} {verb} {thing} .", f"{subject * 2} {thing * 2} {verb * 2} ."


@pytest.fixture(scope="module")
def aligner():
    return WordAligner(*zip(*toy_pairs(300), strict=True))


@pytest.mark.parametrize(
    ("source", "target", "links"),
    [
        ("a u b .", "aa bb uu .", [(0, 0), (1, 2), (2, 1), (3, 3)]),
        ("B w A .", "bb AA ww .", [(0, 0), (1, 2), (2, 1), (3, 3)]),  # in lower case
        ("c . c .", "cc . cc .", [(0, 0), (1, 1), (2, 2), (3, 3)]),  # of equal words the nearer
        ("a new b", "aa neu bb", [(0, 0), (1, 1), (2, 2)]),  # unknown words
        ("", "aa", []),
        ("a", " ", []),
    ],
)
def test_words_are_linked_to_their_translations(aligner, source, target, links):
    assert aligner.align(source, target) == links
    assert WordAligner(["", "a"], ["x", "b"]).align("a", "b") == [(0, 0)]  # empty sentences teach nothing


@given(source=st.text(max_size=40), target=st.text(max_size=40))
def test_any_text_has_links_between_its_tokens(aligner, source, target):
    ends = len(source.split()), len(target.split())
    links = aligner.align(source, target)
    assert all(0 <= position < end for link in links for position, end in zip(link, ends, strict=True))
    assert links == sorted(set(links))


def test_content_words_are_no_stop_words_and_have_a_letter():
    assert ENGLISH.extract("It 's the DOG 's house , I don 't know 12 .") == ["dog", "house", "know"]
    assert ContentWords("de").extract("Der Hund ist nicht mein Haus .") == ["hund", "haus"]
    assert ContentWords("de_CH").extract("Der Hund ist nicht mein Haus .") == ["hund", "haus"]
    assert ContentWords("xx").extract("der Hund !") == ["der", "hund"]
    assert ENGLISH.stems(["houses", "house"]) == ["hous", "hous"]
    assert ContentWords("zh").stems(["houses"]) == ["houses"]
    assert ENGLISH.name != ContentWords("de").name != ContentWords("zh").name


DOCUMENT = ["The dog barks .", "It sees a cat .", "The dogs bark .", "12 ."]


def test_cohesion_without_wordnet_is_repetition():
    scorer = Cohesion(ENGLISH, None)
    assert scorer.score(DOCUMENT, [range(4)])["score"] == 0.3333  # of dog barks sees cat dogs bark, the last two
    assert scorer.score(DOCUMENT, [range(3), range(3, 4)])["score"] == 0.3333  # one without content words
    assert scorer.score(DOCUMENT, [range(2), range(2, 4)])["score"] == 0  # nothing is repeated between documents
    assert scorer.score(["A dog .", "A dog .", "cats"], [range(2), range(2, 3)])["score"] == 0.25  # mean of 1/2 and 0
    assert scorer.score(["It is ."], [range(1)]) is None
    assert scorer.signature.startswith("repetition+no-wordnet|stop-words:")


@pytest.fixture(params=["debian", "nltk"])
def small_wordnet(request, tmp_path, monkeypatch):
    """Debian's files, or NLTK's archive, with five nouns: dog and cat are animals, car and automobile one thing."""
    lines = {
        "animal": "n 01 animal 0 000",
        "dog": "n 01 dog 0 001 @ 00000000 n 0000",
        "cat": "n 01 cat 0 001 @ 00000000 n 0000",
        "car": "n 02 car 0 automobile 0 000",
    }
    data, offsets = "", {}
    for word, line in lines.items():
        offsets[word] = f"{len(data):08}"
        data += f"{len(data):08} 05 {line} | a gloss  \n"
    offsets["automobile"] = offsets["car"]
    files = {f"{kind}.{part}": "" for kind in ("index", "data") for part in ("noun", "verb", "adj", "adv")}
    files |= {f"{part}.exc": "" for part in ("noun", "verb", "adj", "adv")}
    files |= {"data.noun": data, "data.adj": "  1 WordNet 3.0 Copyright 2006 \n"}
    files["index.noun"] = "".join(f"{word} n 1 0 1 0 {offset}  \n" for word, offset in sorted(offsets.items()))
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    if request.param == "nltk":
        shutil.make_archive(str(tmp_path / "data/corpora/wordnet"), "zip", tmp_path, "wordnet")
        shutil.rmtree(folder)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "data")])
    monkeypatch.setattr(discourse, "DEBIAN_WORDNET", folder)


@pytest.mark.usefixtures("small_wordnet")
@pytest.mark.parametrize(
    ("first", "second", "related"),
    [
        ("car", "automobile", True),  # synonyms
        ("dog", "animal", True),  # right below
        ("animal", "dogs", True),  # right above, in the plural
        ("cat", "dog", True),  # beside
        ("dog", "car", False),
        ("dog", "unknown", False),
    ],
)
def test_related_words_are_cohesive_where_there_is_a_wordnet(first, second, related, tmp_path, monkeypatch):
    scorer = Cohesion(ENGLISH, find_wordnet("en"))
    assert scorer.score([first, second], [range(2)])["score"] == (0.5 if related else 0)
    assert scorer.signature.startswith("repetition+wordnet-3.0|")
    assert find_wordnet("de") is None
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(discourse, "DEBIAN_WORDNET", tmp_path)
    assert find_wordnet("en") is None  # it may be absent


TOPICS = (["dog", "cat", "bird", "tail", "wing"], ["car", "road", "wheel", "engine", "driver"])
TRAINING = [" ".join(random.Random(seed).sample(TOPICS[seed % 2], 4)) for seed in range(40)]


def test_sentences_of_one_topic_are_more_coherent_than_those_of_two():
    coherence = Coherence(ENGLISH, "toy-train", TRAINING, None)
    same_topic = coherence.score(["The dog and the cat", "a bird", "its tail"], [range(3)])["score"]
    two_topics = coherence.score(["The dog and the cat", "a car", "its tail"], [range(3)])["score"]
    assert two_topics < 0.1 < same_topic <= 1
    assert coherence.score(["dogs", "a dog"], [range(2)])["score"] == 1
    assert coherence.signature.startswith("lsa:10-dimensions|of:toy-train-sentences|")


def test_coherence_is_the_mean_over_documents_of_the_means_over_their_pairs():
    coherence = Coherence(ENGLISH, "toy-train", TRAINING, [range(20), range(20, 40)])
    assert coherence.signature.startswith("lsa:2-dimensions|of:toy-train-documents|")
    coherence = Coherence(ENGLISH, "toy-train", TRAINING, None)
    sentences = ["dog", "dog", "dog", "car", "cat", "12 unknown", "cat"]
    across = coherence.score(sentences, [range(2, 4)])["score"]
    assert coherence.score(sentences, [range(3)])["score"] == 1
    assert coherence.score(sentences, [range(3), range(2, 4)])["score"] == pytest.approx((1 + across) / 2, abs=1e-4)
    assert coherence.score(sentences, [range(3), range(4, 7), range(1)])["score"] == 1  # no pair is known of the others
    assert coherence.score(sentences, [range(4, 7)]) is None
    with pytest.raises(UserError, match="toy-train has fewer than two content words"):
        Coherence(ENGLISH, "toy-train", ["dogs", "12", "the dog"], None)


@pytest.fixture
def experiment(tmp_path):
    """The made-up one, whose set `test` has documents of ten sentences."""
    made = make_experiment(tmp_path)
    for name, lines in {"train.en": [line.upper() for line in REFERENCE], "train.de": REFERENCE}.items():
        write_lines(made.tokenized / name, lines)
    write_lines(made.tokenized / "test.documents", ["0", "10", "20", "30"])
    write_lines(made.corpus / "test.en", [line.upper() for line in RAW])
    return made


def tag(experiment, tokens):
    """Gold tags for the German side: whatever ends in s is a noun."""
    sides = [{"tokens": row, "tags": ["NN" if word.endswith("s") else "XY" for word in row]} for row in tokens]
    write_lines(experiment.corpus / "test.gold.jsonl", [json.dumps({"de": side}) for side in sides])


def scored(experiment):
    return list(DocumentScorer(EvaluationFolder(experiment.folder)).rows("transformer-1"))


def test_test_sets_with_documents_are_scored(experiment):
    tag(experiment, [line.split() for line in REFERENCE])
    rows = scored(experiment)
    scores = by_name(rows)
    assert set(scores) == {"test"}
    nouns = scores["test"]["apt_nouns"]
    assert scores["test"]["apt_nouns_words_total"]["score"] == 40  # "birds", which every third sentence lacks
    assert scores["test"]["apt_nouns_words_equal"]["score"] == 26
    assert nouns["signature"].startswith("words:nouns-gold-tags|alignment:diagonal-")
    assert scores["test"]["apt_nouns_human"] == {"score": 1, "signature": nouns["signature"]}
    assert "apt_pronouns" not in scores["test"]  # none of the German ones is in this text
    cohesion = scores["test"]["cohesion"]["score"]
    assert cohesion < scores["test"]["cohesion_human"]["score"] < 1
    assert -1 <= scores["test"]["coherence"]["score"] <= 1
    assert scores["test"]["coherence_human"]["score"] <= 1
    assert scored(experiment) == rows


def test_gold_tags_of_other_tokens_are_not_used(experiment):
    tag(experiment, [["x"]] * 40)
    assert "apt_nouns" not in by_name(scored(experiment))["test"]
    (experiment.tokenized / "test.documents").unlink()
    assert scored(experiment) == []  # without documents


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A folder with the made-up experiment, scored and compared, without documents."""
    corpus = PARAMETERS["corpus"] | {"contrastive": ["pronouns"]}
    experiment = evaluate_all(make_experiment(tmp_path_factory.mktemp("evaluated"), corpus=corpus))
    write_contrastive(experiment)
    return experiment.folder


def test_the_page_has_documents_and_distances(evaluated, tmp_path):
    experiment = Experiment(shutil.copytree(evaluated, tmp_path / "copy"))
    back = {"within": 90, "distance_2": 50, "distance_over_3": 40, "distance_1": 60, "er": 1}
    for number, variant in enumerate(experiment.settings.variants):
        items = {f"pronouns_{name}": score + number for name, score in back.items()}
        items |= {f"items_{name}_text": 4 for name in back}
        scores = {"cohesion": 0.25, "cohesion_human": 0.75, "apt_nouns_words_total": 7}
        if variant != "alone":
            scores["apt_nouns"] = {"score": 0.5 + number / 10, "signature": "n|1"}
        for seed in (1, 2):
            add_flat(experiment.contrastive(f"{variant}-{seed}"), {"pronouns": items})
            if (variant, seed) != ("again", 2):
                add_flat(experiment.scores(f"{variant}-{seed}"), {"test": scores})
    results = read_results(experiment)
    page = analyses_page(results, "discourse", ())
    documents, distances = page.sections
    (shown,) = map(cells, documents.grids)
    assert (documents.grids[0].title, shown) == (
        "test",
        {
            "Transformer": {"apt_nouns": "0.5000 ± 0.0000", "cohesion": "0.2500 ± 0.0000"},
            "Gauss | half": {"apt_nouns": "0.6000 ± 0.0000 (+0.1000)", "cohesion": "0.2500 ± 0.0000 (+0.0000)"},
            "again": {"apt_nouns": DASH, "cohesion": DASH},
            "alone": {"apt_nouns": DASH, "cohesion": "0.2500 ± 0.0000"},
            "Human translation": {"apt_nouns": DASH, "cohesion": "0.7500"},
        },
    )
    assert page.signatures["apt_nouns"] == ["n|1"]
    (shown,) = map(cells, distances.grids)
    titles = ("within", "distance_1", "distance_2", "distance_over_3")
    values = ("93.00 ± 0.00", "63.00 ± 0.00", "53.00 ± 0.00", "43.00 ± 0.00")
    assert [*shown["alone"].items()] == [*zip((f"{title}, 4 items" for title in titles), values, strict=True)]
    assert results.estimate("gauss", Measure("test", "apt_nouns")).gain.mean == 0.1
    write_results(results)
    table = (experiment.metrics / "results.csv").read_text(encoding="utf-8")
    assert "\ngauss,test,apt_nouns,,,0.6," in table
    assert "\nhuman,test,cohesion,,,0.75," in table
    assert "apt_nouns_words" not in table


def test_a_page_without_documents_says_so(evaluated):
    page = render("page.md.j2", page=analyses_page(read_results(Experiment(evaluated)), "discourse", ()))
    assert "No test set of this corpus has documents." in page
    assert "No contrastive set of this corpus has categories of distance." in page
    assert "| System |" not in page
