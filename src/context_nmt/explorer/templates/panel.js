"use strict";

// The panel beside the text: what each system's attention, gates and iterations say of the selected word.

const TOP = 3; // words that are named, as in table 1 of Ding et al.
const SHOWN = 0.01; // the smallest weight that is marked
let latest = 0; // the number of the latest selection; an older one is not shown if its numbers arrive late

/** Show the selected word in the panel, and mark in the text what one of the systems looks at. */
async function showPanel() {
  latest += 1;
  const ticket = latest;
  byId("selected").replaceChildren(...selectedTitle());
  byId("panel").classList.toggle("empty", !page.selected);
  byId("run").value = page.run;
  if (!page.selected) {
    byId("cards").replaceChildren();
    markText({ words: [], sentences: [], aligned: [] });
    return;
  }
  const { line } = page.selected;
  const words = counterparts();
  const looks = await Promise.all(
    page.explored.runs.map((run, index) => (words[index] < 0 ? null : lookThrough(run.sentences[line.sentence], line.side, words[index]))),
  );
  if (ticket !== latest) return;
  const cards = looks.map(card);
  const [marked] = cards.splice(page.run, 1);
  byId("cards").replaceChildren(marked, ...cards);
  markText(marksOf(looks, words));
  byId("said").textContent = spoken(looks[page.run]);
}

function selectedTitle() {
  if (!page.selected) return ["Point at a word"];
  const { line, word } = page.selected;
  const where = line.side === "source" ? "source" : line.run === null ? "reference" : page.explored.runs[line.run].label;
  const rest = `${where}, sentence ${line.sentence + 1}${page.isPinned ? ", pinned" : ""}`;
  return [element("b", { lang: page.explored.languages[line.side] }, `“${line.words[word]}”`), ` ${rest}`];
}

/** Return what a run shows for a word; for a target word, also for the source word that it looks at most. */
async function lookThrough(entry, side, word) {
  const own = await look(entry, side, word, page.choice);
  if (side === "source") return { own, main: null, through: null, translations: await translationsOf(entry, word, page.choice) };
  const main = mainSourceWord(own);
  return { own, main, through: main && (await look(entry, "source", main.word, page.choice)), translations: [] };
}

/** Return the panel's part of one run. */
function card(looks, index) {
  const { sentence, side } = page.selected.line;
  const entry = page.explored.runs[index].sentences[sentence];
  const made = element("article", {}, cardTitle(looks, index));
  if (![entry.views, entry.gates, entry.earlier].some((shown) => shown.length)) {
    made.append(element("p", { class: "quiet" }, "This system shows nothing of its attention."));
  } else if (!looks) {
    made.append(element("p", { class: "quiet" }, "Its translation has no such word."));
  } else if (side === "source") {
    made.append(...earlier(looks.own, index), ...views(looks.own, index, "encoder"), ...gates(looks.own));
  } else {
    made.append(...views(looks.own, index, "cross"), ...earlier(looks.own, index), ...gates(looks.own));
    if (looks.main) made.append(inTheEncoder(looks, index));
    made.append(...simpleFolded("decoder", looks.own, index));
  }
  if (entry.iterations) made.append(iterations(entry.iterations));
  return made;
}

/** Return what the encoder does with the main source word of a target word. */
function inTheEncoder({ main, through }, index) {
  const text = page.explored.sentences[page.selected.line.sentence].source[main.word];
  const title = element("h4", {}, "in the encoder, its main source word ", element("b", {}, `“${text}”`), ` (${percent(main.weight)})`);
  const attentions = simpleFolded("encoder", through, index);
  return element("div", { class: "through" }, title, ...earlier(through, index), ...attentions, ...gates(through));
}

/** Return the attentions at a place, folded if there is a single one: only more of them are worth a look at every word. */
function simpleFolded(place, looks, index) {
  const found = looks.views.filter(({ view }) => view.place === place);
  return found.length === 1 ? [folded(place, found[0].view.title, views(looks, index, place))] : views(looks, index, place);
}

function cardTitle(looks, index) {
  const { runs, languages } = page.explored;
  const { sentence, side } = page.selected.line;
  const { target } = runs[index].sentences[sentence];
  const title = element("h3", {}, runs[index].label);
  const words = side === "target" ? (looks ? [looks.own.word] : []) : (looks?.translations ?? []);
  const texts = words.map((word) => target[word]).join(" ");
  if (texts) title.append(": ", element("b", { lang: languages.target }, `“${texts}”`));
  return title;
}

/** Return the words of a view's key: of the source, of the run's translation, or a unit such as </s>. */
function keyText(key, index) {
  if (key.text !== undefined) return key.text;
  const number = page.selected.line.sentence + key.sentence;
  return seenWords(number, key.side, index, key.sentence === 0)[key.word] ?? "?";
}

/** Return a sentence as a run sees it; earlier ones of the target may be the reference's. */
function seenWords(number, side, index, isOwn) {
  const entry = page.explored.runs[index].sentences[number];
  if (side === "source") return page.explored.sentences[number].source;
  return (isOwn ? null : entry.seen_target) ?? entry.target;
}

/** Return the attentions at a place, side by side if the mechanism has more than one. */
function views(looks, index, place) {
  const found = looks.views.filter(({ view }) => view.place === place);
  if (!found.length) return [];
  const parts = found.map(({ view, weights, window }) => {
    const part = element("div", { class: "view" }, element("h4", {}, view.title));
    if (!weights) {
      part.append(element("p", { class: "quiet" }, "It has no such layer or head."));
      return part;
    }
    const texts = view.keys.map((key) => keyText(key, index));
    const isItself = (key) => view.place !== "cross" && key.sentence === 0 && key.word === looks.word;
    const named = view.keys.map((key, place) => (isItself(key) ? "itself" : withDistance(texts[place], key)));
    part.append(topWords(named.map((text, place) => ({ text, weight: weights[place] }))));
    part.append(...strips(view, texts, weights));
    if (window) part.append(windowNote(window, texts));
    return part;
  });
  return [element("div", { class: "views" }, ...parts)];
}

function withDistance(text, key) {
  return key.sentence ? `${text} (${-key.sentence} back)` : text;
}

/** Return the words with the largest weights, with their shares. */
function topWords(words) {
  const seen = words.filter(({ weight }) => weight >= SHOWN);
  const top = seen.sort((one, other) => other.weight - one.weight).slice(0, TOP);
  const items = top.map(({ text, weight }) => element("li", {}, element("b", {}, text), ` ${percent(weight)}`));
  return element("ol", { class: "top" }, ...items);
}

/** Return the sentences that a view attends to, shaded by weight; earlier ones have their share in front. */
function strips(view, texts, weights) {
  const groups = [];
  view.keys.forEach((key, index) => {
    const last = groups[groups.length - 1];
    const isSame = last && (key.text !== undefined || (last.key.sentence === key.sentence && last.key.side === key.side));
    if (isSame) last.words.push(index);
    else groups.push({ key, words: [index] });
  });
  return groups.map(({ key, words }) => {
    const made = strip(words.map((index) => ({ text: texts[index], weight: weights[index] })), key.side ?? view.queries);
    if (!key.sentence) return made;
    const share = percent(sum(words.map((index) => weights[index])));
    made.prepend(element("span", { class: "quiet" }, `${-key.sentence} back, ${share}: `));
    return made;
  });
}

function strip(words, side) {
  const made = element("p", { class: "strip", lang: page.explored.languages[side] });
  for (const { text, weight } of words) {
    const isSeen = weight >= SHOWN;
    const shaded = element("span", { class: isSeen && "seen", title: `${text}: ${(100 * weight).toFixed(1)}%` }, text);
    if (isSeen) shaded.style.setProperty("--weight", weight.toFixed(3));
    made.append(shaded, " ");
  }
  return made;
}

function windowNote({ size, center, count, of }, texts) {
  const many = of > 1 ? ` (in ${count} of ${of} layers and heads)` : "";
  return element("p", { class: "quiet" }, `window: ${size} positions on each side of “${texts[center]}”${many}`);
}

/** Return the gates as a table with a column per layer. */
function gates(looks) {
  if (!looks.gates.length) return [];
  const layers = [...new Set(looks.gates.flatMap((gate) => gate.layers))].sort((one, other) => one - other);
  const head = element("tr", {}, element("th", {}, "gates"), ...layers.map((layer) => element("th", {}, `layer ${layer}`)));
  const rows = looks.gates.map((gate) => {
    const cells = layers.map((layer) => {
      const place = gate.layers.indexOf(layer);
      return element("td", {}, ...(place < 0 ? ["–"] : bar(gate.shares[place])));
    });
    return element("tr", {}, element("td", {}, gate.title), ...cells);
  });
  return [element("div", { class: "scroll" }, element("table", { class: "gates" }, head, ...rows))];
}

function bar(share) {
  const made = element("i", { class: "bar" });
  made.style.setProperty("--weight", share.toFixed(3));
  return [made, percent(share)];
}

/** Return the previous sentences that a word looked at, with a summary of the most important one. */
function earlier(looks, index) {
  return looks.earlier.map((one) => {
    const part = element("div", { class: "view" }, element("h4", {}, `${one.title}: earlier sentences`));
    if (!one.sentences.length) {
      part.append(element("p", { class: "quiet" }, "There is no earlier sentence."));
      return part;
    }
    const main = one.sentences[largest(one.sentences.map(({ weight }) => weight))];
    const words = seenWords(main.sentence, one.seen, index, false);
    const word = largest(main.words);
    const summary = element("p", {}, "mostly sentence ", element("b", {}, `${main.sentence + 1}`), ` (${percent(main.weight)})`);
    if (word >= 0) summary.append(", in it ", element("b", {}, `“${words[word]}”`), ` (${percent(main.words[word])})`);
    part.append(summary);
    for (const { sentence, weight, words: shares } of one.sentences) {
      const texts = seenWords(sentence, one.seen, index, false);
      const label = element("a", { href: `#sentence-${sentence + 1}` }, `sentence ${sentence + 1}`);
      const text = strip(texts.map((text, place) => ({ text, weight: shares[place] ?? 0 })), one.seen);
      part.append(element("div", { class: "earlier" }, element("span", {}, label, " ", ...bar(weight)), text));
    }
    return part;
  });
}

/** Return the translations of a masked model's iterations, with the words that changed; iterations without one are left out. */
function iterations(texts) {
  const items = texts.flatMap((words, number) => {
    const before = number ? texts[number - 1] : [];
    const counterparts = align(words, before);
    const changed = words.map((word, index) => before[counterparts[index]] !== word);
    if (number && !changed.includes(true) && before.length === words.length) return [];
    const text = words.flatMap((word, index) => [number && changed[index] ? element("mark", {}, word) : word, " "]);
    return [element("li", { value: number + 1, lang: page.explored.languages.target }, ...text)];
  });
  const rest = items.length < texts.length ? `; ${items.length - 1} of them changed a word` : "";
  return folded("iterations", `${texts.length} iterations${rest}`, [element("ol", { class: "iterations" }, ...items)]);
}

const unfolded = new Set(); // kinds of details that the reader has opened; they stay open for the next word

function folded(kind, title, children) {
  const made = element("details", { open: unfolded.has(kind) ? "" : null }, element("summary", {}, title), ...children);
  made.addEventListener("toggle", () => (made.open ? unfolded.add(kind) : unfolded.delete(kind)));
  return made;
}
