"""A few English words with trees, enough for every probing task; not the project's grammar."""

from context_nmt.miniature.probing import ParsedSentence

PEOPLE = ["baker", "king", "nurse", "sailor", "doctor", "pilot", "farmer", "singer", "judge", "guard"]
ANIMALS = ["horse", "tiger", "donkey", "rabbit", "camel", "goat", "sheepdog", "raven", "beaver", "monkey"]
FOODS = ["apple", "banana", "pear", "cake", "potato", "tomato", "carrot", "melon", "onion", "plum"]
LETTERS = ["letter", "book", "poem", "note", "novel", "story", "message", "postcard", "list", "report"]
SEEN = ["praise", "visit", "greet", "follow", "want", "need", "help", "pull", "push", "call"]
EATEN = ["cook", "taste", "peel", "roast", "grill", "boil", "salt", "smell", "crush", "mash"]
READ = ["print", "translate", "copy", "sign", "post", "burn", "answer", "mail", "edit", "publish"]
VERBS = [(SEEN, ANIMALS), (EATEN, FOODS), (READ, LETTERS)]


def regular(word, ending):
    return word + {"s": "es" if word.endswith(("sh", "o")) else "s", "d": "d" if word.endswith("e") else "ed"}[ending]


def noun_phrase(random, nouns, clauses=0):
    noun, tag = (random.choice(nouns), "NN")
    if random.random() < 0.5:
        noun, tag = regular(noun, "s"), "NNS"
    adjective = f"(JJ {random.choice(['old', 'young', 'strange', 'small'])}) " if random.random() < 0.4 else ""
    simple = f"(NP (DT the) {adjective}({tag} {noun}))"
    if clauses and random.random() < 0.4:
        return f"(NP {simple} (SBAR (WHNP (WDT that)) (S {clause(random, clauses - 1)})))"
    if random.random() < 0.2:
        return f"(NP {simple} (PP (IN near) (NP (DT the) (NN {random.choice(['river', 'tower', 'garden'])}))))"
    return simple


def clause(random, clauses=2):
    verbs, objects = random.choice(VERBS)
    verb = random.choice(verbs)
    subject = noun_phrase(random, PEOPLE)
    word, tag = (regular(verb, "d"), "VBD") if random.random() < 0.5 else (verb, "VBP")
    if tag == "VBP" and "(NN " in subject:
        word, tag = regular(verb, "s"), "VBZ"
    often = f"(ADVP (RB {random.choice(['often', 'gladly', 'slowly'])})) " if random.random() < 0.3 else ""
    return f"{subject} {often}(VP ({tag} {word}) {noun_phrase(random, objects, clauses)})"


def sentence(random):
    kind = random.random()
    if kind < 0.25:
        inner = f"(S {clause(random)}) (, ,) (CC and) (S {clause(random)})"
    elif kind < 0.4:
        inner = f"(PP (IN in) (NP (DT the) (NN evening))) (, ,) {clause(random)}"
    else:
        inner = clause(random)
    return parsed(f"(ROOT (S {inner} (. .)))")


def parsed(brackets):
    """A gold record with the tokens and tags of its tree."""
    leaves = [leaf.split() for leaf in brackets.replace("(", ")").split(")") if len(leaf.split()) == 2]
    tags, tokens = (list(column) for column in zip(*leaves, strict=True))
    tokens[0] = tokens[0].capitalize()
    return ParsedSentence.from_gold({"en": {"tokens": tokens, "tags": tags}, "tree": brackets})


def sentences(random, count):
    return [sentence(random) for _ in range(count)]
