"use strict";

// The pieces that the panel is made of: named words, shaded sentences, bars, and details that stay open.

const TOP = 3; // words that are named, as in table 1 of Ding et al.
const SMALLEST = 0.01; // the smallest weight that is marked

/** Return the words with the largest weights, with their shares. */
function topWords(words) {
  const seen = words.filter(({ weight }) => weight >= SMALLEST);
  const top = seen.sort((one, other) => other.weight - one.weight).slice(0, TOP);
  const items = top.map(({ text, weight }) => element("li", {}, bold(text), ` ${percent(weight)}`));
  return element("ol", { class: "top" }, ...items);
}

/** Return whether a key is no word, such as </s>. */
function isToken(key) {
  return key.text !== undefined;
}

function strip(words, side) {
  const made = element("p", { class: "strip", lang: page.explored.languages[side] });
  for (const { text, weight } of words) {
    const isSeen = weight >= SMALLEST;
    const shaded = element("span", { class: isSeen && "seen", title: `${text}: ${(100 * weight).toFixed(1)}%` }, text);
    if (isSeen) shaded.style.setProperty("--weight", weight.toFixed(3));
    made.append(shaded, " ");
  }
  return made;
}

function bar(share) {
  const made = element("i", { class: "bar" });
  made.style.setProperty("--weight", share.toFixed(3));
  return [made, percent(share)];
}

const unfolded = new Set(); // kinds of details that the reader has opened; they stay open for the next word

function folded(kind, title, children) {
  const made = element("details", { open: unfolded.has(kind) ? "" : null }, element("summary", {}, title), ...children);
  made.addEventListener("toggle", () => (made.open ? unfolded.add(kind) : unfolded.delete(kind)));
  return made;
}
