"use strict";

// The text of the page: sentences, references, translations, and the outcomes of contrastive items.

const page = {
  explored: null, // the data; explorer/page.py describes it
  lines: [], // from top to bottom: {sentence, side, run, words, spans}; run is null for source and reference
  selected: null, // {line, word}
  isPinned: false, // whether the selection stays while the pointer moves
  run: 0, // the run whose attention is marked in the text
  choice: { layer: null, head: null }, // null: the mean over all
};

function byId(id) {
  return document.getElementById(id);
}

/** Return a new element; children that are strings become text. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function percent(share) {
  return share > 0 && share < 0.01 ? "<1%" : `${Math.round(100 * share)}%`;
}

/** Return a row of headings. */
function headRow(...texts) {
  return element("tr", {}, ...texts.map((text) => element("th", {}, text)));
}

function bold(text, attributes = {}) {
  return element("b", attributes, text);
}

/** Return the line of a sentence; `run` is null for the source and the reference. */
function lineAt(sentence, side, run) {
  return page.lines.find((line) => line.sentence === sentence && line.side === side && line.run === run);
}

/** Show an explored text instead of the current one. */
function showText(explored) {
  unpacked.clear();
  const labels = explored.runs.map((run) => run.label);
  explored.runs.forEach((run) => {
    const isUnique = labels.indexOf(run.label) === labels.lastIndexOf(run.label);
    if (!isUnique) run.label = run.name; // other seeds of the variant have the same label
  });
  Object.assign(page, { explored, lines: [], selected: null, isPinned: false, run: explored.runs.length - 1 });
  byId("panel").hidden = false;
  byId("text").replaceChildren(...explored.sentences.map(sentenceBlock));
  if (page.lines.length) page.lines[0].spans[0]?.setAttribute("tabindex", "0");
  showChoices();
  showPanel();
  const start = explored.select;
  if (start) {
    const run = start.side === "source" ? null : start.run;
    const line = lineAt(start.sentence, start.side, run);
    page.run = start.run;
    if (!line) return;
    select(line, start.word, { pin: true });
    line.spans[start.word].scrollIntoView({ block: "nearest" }); // on a narrow screen, not below the panel
  }
}

function sentenceBlock(sentence, number) {
  const { runs } = page.explored;
  const translations = runs.map((run) => run.sentences[number].target);
  const lineNumber = sentence.line === number + 1 ? null : element("small", {}, `line ${sentence.line}`);
  const block = element(
    "section",
    { id: `sentence-${number + 1}` },
    element("h2", {}, `${number + 1} `, lineNumber, element("span", { class: "share" })),
    lineOf({ sentence: number, side: "source", run: null, words: sentence.source }, "source"),
  );
  if (sentence.reference) {
    block.append(lineOf({ sentence: number, side: "target", run: null, words: sentence.reference }, "reference"));
  }
  runs.forEach((run, index) => {
    const line = { sentence: number, side: "target", run: index, words: translations[index] };
    const others = translations.filter((_, other) => other !== index);
    block.append(lineOf(line, run.label, differences(line.words, sentence.reference, others), verdict(number, index)));
  });
  if (sentence.candidates) block.append(candidatesTable(sentence.candidates, number));
  return block;
}

/** Return for each word whether it differs from the reference, and whether it differs from another system. */
function differences(words, reference, others) {
  const differs = (other) => {
    const counterparts = align(words, other);
    return words.map((word, index) => other[counterparts[index]] !== word);
  };
  const fromReference = reference ? differs(reference) : words.map(() => false);
  const fromOthers = others.map(differs);
  return words.map((_, index) => ({
    reference: fromReference[index],
    systems: fromOthers.some((differing) => differing[index]),
  }));
}

function lineOf(line, label, marks = [], outcome = null) {
  const { languages, pronouns } = page.explored;
  line.label = element("span", { class: "label" }, outcome, label);
  line.spans = line.words.map((word, index) => {
    const mark = marks[index];
    const classes = [
      "word",
      pronouns[line.side].includes(word.toLowerCase()) && "pronoun",
      mark?.reference && "unlike-reference",
      mark?.systems && "unlike-systems",
    ];
    const notes = [mark?.reference && "unlike the reference", mark?.systems && "the systems differ"];
    const note = notes.filter(Boolean).join("; ");
    const span = element("span", { class: classes.filter(Boolean).join(" "), role: "button", tabindex: "-1" }, word);
    span.dataset.line = page.lines.length;
    span.dataset.word = index;
    span.dataset.note = note;
    describe(span, word, note);
    return span;
  });
  page.lines.push(line);
  const words = element("span", { class: "words", lang: languages[line.side] });
  line.spans.forEach((span) => words.append(span, " "));
  line.row = element("div", { class: line.run === null ? "line" : "line translation" }, line.label, words);
  return line.row;
}

/** Set the tooltip of a word, and its name for a screen reader. */
function describe(span, word, note) {
  span.title = note;
  span.setAttribute("aria-label", note ? `${word}, ${note}` : word);
}

/** Return the outcome of a contrastive item: whether the correct candidate has a better score than every wrong one. */
function verdict(number, run) {
  const { candidates } = page.explored.sentences[number];
  const { scores } = page.explored.runs[run].sentences[number];
  if (!candidates || !scores) return null;
  const best = (isCorrect) => Math.max(...scores.filter((_, index) => candidates[index].correct === isCorrect));
  const [right, wrong] = [best(true), best(false)];
  if (right === wrong) return element("b", { title: "scores a wrong candidate like the correct one" }, "= ");
  return right > wrong
    ? element("b", { class: "right", title: "chooses the correct candidate" }, "✓ ")
    : element("b", { class: "wrong", title: "chooses a wrong candidate" }, "✗ ");
}

function candidatesTable(candidates, number) {
  const { runs, languages } = page.explored;
  const head = headRow("candidates, with their log-probabilities", ...runs.map((run) => run.label));
  const rows = candidates.map((candidate, index) => {
    const scores = runs.map(({ sentences }) => {
      const { scores } = sentences[number];
      if (!scores) return element("td", {}, "–");
      const text = scores[index].toFixed(2);
      const best = Math.max(...scores);
      if (scores[index] < best) return element("td", {}, text);
      const isUnique = scores.filter((score) => score === best).length === 1;
      return element("td", { class: "chosen" }, `${isUnique ? "chosen" : "tied"} ${text}`);
    });
    const text = `${candidate.correct ? "✓" : "✗"} ${candidate.text.join(" ")}`;
    return element("tr", {}, element("td", { lang: languages.target }, text), ...scores);
  });
  return element("div", { class: "scroll" }, element("table", { class: "candidates" }, head, ...rows));
}
