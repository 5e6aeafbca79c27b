"use strict";

// The panel beside the text: what each system's attention, gates and iterations say of the selected word.

const TOP = 3; // words that are named, as in table 1 of Ding et al.
let latest = 0; // the number of the latest selection; an older one is not shown if its numbers arrive late

/** Show the selected word in the panel, and mark in the text what one of the systems looks at. */
async function showPanel() {
  latest += 1;
  const ticket = latest;
  byId("selected").replaceChildren(...selectedTitle());
  byId("panel").classList.toggle("empty", !page.selected);
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
  byId("cards").replaceChildren(...looks.map(card));
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
  const { runs } = page.explored;
  const { sentence, side } = page.selected.line;
  const entry = runs[index].sentences[sentence];
  const isMarked = index === page.run && runs.length > 1;
  const made = element("article", { class: isMarked ? "marked" : null }, cardTitle(looks, index));
  if (![entry.views, entry.gates, entry.earlier].some((shown) => shown.length)) {
    made.append(element("p", { class: "quiet" }, "This system shows nothing of its attention."));
  } else if (!looks) {
    made.append(element("p", { class: "quiet" }, "Its translation has no such word."));
  } else if (side === "source") {
    made.append(...encoderParts(looks.own, index));
  } else {
    made.append(...views(looks.own, index, "cross"), ...gates(looks.own), ...earlier(looks.own, index));
    if (looks.main) {
      const { word, weight } = looks.main;
      const text = page.explored.sentences[sentence].source[word];
      const title = element("h4", {}, "and its main source word, ", element("b", {}, `“${text}”`), ` (${percent(weight)})`);
      made.append(element("div", { class: "through" }, title, ...encoderParts(looks.through, index)));
    }
    const others = views(looks.own, index, "decoder");
    if (others.length) made.append(folded("decoder", "Attention to its own translation", others));
  }
  if (entry.iterations) made.append(iterations(entry.iterations));
  return made;
}

function cardTitle(looks, index) {
  const { runs, languages } = page.explored;
  const { sentence, side } = page.selected.line;
  const { target } = runs[index].sentences[sentence];
  const title = element("h3", {}, runs[index].label);
  const words = side === "target" ? (looks ? [target[looks.own.word]] : []) : (looks?.translations ?? []).map((word) => target[word]);
  if (words.length) title.append(": ", element("b", { lang: languages.target }, `“${words.join(" ")}”`));
  if (runs.length === 1) return title;
  const radio = element("input", { type: "radio", name: "marked", checked: index === page.run ? "" : null });
  radio.addEventListener("change", () => {
    page.run = index;
    showPanel();
  });
  return element("header", {}, title, element("label", {}, radio, " mark in the text"));
}

function encoderParts(looks, index) {
  return [...earlier(looks, index), ...views(looks, index, "encoder"), ...gates(looks)];
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
    part.append(topWords(texts.map((text, key) => ({ text: withDistance(text, view.keys[key]), weight: weights[key] }))));
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
  const top = [...words].sort((one, other) => other.weight - one.weight).slice(0, TOP);
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
    const shaded = element("span", { class: "seen", title: `${text}: ${(100 * weight).toFixed(1)}%` }, text);
    shaded.style.setProperty("--weight", weight.toFixed(3));
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
    const summary = element("p", {}, "most of sentence ", element("b", {}, `${main.sentence + 1}`), ` (${percent(main.weight)})`);
    if (word >= 0) summary.append(", there of ", element("b", {}, `“${words[word]}”`), ` (${percent(main.words[word])})`);
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
