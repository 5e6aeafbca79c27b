"""How large the miniature corpus is and how often each phenomenon occurs; the keys of data/params.yaml."""

from dataclasses import dataclass, field, replace

from context_nmt.settings import Checked, require


@dataclass(frozen=True, kw_only=True)
class RateSettings(Checked):
    """How often what occurs: weights of episodes, distances and cues; else probabilities."""

    # Episodes that documents are made of.
    pronoun_cross: float = 0.30  # a thing, and sentences later a pronoun for it
    pronoun_within: float = 0.20  # a thing and its pronoun in one sentence
    sense: float = 0.36  # an ambiguous noun
    people: float = 0.14  # people alone
    distance_1: float = 0.5  # sentences from the thing to its pronoun
    distance_2: float = 0.3
    distance_3: float = 0.2
    cue_beside: float = 0.5  # where the cue of an ambiguous noun stands
    cue_far: float = 0.2
    cue_previous: float = 0.3
    present: float = 0.25  # documents in the present tense; the others are in the past
    plural: float = 0.25  # of things and people
    named: float = 0.5  # people with a name
    person_pronoun: float = 0.6  # of people who were mentioned in the sentence before
    adjective: float = 0.3  # before a noun
    relative: float = 0.15  # clause behind a noun
    time: float = 0.3
    place: float = 0.2
    fronted: float = 0.4  # of a time or a place
    reordered: float = 0.0  # of clauses with a time, place or companion: what one language fronts, the other does not
    companion: float = 0.1  # for, with or without the other person
    frequency: float = 0.08
    manner: float = 0.08
    negated: float = 0.12
    modal: float = 0.1
    perfect: float = 0.2  # of clauses in the present
    future: float = 0.2
    subordinate: float = 0.15
    coordinated: float = 0.15
    opening: float = 0.06  # "But …"
    question: float = 0.06
    speech: float = 0.06

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            require(0 <= value <= 1, f"{name} is {value}; it must be in [0, 1]")
        require(self.reordered <= 0.5, f"reordered is {self.reordered}; above 0.5 it would be the rule and no freedom")
        for names in (EPISODES, DISTANCES, CUES):
            require(sum(getattr(self, name) for name in names) > 0, f"{', '.join(names)} are all 0")


EPISODES = ("pronoun_cross", "pronoun_within", "sense", "people")
DISTANCES = ("distance_1", "distance_2", "distance_3")
CUES = ("cue_beside", "cue_far", "cue_previous")


@dataclass(frozen=True, kw_only=True)
class ContrastiveSettings(Checked):
    """Sizes of the contrastive sets; items that need an earlier sentence come in mirrored pairs."""

    within: int = 500  # pronouns whose noun stands in the same sentence
    cross_pairs: int = 600  # mirrored pairs, a third at each distance
    beside: int = 500  # ambiguous nouns, by the position of their cue
    far: int = 500
    previous_pairs: int = 500

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            require(value >= 1, f"{name} is {value}; it must be at least 1")


@dataclass(frozen=True, kw_only=True)
class ProbingSettings(Checked):
    """Size of the probing tasks."""

    documents: int = 5500  # generated for the tasks alone; no document of the corpus is used
    training: int = 2000  # sentences per task, all classes together
    validation: int = 500
    test: int = 1000
    words: int = 30  # classes of word_content, at most
    training_of: dict[str, int] = field(default_factory=dict)  # of tasks that need more, {"bigram_shift": 20000}

    def of(self, task: str) -> "ProbingSettings":
        """The sizes of one task."""
        return replace(self, training=self.training_of.get(task, self.training))

    def __post_init__(self) -> None:
        require(self.documents >= 1, f"documents is {self.documents}; it must be at least 1")
        require(self.words >= 2, f"words is {self.words}; it must be at least 2")
        for name in ("training", "validation", "test"):
            require(getattr(self, name) >= 2, f"{name} is {getattr(self, name)}; it must be at least 2")
        for task, training in self.training_of.items():
            require(training >= 2, f"training_of.{task} is {training}; it must be at least 2")

    def per_class(self, classes: int) -> tuple[int, ...]:
        """Sentences of each class in tr, va and te."""
        return self.training // classes, self.validation // classes, self.test // classes


@dataclass(frozen=True, kw_only=True)
class MiniatureSettings(Checked):
    """A whole corpus; sentences per split, rounded up to whole documents."""

    seed: int = 1
    train: int = 30_000
    valid: int = 1_000
    test: int = 1_000
    rates: RateSettings = field(default_factory=RateSettings)
    contrastive: ContrastiveSettings = field(default_factory=ContrastiveSettings)
    probing: ProbingSettings = field(default_factory=ProbingSettings)
    # Of the documents that probing tasks are drawn from: more and longer clauses, for classes that are rare elsewhere.
    probing_rates: RateSettings = field(
        default_factory=lambda: RateSettings(
            plural=0.35,
            adjective=0.4,
            relative=0.35,
            time=0.4,
            place=0.4,
            companion=0.2,
            subordinate=0.25,
            coordinated=0.3,
        )
    )

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**32, f"seed is {self.seed}; it must be in 0..4294967295")
        for name in ("train", "valid", "test"):
            require(getattr(self, name) >= 1, f"{name} is {getattr(self, name)}; it must be at least 1")
