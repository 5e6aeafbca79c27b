"use strict";

// Elements of the panel: named words, shaded sentences, bars, and details that stay open.

const TOP_COUNT = 3; // words that are named, as in Table 1 of Ding et al.
const SMALLEST_SHARE = 0.01; // that is marked

/** Return the words with the largest weights, with their shares. */
function topWords(words) {
  const seen = words.filter(({ weight }) => weight >= SMALLEST_SHARE);
  const top = seen.sort((a, b) => b.weight - a.weight).slice(0, TOP_COUNT);
  const items = top.map(({ text, weight }) => element("li", {}, bold(text), ` ${percent(weight)}`));
  return element("ol", { class: "top" }, ...items);
}

/** Return whether a key is not a word but another token, such as </s>. */
function isToken(key) {
  return key.text !== undefined;
}

function strip(words, side) {
  const paragraph = element("p", { class: "strip", lang: page.explored.languages[side] });
  for (const { text, weight } of words) {
    const isSeen = weight >= SMALLEST_SHARE;
    const shaded = element("span", { class: isSeen && "seen", title: `${text}: ${(100 * weight).toFixed(1)}%` }, text);
    if (isSeen) shaded.style.setProperty("--weight", weight.toFixed(3));
    paragraph.append(shaded, " ");
  }
  return paragraph;
}

function bar(share) {
  const rectangle = element("i", { class: "bar" });
  rectangle.style.setProperty("--weight", share.toFixed(3));
  return [rectangle, percent(share)];
}

const unfolded = new Set(); // kinds of details that the user has opened; they stay open for the next word

function folded(kind, title, children) {
  const open = unfolded.has(kind) ? "" : null;
  const details = element("details", { open }, element("summary", {}, title), ...children);
  details.addEventListener("toggle", () => (details.open ? unfolded.add(kind) : unfolded.delete(kind)));
  return details;
}
