"""The keys under `generated` in data/params.yaml: sizes of a miniature corpus and frequencies of phenomena."""

from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import Field

from context_nmt.settings import Checked, PositiveInteger, Seed, Share, require

AtLeastTwo = Annotated[int, Field(ge=2)]


@dataclass(frozen=True, kw_only=True)
class RateSettings(Checked):
    """Frequencies of phenomena: weights of episodes, distances and cues; probabilities of all others."""

    pronoun_cross: Share = 0.30  # episode: a thing, and a pronoun for it one to three sentences later
    pronoun_within: Share = 0.20  # episode: a thing and its pronoun in one sentence
    sense: Share = 0.36  # episode: an ambiguous noun
    people: Share = 0.14  # episode: people only
    distance_1: Share = 0.5  # of pronoun_cross: one sentence from the thing to its pronoun
    distance_2: Share = 0.3  # two sentences
    distance_3: Share = 0.2  # three sentences
    cue_beside: Share = 0.5  # of sense: the cue is an adjective or genitive of the noun
    cue_far: Share = 0.2  # the cue is in another clause of the sentence
    cue_previous: Share = 0.3  # the cue is in the sentence before
    present: Share = 0.25  # documents in the present tense; the others are in the past
    plural: Share = 0.25  # things and people in the plural
    named: Share = 0.5  # people who have a name
    person_pronoun: Share = 0.6  # pronouns for people who were mentioned in the sentence before
    adjective: Share = 0.3  # nouns with an adjective
    relative: Share = 0.15  # nouns with a relative clause
    time: Share = 0.3  # clauses with a time
    place: Share = 0.2  # clauses with a place
    fronted: Share = 0.4  # times and places at the start of their clause
    # clauses with a time, place or companion that is fronted in one language only; at most 0.5, as it would otherwise
    # be the usual order
    reordered: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    companion: Share = 0.1  # clauses with a companion: for, with or without somebody
    frequency: Share = 0.08  # clauses with an adverb of frequency
    manner: Share = 0.08  # clauses with an adverb of manner
    negated: Share = 0.12  # negated clauses
    modal: Share = 0.1  # clauses with a modal verb
    perfect: Share = 0.2  # clauses in the perfect, of those in the present
    future: Share = 0.2  # clauses in the future, of those in the present
    subordinate: Share = 0.15  # sentences with a subordinate clause
    coordinated: Share = 0.15  # sentences with two coordinated clauses
    opening: Share = 0.06  # sentences that start with "But"
    question: Share = 0.06  # questions
    speech: Share = 0.06  # sentences in direct speech

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
    # pairs of pronouns whose noun is in an earlier sentence, a third at each distance
    cross_pairs: PositiveInteger = 600
    beside: PositiveInteger = 500  # ambiguous nouns with the cue in their noun phrase
    far: PositiveInteger = 500  # ambiguous nouns with the cue in another clause
    previous_pairs: PositiveInteger = 500  # pairs of ambiguous nouns with the cue in the sentence before


@dataclass(frozen=True, kw_only=True)
class ProbingTaskSizes(Checked):
    """Size of the probing tasks."""

    documents: PositiveInteger = 5500  # generated for the tasks only; none of them is in the corpus
    training: AtLeastTwo = 2000  # training sentences per task, over all classes
    validation: AtLeastTwo = 500  # validation sentences per task
    test: AtLeastTwo = 1000  # test sentences per task
    words: AtLeastTwo = 30  # maximum number of classes of word_content
    # other numbers of training sentences, by task: {bigram_shift: 20000}
    training_of: dict[str, AtLeastTwo] = field(default_factory=dict)

    def for_task(self, task: str) -> "ProbingTaskSizes":
        """Return the sizes of one task."""
        return replace(self, training=self.training_of.get(task, self.training))

    def per_class(self, classes: int) -> tuple[int, ...]:
        """Return the number of sentences of each class in tr, va and te."""
        return self.training // classes, self.validation // classes, self.test // classes


@dataclass(frozen=True, kw_only=True)
class MiniatureSettings(Checked):
    """A whole corpus; split sizes are in sentences and are rounded up to whole documents."""

    seed: Seed = 1  # the same seed and settings give the same files
    train: PositiveInteger = 30_000  # training sentences
    valid: PositiveInteger = 1_000  # validation sentences
    test: PositiveInteger = 1_000  # test sentences
    rates: RateSettings = RateSettings()
    contrastive: ContrastiveSettings = ContrastiveSettings()
    probing: ProbingTaskSizes = ProbingTaskSizes()
    # rates of the documents for probing; by default with more and longer clauses, for rare classes
    probing_rates: RateSettings = RateSettings(
        plural=0.35, adjective=0.4, relative=0.35, time=0.4, place=0.4, companion=0.2, subordinate=0.25, coordinated=0.3
    )
