"""`context-nmt corpus` on a small folder with all kinds of files, and on plain text."""

import json
from functools import partial

import pytest
from measured import assert_golden

from context_nmt.corpus.samples import mark_tokens, sample_documents
from context_nmt.files import UserError
from context_nmt.measures.corpus_description import count_phenomena, describe_corpus, print_description

TABLE = "(ROOT (S (NP (DT The) (NN man)) (VP (VBD saw) (NP (DT the) (NN table))) (. .)))"
IT = (
    "(ROOT (S (NP (PRP It)) (VP (VBD was) (VP (VBN sold) (SBAR (IN because) "
    "(S (NP (PRP it)) (VP (VBD was) (ADJP (JJ old))))))) (. .)))"
)
BANK = (
    "(ROOT (S (S (NP (PRP He)) (VP (VBD saw) (NP (NP (DT the) (NN bank)) (SBAR (WHNP (WDT that)) "
    "(S (VP (VBD burned))))))) (, ,) (CC and) (S (NP (PRP he)) (VP (MD can) (VP (VB leave)))) (. .)))"
)
ENGLISH = [
    "The man saw the table.",
    "It was sold because it was old.",
    "He saw the bank that burned, and he can leave.",
]
GERMAN = [
    "Der Mann sah den Tisch.",
    "Er wurde verkauft, weil er alt war.",
    "Er sah die Bank, die brannte, und er kann gehen.",
]


def tokens(text):
    return text.replace(",", " ,").replace(".", " .").split()


def record(sentence, tree, **knowledge):
    english, german = tokens(ENGLISH[sentence]), tokens(GERMAN[sentence])
    sides = {"en": {"tokens": english, "tags": english}, "de": {"tokens": german, "tags": german}}
    empty = {"pronouns": [], "senses": [], "synonyms": []}
    return {"document": 0, "sentence": sentence, "tree": tree, "alignment": []} | sides | empty | knowledge


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def corpus(tmp_path):
    """A test document of three sentences, one of which is in the training set."""
    antecedent = {"sentence": 0, "en": 4, "de": 4}
    pronouns = [
        {"en": 0, "de": 0, "entity": 1, "distance": 1, "within": False, "antecedent": antecedent},
        {"en": 4, "de": 5, "entity": 1, "distance": 0, "within": True, "antecedent": {"sentence": 1, "en": 0, "de": 0}},
    ]
    sense = {"side": "en", "word": "bank", "sense": "bank_money", "en": 3, "de": 3, "cue": "previous"}
    sense |= {"cue_word": {"sentence": 1, "en": 2, "de": 2}, "distractor": "Er sah das Ufer."}
    synonym = {"side": "de", "en": 4, "de": 4, "chosen": "Tisch", "others": ["Tafel"], "distance": None}
    gold = [record(0, TABLE, synonyms=[synonym]), record(1, IT, pronouns=pronouns), record(2, BANK, senses=[sense])]
    folder = tmp_path / "small"
    write(folder / "train.en", [*ENGLISH[:2], "Yes.", "No."])
    write(folder / "train.de", [GERMAN[0], "Es wurde verkauft.", "Ja.", "Nein."])
    write(folder / "train.documents", ["0", "2"])
    write(folder / "test.en", ENGLISH)
    write(folder / "test.de", GERMAN)
    write(folder / "test.documents", ["0"])
    write(folder / "test.gold.jsonl", map(json.dumps, gold))
    write(folder / "test.bound.de", [*GERMAN[:2], "Er sah das Ufer, das brannte, und er kann gehen."])
    items = [
        {"source": "It.", "right": "Er.", "wrong": ["Sie."], "categories": ["cross", "distance_1"], "mirror": 1},
        {"source": "It.", "right": "Sie.", "wrong": ["Er."], "categories": ["cross", "distance_1"], "mirror": 0},
        {"source": "He.", "right": "Er.", "wrong": ["Sie."], "categories": ["within"]},
    ]
    write(folder / "pronouns.en-de.jsonl", map(json.dumps, items))
    write(folder / "probing/past_present.txt", ["tr\tPAST\tHe saw .", "tr\tPRES\tHe sees .", "te\tPAST\tShe saw ."])
    return folder


def test_everything_in_a_folder_is_described_and_printed(corpus, capsys, monkeypatch):
    described = describe_corpus(corpus)
    bound = described["splits"]["test"].pop("bound")["de"]
    assert_golden(json.dumps(described, indent=1, sort_keys=True) + "\n", "corpus_description.json")
    raw = ("sacrebleu", "chrf", "chrf_plus_plus", "ter")
    assert {*bound} == {*raw, "bleu_tokenized", "bleu_compound_split", "bleu_lowercased"}
    assert all(0 < score["score"] < 100 and "version" in score["signature"] for score in bound.values())
    monkeypatch.setenv("COLUMNS", "100")
    print_description(describe_corpus(corpus))
    printed, oracle = capsys.readouterr().out.split("Oracle without context (majority choice): ")
    assert_golden("\n".join(line.rstrip() for line in printed.splitlines()), "corpus_description.txt")
    assert oracle.startswith("test.de\n")
    assert "nrefs:1" in oracle


def test_a_bin_of_lengths_ends_with_five_tokens(corpus):
    for language in ("en", "de"):
        write(corpus / f"dev.{language}", ["a " * (length - 1) + "b" for length in (5, 6, 10, 11)])
    assert describe_corpus(corpus)["splits"]["dev"]["languages"]["en"]["lengths"]["histogram"] == [1, 2, 1]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("(S (NP (PRP It)) (VP (VBZ has) (VP (VBN slept))))", set()),
        ("(S (NP (PRP It)) (VP (VBZ is) (VP (VBG going))))", set()),
        ("(S (CC But) (NP (PRP it)) (VP (VBD ran)))", set()),
        ("(S (NP (NN man) (CC and) (NN dog)) (VP (VBD ran)))", {"coordinated_phrases"}),
        ("(SQ (VBD Was) (RB n't) (NP (PRP it)))", {"questions", "negations"}),
        ("(VP (VBD sold) (SBAR (IN as) (S (NP (PRP he)) (VP (VBD left)))))", {"subordinate_clauses"}),
        ("(NP (NP (NN man)) (SBAR (WHNP (WP who)) (S (VP (MD can) (VP (VB go))))))", {"relative_clauses", "modals"}),
        ("(S (S (VP (VBD ran))) (, ,) (CC but) (S (VP (VBD hid))))", {"coordinated_clauses"}),
        ("(SINV (`` x) (S (VP (VBD ran))) ('' y) (VP (VBD said)))", {"direct_speech"}),
    ],
)
def test_phenomena_of_a_tree(tree, expected, tmp_path):
    tokens = [word.rstrip(")") for word in tree.split(" ") if word.endswith(")")]
    record = {"tree": tree, "en": {"tokens": tokens}, "pronouns": [], "senses": [], "synonyms": []}
    rates = count_phenomena([record], where=tmp_path)
    assert {name for name, rate in rates.items() if rate > 0} == expected


def test_a_document_that_is_in_training_is_found(corpus):
    write(corpus / "test.en", [*ENGLISH[:2], "No."])
    write(corpus / "test.de", [GERMAN[0], "Es wurde verkauft.", "Nein."])
    write(corpus / "test.documents", ["0", "2"])
    (corpus / "test.gold.jsonl").unlink()
    overlap = describe_corpus(corpus)["splits"]["test"]["in_training"]
    assert overlap["documents"] == {"de": 1, "en": 1}
    assert overlap["sentences"]["en"] == 3
    assert overlap["sentences_over_four_words"]["en"] == 2
    (corpus / "train.documents").unlink()
    assert "documents" not in describe_corpus(corpus)["splits"]["test"]["in_training"]


def test_plain_text_is_described_without_annotation(tmp_path, capsys):
    for language in ("en", "de", "fr", "pt_BR"):
        write(tmp_path / f"dev.{language}", ["A dog.", "A cat, asleep."])
    write(tmp_path / "README.md", ["no text"])
    for name in ("dev.zip", "dev.tsv", "dev.en-de"):  # an archive, pairs, alignments
        (tmp_path / name).write_bytes(b"\xff")
    (described,) = describe_corpus(tmp_path).values()
    assert set(described["dev"]) == {"sentences", "languages"}
    assert described["dev"]["languages"].keys() == {"en", "de", "fr", "pt_BR"}
    assert described["dev"]["languages"]["fr"]["tokens"] == 3 + 5
    print_description({"splits": described})
    assert "dev.fr" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("test.de", ["Ja."], "test.en has 3 lines, .*test.de has 1"),
        ("test.documents", ["0", "3"], "test.documents: the numbers must"),
        ("test.gold.jsonl", ["{}"], "test.gold.jsonl has 1 lines, test has 3 sentences"),
        ("test.gold.jsonl", ["{}"] * 3, "test.gold.jsonl: line 1 is not gold data"),
        ("test.gold.jsonl", ["{}", "{", "{}"], "test.gold.jsonl: line 2 is not JSON"),
        ("test.bound.de", ["Ja."], "test.bound.de has 1 lines, its reference has 3"),
        ("pronouns.en-de.jsonl", ["{}"], "pronouns.en-de.jsonl: line 1 has no list under 'categories'"),
        ("probing/past_present.txt", ["tr\tPAST"], "past_present.txt: line 1 has 2 fields"),
        ("none/train.en", ["Yes."], "none: no parallel text"),
        ("other/train.en", ["Yes."], "none: no such folder"),
    ],
)
def test_files_that_do_not_fit_are_refused(corpus, name, lines, message):
    write(corpus / name, lines)
    with pytest.raises(UserError, match=message):
        describe_corpus(corpus / "none" if message.startswith("none") else corpus)


def test_a_sample_marks_pronouns_and_ambiguous_words(corpus, tmp_path):
    for language in ("de", "cs"):
        write(tmp_path / f"plain/dev.{language}", ["Eins | zwei.", "Drei."])  # without documents, each sentence is one
    lines = [*sample_documents(corpus, split="test", documents=1, seed=1)]
    lines += sample_documents(tmp_path / "plain", split="dev", documents=2, seed=1)
    assert_golden("".join(f"{line}\n" for line in lines), "corpus_sample.md")


def test_a_sample_needs_no_phenomena(tmp_path):
    record = {language: {"tokens": ["Eins", "."], "tags": ["CD", "."]} for language in ("en", "de")}
    for language in ("en", "de"):
        write(tmp_path / f"test.{language}", ["Eins."])
    write(tmp_path / "test.gold.jsonl", [json.dumps(record)])
    assert "| 0 | Eins. | Eins. |" in sample_documents(tmp_path, split="test", documents=1, seed=1)


def test_a_sample_depends_on_its_seed_only(corpus):
    drawn = [[*sample_documents(corpus, split="train", documents=1, seed=seed)][2] for seed in (*range(9), *range(9))]
    assert set(drawn) == {"## Document 0", "## Document 1"}
    assert drawn[:9] == drawn[9:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "tests"}, "--split is 'tests'; .* has train, test"),
        ({"documents": 2}, "--documents is 2; test has 1"),
        ({"documents": 0}, "--documents is 0; test has 1"),
    ],
)
def test_what_cannot_be_sampled_is_refused(corpus, options, message):
    with pytest.raises(UserError, match=message):
        next(sample_documents(corpus, **{"split": "test", "documents": 1, "seed": 1} | options))


def test_a_token_that_is_spelt_differently_in_the_text_is_skipped():
    assert mark_tokens("Im Haus, im Garten.", ["In", "dem", "Haus", ",", "im", "Garten"], {2: 1, 4: 2, 0: 3}) == (
        "Im Haus[1], im[2] Garten."
    )


def test_the_command_lines(corpus, tmp_path, call):
    command = partial(call, "corpus")
    assert command("describe", corpus, "--json", tmp_path / "out.json")[:2] == (0, "")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == describe_corpus(corpus)
    assert "1[2] it / er < It / Er" in command("sample", corpus, "--documents", "1")[1]
    result = command("sample", corpus, "--documents", "3")
    assert result == (1, "", "error: --documents is 3; test has 1\n")
