"use strict";

// The numbers of the page: unpacked, averaged and aligned. Nothing in this file touches the document.

const PARTS = 65535; // a weight of 1
const unpacked = new Map();

/** Return the numbers in a base64 text of deflated bytes; a text is unpacked the first time that it is needed. */
async function unpack(text) {
  if (!unpacked.has(text)) {
    const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    unpacked.set(text, new Response(stream).arrayBuffer());
  }
  return new Uint16Array(await unpacked.get(text));
}

function upTo(count) {
  return Array.from({ length: count }, (_, number) => number);
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/** Return the index of the largest value, the first of equal ones; -1 if there is none. */
function largest(values) {
  return values.reduce((best, value, index) => (best < 0 || value > values[best] ? index : best), -1);
}

/** Return the offsets of the chosen layers and heads in the arrays of a view; a choice of null means all. */
function chosen(view, choice) {
  const layer = view.layers.indexOf(choice.layer);
  const layers = choice.layer === null ? upTo(view.layers.length) : layer < 0 ? [] : [layer];
  const heads = choice.head === null ? upTo(view.heads) : choice.head <= view.heads ? [choice.head - 1] : [];
  return layers.flatMap((layer) => heads.map((head) => layer * view.heads + head));
}

/** Return the attention of one query to every key, means over the chosen layers and heads; null if there are none. */
async function attention(view, query, choice) {
  const [shares, maps, keys] = [await unpack(view.weights), chosen(view, choice), view.keys.length];
  if (!maps.length || !keys) return null;
  const queries = shares.length / (view.layers.length * view.heads * keys);
  const mean = (key) => sum(maps.map((map) => shares[(map * queries + query) * keys + key])) / maps.length;
  return upTo(keys).map((key) => mean(key) / PARTS);
}

/** Return the most frequent centre of a query's window over the chosen layers and heads. */
async function windowOf(view, query, choice) {
  const maps = chosen(view, choice);
  if (!view.window || !maps.length) return null;
  const centers = await unpack(view.window.centers);
  const queries = centers.length / (view.layers.length * view.heads);
  const counts = new Map();
  for (const map of maps) {
    const center = centers[map * queries + query];
    counts.set(center, (counts.get(center) ?? 0) + 1);
  }
  const [center, count] = [...counts].sort((one, other) => other[1] - one[1])[0];
  return { size: view.window.size, center, count, of: maps.length };
}

/** Return the gates of a word: for each gate, a share per layer. */
async function gatesOf(gates, word) {
  return Promise.all(
    gates.map(async (gate) => {
      const values = await unpack(gate.values);
      const words = values.length / gate.layers.length;
      return { ...gate, shares: gate.layers.map((_, layer) => values[layer * words + word] / PARTS) };
    }),
  );
}

/** Return the weights of the previous sentences that a word saw, and of the words in each. */
async function earlierOf(earlier, word) {
  const count = earlier.words.length;
  const weights = await unpack(earlier.sentences);
  return Promise.all(
    earlier.words.map(async (text, index) => {
      const shares = await unpack(text);
      const length = weights.length ? shares.length / (weights.length / count) : 0;
      const words = Array.from(shares.slice(word * length, (word + 1) * length), (share) => share / PARTS);
      return { sentence: earlier.first + index, weight: weights[word * count + index] / PARTS, words };
    }),
  );
}

/** Return everything that one run shows for one word of a sentence: `views`, `gates` and `earlier`. */
async function look(entry, side, word, choice) {
  const views = entry.views.filter((view) => view.queries === side);
  const earlier = entry.earlier.filter((one) => one.own === side);
  return {
    side,
    word,
    views: await Promise.all(
      views.map(async (view) => ({
        view,
        weights: await attention(view, word, choice), // null: it has no such layer or head
        window: await windowOf(view, word, choice),
      })),
    ),
    gates: await gatesOf(entry.gates.filter((gate) => gate.side === side), word),
    earlier: await Promise.all(earlier.map(async (one) => ({ ...one, sentences: await earlierOf(one, word) }))),
  };
}

/** Return the source word of the same sentence that a target word's cross-attention looks at most, with its weight. */
function mainSourceWord(looks) {
  const cross = looks.views.find(({ view, weights }) => view.place === "cross" && weights);
  if (!cross) return null;
  const isOwn = (key) => key.side === "source" && key.sentence === 0;
  const own = cross.view.keys.map((key, index) => (isOwn(key) ? cross.weights[index] : -1));
  const best = largest(own);
  return best < 0 || own[best] < 0 ? null : { word: cross.view.keys[best].word, weight: own[best] };
}

/** Return the target words whose cross-attention looks at a source word more than at any other. */
async function translationsOf(entry, word, choice) {
  const view = entry.views.find(({ place }) => place === "cross");
  if (!view) return [];
  const weights = await Promise.all(entry.target.map((_, query) => attention(view, query, choice)));
  const isTranslation = (query) => mainSourceWord({ views: [{ view, weights: weights[query] }] })?.word === word;
  return upTo(weights.length).filter(isTranslation);
}

/** Return the pairs of indices of equal words in two sentences, as many as keep their order. */
function equalWords(from, to) {
  const rest = upTo(from.length + 1).map(() => new Array(to.length + 1).fill(0)); // pairs from these two words on
  for (let one = from.length - 1; one >= 0; one -= 1) {
    for (let other = to.length - 1; other >= 0; other -= 1) {
      const skip = Math.max(rest[one + 1][other], rest[one][other + 1]);
      rest[one][other] = from[one] === to[other] ? rest[one + 1][other + 1] + 1 : skip;
    }
  }
  const pairs = [];
  for (let one = 0, other = 0; one < from.length && other < to.length; ) {
    if (from[one] === to[other]) {
      pairs.push([one, other]);
      [one, other] = [one + 1, other + 1];
    } else if (rest[one + 1][other] >= rest[one][other + 1]) {
      one += 1;
    } else {
      other += 1;
    }
  }
  return pairs;
}

/** Return for each word of `from` its counterpart's index in `to`, or -1; between equal words, by order. */
function align(from, to) {
  const found = new Array(from.length).fill(-1);
  let [start, first] = [0, 0]; // of the words since the last pair
  for (const [one, other] of [...equalWords(from, to), [from.length, to.length]]) {
    for (let word = start; word < one && other > first; word += 1) {
      found[word] = Math.min(first + word - start, other - 1);
    }
    if (one < from.length) found[one] = other;
    [start, first] = [one + 1, other + 1];
  }
  return found;
}
