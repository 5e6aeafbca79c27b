"""The keys under generated in data/params.yaml: the size of a miniature corpus and the frequency of each phenomenon."""

from dataclasses import dataclass, field, replace
from typing import Annotated

from context_nmt.settings import Bounds, Checked, PositiveInteger, Seed, Share, require

AtLeastTwo = Annotated[int, Bounds(ge=2)]


@dataclass(frozen=True, kw_only=True)
class RateSettings(Checked):
    """The frequency of each phenomenon: weights of episodes, distances and cues, probabilities of all others."""

    # Episodes that documents are made of.
    pronoun_cross: Share = 0.30  # a thing, and sentences later a pronoun for it
    pronoun_within: Share = 0.20  # a thing and its pronoun in one sentence
    sense: Share = 0.36  # an ambiguous noun
    people: Share = 0.14  # people alone
    distance_1: Share = 0.5  # sentences from the thing to its pronoun
    distance_2: Share = 0.3
    distance_3: Share = 0.2
    cue_beside: Share = 0.5  # where the cue of an ambiguous noun is
    cue_far: Share = 0.2
    cue_previous: Share = 0.3
    present: Share = 0.25  # documents in the present tense; the others are in the past
    plural: Share = 0.25  # of things and people
    named: Share = 0.5  # people with a name
    person_pronoun: Share = 0.6  # of people who were mentioned in the sentence before
    adjective: Share = 0.3  # before a noun
    relative: Share = 0.15  # clause after a noun
    time: Share = 0.3
    place: Share = 0.2
    fronted: Share = 0.4  # of a time or a place
    # Of clauses with a time, place or companion: fronted in one language only. Above 0.5, it would be the usual order.
    reordered: Annotated[float, Bounds(ge=0, le=0.5)] = 0.0
    companion: Share = 0.1  # for, with or without the other person
    frequency: Share = 0.08
    manner: Share = 0.08
    negated: Share = 0.12
    modal: Share = 0.1
    perfect: Share = 0.2  # of clauses in the present
    future: Share = 0.2
    subordinate: Share = 0.15
    coordinated: Share = 0.15
    opening: Share = 0.06  # "But …"
    question: Share = 0.06
    speech: Share = 0.06

    def __post_init__(self) -> None:
        for names in (EPISODES, DISTANCES, CUES):
            require(
                sum(getattr(self, name) for name in names) > 0, f"{', '.join(names)} are all 0; one must be above 0"
            )


EPISODES = ("pronoun_cross", "pronoun_within", "sense", "people")
DISTANCES = ("distance_1", "distance_2", "distance_3")
CUES = ("cue_beside", "cue_far", "cue_previous")


@dataclass(frozen=True, kw_only=True)
class ContrastiveSettings(Checked):
    """Sizes of the contrastive sets; items that need an earlier sentence come in mirrored pairs."""

    within: PositiveInteger = 500  # pronouns whose noun is in the same sentence
    cross_pairs: PositiveInteger = 600  # mirrored pairs, a third at each distance
    beside: PositiveInteger = 500  # ambiguous nouns, by the position of their cue
    far: PositiveInteger = 500
    previous_pairs: PositiveInteger = 500


@dataclass(frozen=True, kw_only=True)
class ProbingSettings(Checked):
    """Size of the probing tasks."""

    documents: PositiveInteger = 5500  # generated only for the tasks; no document of the corpus is used
    training: AtLeastTwo = 2000  # sentences per task, all classes together
    validation: AtLeastTwo = 500
    test: AtLeastTwo = 1000
    words: AtLeastTwo = 30  # classes of word_content, at most
    training_of: dict[str, AtLeastTwo] = field(
        default_factory=dict
    )  # for tasks that need more, {"bigram_shift": 20000}

    def of(self, task: str) -> "ProbingSettings":
        """Return the sizes of one task."""
        return replace(self, training=self.training_of.get(task, self.training))

    def per_class(self, classes: int) -> tuple[int, ...]:
        """Return the number of sentences of each class in tr, va and te."""
        return self.training // classes, self.validation // classes, self.test // classes


@dataclass(frozen=True, kw_only=True)
class MiniatureSettings(Checked):
    """A whole corpus; split sizes are in sentences and are rounded up to whole documents."""

    seed: Seed = 1
    train: PositiveInteger = 30_000
    valid: PositiveInteger = 1_000
    test: PositiveInteger = 1_000
    rates: RateSettings = RateSettings()
    contrastive: ContrastiveSettings = ContrastiveSettings()
    probing: ProbingSettings = ProbingSettings()
    # For the documents that probing tasks are drawn from: more and longer clauses, for classes that are rare elsewhere.
    probing_rates: RateSettings = RateSettings(
        plural=0.35, adjective=0.4, relative=0.35, time=0.4, place=0.4, companion=0.2, subordinate=0.25, coordinated=0.3
    )
