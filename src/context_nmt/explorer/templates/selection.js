"use strict";

// Select a word by pointer and keyboard, and mark in the text what one system looks at.

/** Select a word; `pin` keeps it selected while the pointer moves. */
function select(line, word, { pin = false } = {}) {
  const before = page.selected?.line.spans[page.selected.word];
  before?.classList.remove("selected");
  before?.removeAttribute("aria-pressed");
  byId("text").querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
  page.selected = { line, word };
  page.isPinned = pin;
  if (line.run !== null) page.run = line.run;
  const span = line.spans[word];
  span.classList.add("selected");
  span.setAttribute("tabindex", "0");
  if (pin) span.setAttribute("aria-pressed", "true");
  showPanel();
}

function unselect() {
  const span = page.selected?.line.spans[page.selected.word];
  span?.classList.remove("selected");
  span?.removeAttribute("aria-pressed");
  Object.assign(page, { selected: null, isPinned: false });
  showPanel();
}

/** Return the index of the word in each run's translation, or of the source, that the selected word corresponds to. */
function counterpartWords() {
  const { line, word } = page.selected;
  return page.explored.runs.map((run, index) => {
    if (line.side === "source" || line.run === index) return word;
    return align(line.words, run.sentences[line.sentence].target)[word];
  });
}

/** Return the word of an event as {line, word}; null if there is none. */
function wordOf(event) {
  const span = event.target.closest(".word");
  return span && { line: page.lines[span.dataset.line], word: Number(span.dataset.word) };
}

/** Return the word that an arrow key leads to: along the line, or in the next line that has words. */
function neighbour({ line, word }, key) {
  if (key === "ArrowRight") return { line, word: Math.min(word + 1, line.words.length - 1) };
  if (key === "ArrowLeft") return { line, word: Math.max(word - 1, 0) };
  const lines = page.lines.filter(({ words }) => words.length);
  const next = lines[lines.indexOf(line) + (key === "ArrowDown" ? 1 : -1)];
  if (!next) return { line, word };
  const isSameText = next.sentence === line.sentence && next.side === line.side;
  const position = isSameText ? align(line.words, next.words)[word] : word;
  return { line: next, word: Math.min(Math.max(position, 0), next.words.length - 1) };
}

function handleKey(event) {
  if (event.key === "Escape" && page.selected) {
    if (page.isPinned) select(page.selected.line, page.selected.word);
    else unselect();
    return;
  }
  const target = wordOf(event);
  if (!target || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Enter" || event.key === " ") {
    togglePin(target);
  } else if (["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) {
    const next = neighbour(target, event.key);
    select(next.line, next.word);
    next.line.spans[next.word].focus();
  } else {
    return;
  }
  event.preventDefault();
}

function isSelected({ line, word }) {
  return page.selected?.line === line && page.selected.word === word;
}

function togglePin(target) {
  select(target.line, target.word, { pin: !(isSelected(target) && page.isPinned) });
}

function addListeners() {
  const text = byId("text");
  const follow = (event) => {
    const target = wordOf(event);
    if (target && !page.isPinned && !isSelected(target)) select(target.line, target.word);
  };
  // not pointerover, which also happens when the text scrolls under a resting pointer
  text.addEventListener("pointermove", (event) => event.pointerType === "mouse" && follow(event));
  text.addEventListener("focusin", follow);
  text.addEventListener("click", (event) => {
    const target = wordOf(event);
    if (target) togglePin(target);
  });
  document.addEventListener("keydown", handleKey);
}

/** Return what to mark in the text: what the marked run looks at, and the selected word's counterparts everywhere. */
function marksOf(looks, counterparts) {
  const { line } = page.selected;
  const shown = looks[page.run];
  const aligned = looks.flatMap((look, run) => {
    const targets = line.side === "source" ? look.translations : counterparts[run] < 0 ? [] : [counterparts[run]];
    return targets.map((word) => spanOf(line.sentence, "target", run, word));
  });
  if (!shown) return { words: [], sentences: [], aligned };
  const place = line.side === "source" ? "encoder" : "cross";
  const attentions = shown.direct.views.filter(({ view, weights }) => view.place === place && weights);
  const words = new Map(); // from spans to weights
  const sentences = new Map(); // from numbers to weights
  for (const { view, weights } of attentions) {
    view.keys.forEach((key, index) => {
      const span = isToken(key) ? null : spanSeen(line.sentence + key.sentence, key, page.run, key.sentence === 0);
      add(words, span, weights[index] / attentions.length);
    });
  }
  // a decoder that looks at earlier sentences takes precedence over the encoder, as in the panel
  const candidates = [shown.direct, shown.through].map((look) => look?.earlier ?? []);
  const modules = candidates.find((earlier) => earlier.length) ?? [];
  for (const module of modules) {
    for (const { sentence, weight, words: shares } of module.sentences) {
      add(sentences, sentence, weight / modules.length);
      shares.forEach((share, word) => {
        const span = spanSeen(sentence, { side: module.seen, word }, page.run, false);
        add(words, span, (share * weight) / modules.length);
      });
    }
  }
  const marked = [...words].filter(([span, weight]) => span && weight >= SMALLEST_SHARE);
  return { words: marked, sentences: [...sentences], aligned };
}

function add(sums, key, value) {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

function spanOf(sentence, side, run, word) {
  return lineAt(sentence, side, side === "source" ? null : run)?.spans[word];
}

/** Return the span of a word that a run saw; in an earlier target sentence, it may be in the reference. */
function spanSeen(sentence, { side, word }, run, isCurrent) {
  const { seen_target: seenTarget } = page.explored.runs[run].sentences[sentence];
  return spanOf(sentence, side, seenTarget && !isCurrent ? null : run, word);
}

/** Mark words, sentences and counterparts in the text; `words` and `sentences` have pairs with weights. */
function markText({ words, sentences, aligned }) {
  for (const span of byId("text").querySelectorAll(".seen")) {
    span.classList.remove("seen");
    span.style.removeProperty("--weight");
    describe(span, span.textContent, span.dataset.note);
  }
  byId("text").querySelectorAll(".aligned").forEach((span) => span.classList.remove("aligned"));
  byId("text").querySelectorAll(".share").forEach((share) => share.replaceChildren());
  for (const [span, weight] of words) {
    span.classList.add("seen");
    span.style.setProperty("--weight", weight.toFixed(3));
    describe(span, span.textContent, [percent(weight), span.dataset.note].filter(Boolean).join("; "));
  }
  for (const [sentence, weight] of sentences) {
    const bar = element("i", { class: "bar" });
    bar.style.setProperty("--weight", weight.toFixed(3));
    byId(`sentence-${sentence + 1}`).querySelector(".share").replaceChildren(bar, percent(weight));
  }
  aligned.forEach((span) => span.classList.add("aligned"));
}

/** Return the text that a screen reader speaks for the selected word. */
function spoken(looks) {
  const place = page.selected.line.side === "source" ? "encoder" : "cross";
  const shown = looks?.direct.views.find(({ view, weights }) => view.place === place && weights);
  if (!shown) return "";
  const texts = shown.view.keys.map((key) => keyText(key, page.run));
  const order = upTo(texts.length).sort((a, b) => shown.weights[b] - shown.weights[a]);
  return order.slice(0, TOP_COUNT).map((key) => `${texts[key]} ${percent(shown.weights[key])}`).join(", ");
}

/** Fill the choices of layer, head and system. */
function showChoices() {
  const { runs } = page.explored;
  const attentions = runs.flatMap((run) => run.sentences.flatMap((entry) => entry.views));
  page.choice = { layer: null, head: null };
  for (const [name, numbers] of [
    ["layer", attentions.flatMap((view) => view.layers)],
    ["head", attentions.map((view) => view.heads)],
  ]) {
    const options = upTo(Math.max(0, ...numbers)).map((number) => option(number + 1, `${name} ${number + 1}`));
    byId(name).replaceChildren(option("", `mean of ${name}s`), ...options);
    byId(name).onchange = () => {
      page.choice[name] = byId(name).value ? Number(byId(name).value) : null;
      showPanel();
    };
  }
  byId("run").replaceChildren(...runs.map((run, index) => option(index, `in the text: ${run.label}`)));
  byId("run").hidden = runs.length < 2;
  byId("run").onchange = () => {
    page.run = Number(byId("run").value);
    showPanel();
  };
}

function option(value, text) {
  return element("option", { value }, text);
}
