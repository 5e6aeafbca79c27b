"use strict";

// The panel beside the text: each system's attention, gates and iterations for the selected word.

const MASK = "␣";
let latest = 0; // the number of the latest selection; an older selection whose numbers arrive late is not shown

/** Show the selected word in the panel, and mark in the text what one system looks at. */
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

/** Return what a run shows for a word and, through a target word, for its main source word; null without a word. */
async function lookThrough(entry, side, word) {
  if (word < 0) return null;
  const direct = await look(entry, side, word, page.choice);
  const main = side === "target" ? mainSourceWord(direct) : null;
  const through = main && (await look(entry, "source", main.word, page.choice));
  const translations = side === "source" ? await translationsOf(entry, word, page.choice) : [];
  return { direct, main, through, translations };
}

/** Return the panel's card of a run. */
function card(looks, index) {
  const { sentence, side } = page.selected.line;
  const entry = page.explored.runs[index].sentences[sentence];
  const article = element("article", {}, cardTitle(looks, index));
  if (![entry.views, entry.gates, entry.earlier].some((shown) => shown.length)) {
    article.append(element("p", { class: "quiet" }, "This system does not show its attention."));
  } else if (!looks) {
    article.append(element("p", { class: "quiet" }, "Its translation has no such word."));
  } else if (side === "source") {
    article.append(...earlierParts(looks.direct, index), ...attentionParts(looks.direct, index, "encoder"));
    article.append(...gateTable(looks.direct));
  } else {
    article.append(...attentionParts(looks.direct, index, "cross"), ...earlierParts(looks.direct, index));
    article.append(...gateTable(looks.direct));
    if (looks.main) article.append(inTheEncoder(looks, index));
    article.append(...simpleFolded("decoder", looks.direct, index));
  }
  if (entry.iterations) article.append(iterationList(entry.iterations));
  return article;
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

/** Return the attentions at a place; a single attention is folded, because it is seldom of interest. */
function simpleFolded(place, looks, index) {
  const attentions = looks.views.filter(({ view }) => view.place === place);
  const parts = attentionParts(looks, index, place);
  return attentions.length === 1 ? [folded(place, attentions[0].view.title, parts)] : parts;
}

function cardTitle(looks, index) {
  const { runs, languages } = page.explored;
  const { sentence, side } = page.selected.line;
  const { target } = runs[index].sentences[sentence];
  const title = element("h3", {}, runs[index].label);
  const words = side === "target" ? (looks ? [looks.direct.word] : []) : (looks?.translations ?? []);
  const texts = words.map((word) => target[word]).join(" ");
  if (texts) title.append(": ", bold(`“${texts}”`, { lang: languages.target }));
  return title;
}

/** Return the text of a key: a word of the source or of the run's translation, or a token such as </s>. */
function keyText(key, index) {
  if (isToken(key)) return key.text;
  const number = page.selected.line.sentence + key.sentence;
  return seenWords(number, key.side, index, key.sentence === 0)[key.word] ?? "?";
}

/** Return the words of a sentence as a run sees it; an earlier target sentence may be the reference. */
function seenWords(number, side, index, isCurrent) {
  const entry = page.explored.runs[index].sentences[number];
  if (side === "source") return page.explored.sentences[number].source;
  return (isCurrent ? null : entry.seen_target) ?? entry.target;
}

/** Return the attentions at a place, side by side if the mechanism has more than one. */
function attentionParts(looks, index, place) {
  const attentions = looks.views.filter(({ view }) => view.place === place);
  if (!attentions.length) return [];
  const parts = attentions.map(({ view, weights, window }) => {
    const part = element("div", { class: "view" }, element("h4", {}, view.title));
    if (!weights) {
      part.append(element("p", { class: "quiet" }, "It has no such layer or head."));
      return part;
    }
    const texts = view.keys.map((key) => keyText(key, index));
    const isItself = (key) => view.place !== "cross" && key.sentence === 0 && key.word === looks.word;
    const named = view.keys.map((key, index) => (isItself(key) ? "itself" : withDistance(texts[index], key)));
    part.append(topWords(named.map((text, index) => ({ text, weight: weights[index] }))));
    part.append(...strips(view, texts, weights));
    if (window) part.append(windowNote(window, texts));
    return part;
  });
  return [element("div", { class: "views" }, ...parts)];
}

function withDistance(text, key) {
  return key.sentence ? `${text} (${-key.sentence} back)` : text;
}

/** Return the sentences that a view attends to, shaded by weight; an earlier sentence has its share in front. */
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
    const paragraph = strip(shaded, key.side ?? view.queries);
    if (!key.sentence) return paragraph;
    const share = percent(sum(words.map((index) => weights[index])));
    paragraph.prepend(element("span", { class: "quiet" }, `${-key.sentence} back, ${share}: `));
    return paragraph;
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
  const layers = [...new Set(looks.gates.flatMap((gate) => gate.layers))].sort((a, b) => a - b);
  const head = headRow("gates", ...layers.map((layer) => `layer ${layer}`));
  const rows = looks.gates.map((gate) => {
    const cells = layers.map((layer) => {
      const index = gate.layers.indexOf(layer);
      return element("td", {}, ...(index < 0 ? ["–"] : bar(gate.shares[index])));
    });
    return element("tr", {}, element("td", {}, gate.title), ...cells);
  });
  return [element("div", { class: "scroll" }, element("table", { class: "gates" }, head, ...rows))];
}

/** Return the earlier sentences that a word looked at, with a summary of the most important sentence. */
function earlierParts(looks, index) {
  return looks.earlier.map((module) => {
    const part = element("div", { class: "view" }, element("h4", {}, `${module.title}: earlier sentences`));
    const main = module.sentences[largest(module.sentences.map(({ weight }) => weight))];
    const words = seenWords(main.sentence, module.seen, index, false);
    const word = largest(main.words);
    const summary = element("p", {}, "mostly sentence ", bold(`${main.sentence + 1}`), ` (${percent(main.weight)})`);
    if (word >= 0) summary.append(", in it ", bold(`“${words[word]}”`), ` (${percent(main.words[word])})`);
    part.append(summary);
    for (const { sentence, weight, words: shares } of module.sentences) {
      const texts = seenWords(sentence, module.seen, index, false);
      const label = element("a", { href: `#sentence-${sentence + 1}` }, `sentence ${sentence + 1}`);
      const text = strip(texts.map((text, word) => ({ text, weight: shares[word] ?? 0 })), module.seen);
      part.append(element("div", { class: "earlier" }, element("span", {}, label, " ", ...bar(weight)), text));
    }
    return part;
  });
}

/** Return a masked model's words after each iteration, with new words marked; iterations without changes are left out. */
function iterationList(texts) {
  let last = []; // the last word at each position, or a mask if there was none
  let changes = 0;
  const items = texts.flatMap((words, number) => {
    const counterparts = align(words.map((word) => (word === MASK ? "" : word)), last); // a mask equals no word
    const isNew = words.map((word, index) => word !== MASK && last[counterparts[index]] !== word);
    last = words.map((word, index) => (word === MASK ? (last[counterparts[index]] ?? MASK) : word));
    if (number && isNew.includes(true)) changes += 1;
    if (number && words.join(" ") === texts[number - 1].join(" ")) return [];
    const text = words.flatMap((word, index) => [number && isNew[index] ? element("mark", {}, word) : word, " "]);
    return [element("li", { value: number, lang: page.explored.languages.target }, ...text)];
  });
  const title = `${texts.length - 1} iterations, ${changes} with new words; ${MASK} is predicted again`;
  return folded("iterations", title, [element("ol", { class: "iterations" }, ...items)]);
}
