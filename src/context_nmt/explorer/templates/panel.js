"use strict";

// The panel beside the text: what each system's attention, gates and iterations say of the selected word.

const MASK = "␣";
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
  const counterparts = counterpartWords();
  const looks = await Promise.all(
    page.explored.runs.map((run, index) => lookThrough(run.sentences[line.sentence], line.side, counterparts[index])),
  );
  if (ticket !== latest) return;
  const cards = looks.map(card);
  const [marked] = cards.splice(page.run, 1);
  byId("cards").replaceChildren(marked, ...cards);
  markText(marksOf(looks, counterparts));
  byId("said").textContent = spoken(looks[page.run]);
}

function selectedTitle() {
  if (!page.selected) return ["Point at a word"];
  const { line, word } = page.selected;
  const text = line.side === "source" ? "source" : "reference";
  const where = line.run === null ? text : page.explored.runs[line.run].label;
  const rest = ` ${where}, sentence ${line.sentence + 1}${page.isPinned ? ", pinned" : ""}`;
  return [bold(`“${line.words[word]}”`, { lang: page.explored.languages[line.side] }), rest];
}

/** Return what a run shows for a word and, for a target word, for its main source word; null if there is no word. */
async function lookThrough(entry, side, word) {
  if (word < 0) return null;
  const own = await look(entry, side, word, page.choice);
  const main = side === "target" ? mainSourceWord(own) : null;
  const through = main && (await look(entry, "source", main.word, page.choice));
  return { own, main, through, translations: side === "source" ? await translationsOf(entry, word, page.choice) : [] };
}

/** Return the panel's part of one run. */
function card(looks, index) {
  const { sentence, side } = page.selected.line;
  const entry = page.explored.runs[index].sentences[sentence];
  const made = element("article", {}, cardTitle(looks, index));
  if (![entry.views, entry.gates, entry.earlier].some((shown) => shown.length)) {
    made.append(element("p", { class: "quiet" }, "This system does not show its attention."));
  } else if (!looks) {
    made.append(element("p", { class: "quiet" }, "Its translation has no such word."));
  } else if (side === "source") {
    made.append(...earlierParts(looks.own, index), ...attentionParts(looks.own, index, "encoder"));
    made.append(...gateTable(looks.own));
  } else {
    made.append(...attentionParts(looks.own, index, "cross"), ...earlierParts(looks.own, index));
    made.append(...gateTable(looks.own));
    if (looks.main) made.append(inTheEncoder(looks, index));
    made.append(...simpleFolded("decoder", looks.own, index));
  }
  if (entry.iterations) made.append(iterationList(entry.iterations));
  return made;
}

/** Return what the encoder does with the main source word of a target word. */
function inTheEncoder({ main, through }, index) {
  const text = page.explored.sentences[page.selected.line.sentence].source[main.word];
  const share = ` (${percent(main.weight)})`;
  const title = element("h4", {}, "in the encoder, its main source word ", bold(`“${text}”`), share);
  const attentions = simpleFolded("encoder", through, index);
  const parts = [...earlierParts(through, index), ...attentions, ...gateTable(through)];
  return element("div", { class: "through" }, title, ...parts);
}

/** Return the attentions at a place; a single one is folded, since it is seldom what a reader looks for. */
function simpleFolded(place, looks, index) {
  const found = looks.views.filter(({ view }) => view.place === place);
  const parts = attentionParts(looks, index, place);
  return found.length === 1 ? [folded(place, found[0].view.title, parts)] : parts;
}

function cardTitle(looks, index) {
  const { runs, languages } = page.explored;
  const { sentence, side } = page.selected.line;
  const { target } = runs[index].sentences[sentence];
  const title = element("h3", {}, runs[index].label);
  const words = side === "target" ? (looks ? [looks.own.word] : []) : (looks?.translations ?? []);
  const texts = words.map((word) => target[word]).join(" ");
  if (texts) title.append(": ", bold(`“${texts}”`, { lang: languages.target }));
  return title;
}

/** Return the words of a view's key: of the source, of the run's translation, or a unit such as </s>. */
function keyText(key, index) {
  if (isToken(key)) return key.text;
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
function attentionParts(looks, index, place) {
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

/** Return the sentences that a view attends to, shaded by weight; earlier ones have their share in front. */
function strips(view, texts, weights) {
  const groups = [];
  view.keys.forEach((key, index) => {
    const last = groups[groups.length - 1];
    const isSame = last && last.key.sentence === key.sentence && last.key.side === key.side;
    if (!last || !(isSame || isToken(key) || isToken(last.key))) {
      groups.push({ key, words: [index] });
      return;
    }
    last.words.push(index);
    if (isToken(last.key)) last.key = key;
  });
  return groups.map(({ key, words }) => {
    const shaded = words.map((index) => ({ text: texts[index], weight: weights[index] }));
    const made = strip(shaded, key.side ?? view.queries);
    if (!key.sentence) return made;
    const share = percent(sum(words.map((index) => weights[index])));
    made.prepend(element("span", { class: "quiet" }, `${-key.sentence} back, ${share}: `));
    return made;
  });
}

function windowNote({ size, center, count, of }, texts) {
  const units = size === 1 ? "1 unit" : `${size} units`;
  const word = `“${texts[center]}”`;
  const middle = count < of ? `its centre, most often ${word} (${count} of ${of} layers and heads)` : word;
  return element("p", { class: "quiet" }, `window: ${units} on each side of ${middle}`);
}

/** Return the gates as a table with a column per layer. */
function gateTable(looks) {
  if (!looks.gates.length) return [];
  const layers = [...new Set(looks.gates.flatMap((gate) => gate.layers))].sort((one, other) => one - other);
  const head = headRow("gates", ...layers.map((layer) => `layer ${layer}`));
  const rows = looks.gates.map((gate) => {
    const cells = layers.map((layer) => {
      const place = gate.layers.indexOf(layer);
      return element("td", {}, ...(place < 0 ? ["–"] : bar(gate.shares[place])));
    });
    return element("tr", {}, element("td", {}, gate.title), ...cells);
  });
  return [element("div", { class: "scroll" }, element("table", { class: "gates" }, head, ...rows))];
}

/** Return the previous sentences that a word looked at, with a summary of the most important one. */
function earlierParts(looks, index) {
  return looks.earlier.map((one) => {
    const part = element("div", { class: "view" }, element("h4", {}, `${one.title}: earlier sentences`));
    const main = one.sentences[largest(one.sentences.map(({ weight }) => weight))];
    const words = seenWords(main.sentence, one.seen, index, false);
    const word = largest(main.words);
    const summary = element("p", {}, "mostly sentence ", bold(`${main.sentence + 1}`), ` (${percent(main.weight)})`);
    if (word >= 0) summary.append(", in it ", bold(`“${words[word]}”`), ` (${percent(main.words[word])})`);
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

/** Return what a masked model had after each iteration, with the new words; where nothing changed, it is left out. */
function iterationList(texts) {
  let known = []; // the last word at each place; a mask where there was none
  let changes = 0;
  const items = texts.flatMap((words, number) => {
    const counterparts = align(words.map((word) => (word === MASK ? "" : word)), known); // a mask is equal to no word
    const isNew = words.map((word, index) => word !== MASK && known[counterparts[index]] !== word);
    known = words.map((word, index) => (word === MASK ? (known[counterparts[index]] ?? MASK) : word));
    if (number && isNew.includes(true)) changes += 1;
    if (number && words.join(" ") === texts[number - 1].join(" ")) return [];
    const text = words.flatMap((word, index) => [number && isNew[index] ? element("mark", {}, word) : word, " "]);
    return [element("li", { value: number, lang: page.explored.languages.target }, ...text)];
  });
  const title = `${texts.length - 1} iterations, ${changes} with new words; ${MASK} is predicted again`;
  return folded("iterations", title, [element("ol", { class: "iterations" }, ...items)]);
}
