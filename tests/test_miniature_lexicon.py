"""The lexicon of the miniature corpus holds what a grammar needs, and says which entry is wrong."""

import re
from collections import Counter

import pytest

from context_nmt.files import UserError
from context_nmt.miniature.lexicon_file import PATH, load_lexicon, read_lexicon

LEXICON = load_lexicon()
TEXT = PATH.read_text(encoding="utf-8")
NOUNS = [*LEXICON.nouns.values(), *LEXICON.senses.values()]
AMBIGUOUS = sorted({(noun.sense.side, noun.sense.word) for noun in LEXICON.senses.values() if noun.sense is not None})


def test_there_are_as_many_words_as_the_corpus_needs():
    assert Counter(side for side, _ in AMBIGUOUS) == {"en": 10, "de": 9}
    assert sum(len(noun.german) > 1 for noun in NOUNS) >= 6
    assert sum(len(noun.english) > 1 for noun in NOUNS) >= 5
    assert sum(verb.german.prefix != "" for verb in LEXICON.verbs.values()) >= 8
    assert {verb.frame for verb in LEXICON.verbs.values() if verb.german.auxiliary == "sein"} == {"intransitive"}


def test_the_german_genders_of_things_are_balanced():
    genders = Counter(noun.german[0].gender for noun in LEXICON.nouns.values() if noun.kind != "person")
    assert all(count >= 0.28 * genders.total() for count in genders.values())


def test_no_entry_hides_another_of_the_same_name():
    names = Counter(re.findall(r"^  (\w+): \{", TEXT, re.MULTILINE))
    sections = ("nouns", "senses", "verbs", "adjectives", "adverbs", "time_phrases", "subordinators", "conjunctions")
    held = Counter(name for section in (*sections, "numerals", "prepositions") for name in getattr(LEXICON, section))
    assert names == held


@pytest.mark.parametrize(("side", "word"), AMBIGUOUS)
def test_both_senses_of_a_word_share_it_and_nothing_else(side, word):
    first, second = [noun for noun in LEXICON.senses.values() if noun.sense is not None and noun.sense.word == word]
    english = {noun.english[0].singular for noun in (first, second)}
    german = {tuple(noun.german[0].forms.values()) for noun in (first, second)}
    assert (len(english), len(german)) == ((1, 2) if side == "en" else (2, 1))
    for noun, other in ((first, second), (second, first)):
        assert noun.sense is not None
        assert (noun.sense.side, noun.sense.word, noun.sense.other) == (side, word, other.name)
        assert word in {noun.english[0].singular, noun.german[0].lemma}


def test_a_noun_has_all_forms():
    tables = {noun.german[0].lemma: noun.german[0] for noun in NOUNS}
    assert tables["Bauer"].forms["accusative", "singular"] == "Bauern"
    assert tables["Buch"].forms["dative", "plural"] == "Büchern"
    assert LEXICON.nouns["knife"].english[0].plural == "knives"
    assert LEXICON.nouns["bush"].english[0].plural == "bushes"
    assert LEXICON.nouns["woman"].gender == "feminine"
    assert LEXICON.nouns["table"].gender == "neuter"


def test_a_verb_has_all_forms():
    opening, calling, knowing = (LEXICON.verbs[name].german for name in ("open", "call", "know"))
    assert (opening.prefix, opening.infinitive, opening.participle) == ("auf", "aufmachen", "aufgemacht")
    assert opening.finite["present", 2, "singular"] == "machst"
    assert calling.finite["past", 1, "plural"] == "riefen"
    assert knowing.finite["present", 1, "singular"] == "weiß"
    forgetting, carrying = (LEXICON.verbs[name].english for name in ("forget", "carry"))
    assert (forgetting.participle, forgetting.finite["past", 1, "singular"]) == ("forgotten", "forgot")
    assert (carrying.finite["present", 3, "singular"], carrying.participle) == ("carries", "carried")


def test_modal_verbs_say_what_comes_before_the_infinitive():
    markers = {name: LEXICON.verbs[name].english.marker for name in ("can", "want", "have")}
    assert markers == {"can": "", "want": "to", "have": "to"}
    third = [LEXICON.verbs[name].english.finite["present", 3, "singular"] for name in markers]
    assert third == ["can", "wants", "has"]


def test_the_object_takes_the_case_of_its_frame():
    cases = {name: LEXICON.verbs[name].german.case for name in ("buy", "help", "wait", "dream", "give", "sleep")}
    assert cases == {"buy": "accusative", "help": "dative", "wait": "accusative", "dream": "dative"} | {
        "give": "accusative",
        "sleep": "",
    }


def test_names_are_declined():
    names = {name.english: name for name in (*LEXICON.first_names, *LEXICON.titled_names)}
    assert names["Anna"].german["genitive"] == "Annas"
    assert names["Mr. Weber"].german == {
        "nominative": "Herr Weber",
        "accusative": "Herrn Weber",
        "dative": "Herrn Weber",
        "genitive": "Herrn Webers",
    }
    assert names["Mrs. Weber"].german["genitive"] == "Frau Webers"


def test_words_that_yaml_takes_for_switches_are_words():
    assert LEXICON.prepositions["on"].english == "on"


def test_flags_and_groups():
    assert LEXICON.verbs["see"].neutral
    assert not LEXICON.verbs["buy"].neutral
    assert {"person", "animal", "furniture", "landscape", "place"} <= set(LEXICON.verbs["see"].object)
    assert "person" not in LEXICON.verbs["buy"].object


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "changed", "message"),
    [
        ("en: dog, de", "en: cat, de", "nouns.dog: 'cat' is a word of dog and cat; two with cues may share one"),
        ("des Hundes", "der Hundes", "nouns.dog: 'der Hund, der Hundes, die Hunde': the articles of a masculine noun"),
        ("der Hund, des Hundes,", "der Hund,", "nouns.dog: 'der Hund, die Hunde' has 2 forms; needed are 3"),
        ("dog: {kind: animal,", "dog: {kind: animal, colour: red,", "nouns.dog: a key is 'colour'; allowed are kind"),
        ("dog: {kind: animal,", "dog: {", "nouns.dog: has no key 'kind'"),
        ("gender: masculine, en: boy", "gender: male, en: boy", "nouns.boy: gender is 'male'; allowed are masculine"),
        (
            'en: garden, de: "der Garten, des Gartens, die Gärten", at: {en: in, de: in}}',
            'en: garden, de: "der Garten, des Gartens, die Gärten"}',
            "nouns.garden: `at` is for the kind 'place', and needed there",
        ),
        ("cues: [river, stream, boat]", "cues: [river, stream]", "nouns.bank_shore: needs three cues"),
        ("cues: [river, stream, boat]", "cues: [river, boat, coin]", "nouns.bank_shore: needs three cues"),
        ("cues: [river, stream, boat]", "cues: [river, stream, picture]", "nouns.bank_shore: the cue 'picture' is not"),
        ("cues: [river, stream, boat]", "cues: [river, stream, coin]", "'coin' decides nothing, since"),
        ("adjectives: [muddy]", "adjectives: [old]", "nouns.bank_shore: 'old' is not an adjective with `cue: true`"),
        ("das Ufer, des Ufers, die Ufer", "die Bank, der Bank, die Banken", "nouns.bank_shore: 'Bank' is a word of"),
        (
            'die Birne, der Birne, die Birnen", of: [lamp',
            'die Birne, der Birne, die Birner", of: [lamp',
            "forms tell it",
        ),
        (
            'en: spring, de: "die Quelle',
            'en: bank, de: "die Quelle',
            "'bank' is a word of bank_shore and bank_money and spring",
        ),
        ('en: bank, de: "das', 'en: edge, de: "das', "nouns.bank_shore: has cues, but shares no word"),
        (
            "object: [animal]}\n  catch",
            "object: [beast]}\n  catch",
            "verbs.feed: 'beast' is neither a kind nor a group",
        ),
        ("machte auf", "machte zu", "verbs.open: 'aufmachen, macht auf, machte zu, hat aufgemacht' has two prefixes"),
        ("hat geschlafen", "war geschlafen", "verbs.sleep: the auxiliary is 'war'; allowed are hat, ist"),
        ("sleep: {frame: intransitive", "sleep: {frame: transitive", "verbs.sleep: transitive verbs have an object"),
        ("sleep: {frame: intransitive", "sleep: {frame: verbal", "verbs.sleep: frame is 'verbal'; allowed are intrans"),
        ("en: laugh,", "en: work,", "verbs.work: 'work' is a word of laugh already"),
        (
            "preposition: {en: for, de: auf, case: accusative}",
            "preposition: {en: for}",
            "verbs.wait: prepositional verbs",
        ),
        ("prepositions: [above, behind, next_to]", "prepositions: [with]", "verbs.hang: 'with' is not a two-way prepo"),
        ("prepositions: [above, behind, next_to]", "prepositions: []", "verbs.hang: `prepositions` is for positional"),
        ("en: ugly, de: hässlich", "en: ugly, de: schön", "adjectives.ugly: 'schön' is a word of beautiful already"),
        ("de: undicht, cue: true", "de: undicht, cue: yes", "adjectives.leaky: cue is 'yes'; allowed are true"),
        ("de: reich, kinds: [person]", "de: reich", "adjectives.rich: needs kinds, or `cue: true` and no kinds"),
        ("de: gestern, tenses: [past]", "de: gestern, tenses: [perfect]", "adverbs.yesterday: a tense is 'perfect'"),
        ("[Anna, Maria", "[Agnes, Maria", "'Agnes': a name on s, x or z has no German genitive on s"),
        ("numerals:", "numbers:", "has no section 'numerals'"),
        ("groups:", "groups: {", "not YAML"),
    ],
)
def test_an_error_names_the_file_and_the_entry(tmp_path, line, changed, message):
    path = tmp_path / "lexicon.yaml"
    assert line in TEXT
    path.write_text(TEXT.replace(line, changed), encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_lexicon(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
