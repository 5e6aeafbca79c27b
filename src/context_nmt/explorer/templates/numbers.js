"use strict";

// Unpack, average and align the numbers of the page. This file does not touch the document.

const FULL_SHARE = 65535; // a weight of 1
const unpacked = new Map();

/** Return the numbers in a base64 text of deflated bytes; each text is unpacked only once. */
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

/** Return the index of the first largest value; -1 if there are no values. */
function largest(values) {
  return values.reduce((best, value, index) => (best < 0 || value > values[best] ? index : best), -1);
}

/** Return the offsets of the chosen layers and heads in the arrays of a view; a choice of null means all. */
function chosenMaps(view, choice) {
  const layer = view.layers.indexOf(choice.layer);
  const layers = choice.layer === null ? upTo(view.layers.length) : layer < 0 ? [] : [layer];
  const heads = choice.head === null ? upTo(view.heads) : choice.head <= view.heads ? [choice.head - 1] : [];
  return layers.flatMap((layer) => heads.map((head) => layer * view.heads + head));
}

/** Return the attention of a query to every key, averaged over the chosen layers and heads; null if there are none. */
async function attention(view, query, choice) {
  const [shares, maps, keys] = [await unpack(view.weights), chosenMaps(view, choice), view.keys.length];
  if (!maps.length || !keys) return null;
  const queries = shares.length / (view.layers.length * view.heads * keys);
  const mean = (key) => sum(maps.map((map) => shares[(map * queries + query) * keys + key])) / maps.length;
  return upTo(keys).map((key) => mean(key) / FULL_SHARE);
}

/** Return the most frequent centre of a query's window over the chosen layers and heads. */
async function windowOf(view, query, choice) {
  const maps = chosenMaps(view, choice);
  if (!view.window || !maps.length) return null;
  const centers = await unpack(view.window.centers);
  const queries = centers.length / (view.layers.length * view.heads);
  const counts = new Map();
  for (const map of maps) {
    const center = centers[map * queries + query];
    counts.set(center, (counts.get(center) ?? 0) + 1);
  }
  const [center, count] = [...counts].sort((a, b) => b[1] - a[1])[0];
  return { size: view.window.size, center, count, of: maps.length };
}

/** Return the gates of a word: for each gate, a share per layer. */
async function gatesOf(gates, word) {
  return Promise.all(
    gates.map(async (gate) => {
      const values = await unpack(gate.values);
      const words = values.length / gate.layers.length;
      return { ...gate, shares: gate.layers.map((_, layer) => values[layer * words + word] / FULL_SHARE) };
    }),
  );
}

/** Return the weights of the earlier sentences that a word saw, and of the words in each. */
async function earlierOf(earlier, word) {
  const count = earlier.words.length;
  const weights = await unpack(earlier.sentences);
  return Promise.all(
    earlier.words.map(async (text, index) => {
      const shares = await unpack(text);
      const length = weights.length ? shares.length / (weights.length / count) : 0;
      const words = Array.from(shares.slice(word * length, (word + 1) * length), (share) => share / FULL_SHARE);
      return { sentence: earlier.first + index, weight: weights[word * count + index] / FULL_SHARE, words };
    }),
  );
}

/** Return everything that a run shows for a word of a sentence: `views`, `gates` and `earlier`. */
async function look(entry, side, word, choice) {
  const views = entry.views.filter((view) => view.queries === side);
  const modules = entry.earlier.filter((module) => module.own === side);
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
    earlier: await Promise.all(modules.map(async (module) => ({ ...module, sentences: await earlierOf(module, word) }))),
  };
}

/** Return the source word of the same sentence that a target word's cross-attention looks at most, with its weight. */
function mainSourceWord(looks) {
  const cross = looks.views.find(({ view, weights }) => view.place === "cross" && weights);
  if (!cross) return null;
  const isCurrent = (key) => key.side === "source" && key.sentence === 0;
  const weights = cross.view.keys.map((key, index) => (isCurrent(key) ? cross.weights[index] : -1));
  const best = largest(weights);
  return best < 0 || weights[best] < 0 ? null : { word: cross.view.keys[best].word, weight: weights[best] };
}

/** Return the target words whose cross-attention looks at a source word more than at any other. */
async function translationsOf(entry, word, choice) {
  const view = entry.views.find(({ place }) => place === "cross");
  if (!view) return [];
  const weights = await Promise.all(entry.target.map((_, query) => attention(view, query, choice)));
  const isTranslation = (query) => mainSourceWord({ views: [{ view, weights: weights[query] }] })?.word === word;
  return upTo(weights.length).filter(isTranslation);
}

/** Return the index pairs of a longest common subsequence of two sentences. */
function equalWords(from, to) {
  const lengths = upTo(from.length + 1).map(() => new Array(to.length + 1).fill(0)); // from words i and j on
  for (let i = from.length - 1; i >= 0; i -= 1) {
    for (let j = to.length - 1; j >= 0; j -= 1) {
      const skip = Math.max(lengths[i + 1][j], lengths[i][j + 1]);
      lengths[i][j] = from[i] === to[j] ? lengths[i + 1][j + 1] + 1 : skip;
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < from.length && j < to.length; ) {
    if (from[i] === to[j]) {
      pairs.push([i, j]);
      [i, j] = [i + 1, j + 1];
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) {
      i += 1;
    } else {
      j += 1;
    }
  }
  return pairs;
}

/** Return for each word of `from` its counterpart's index in `to`, or -1; words between equal words align in order. */
function align(from, to) {
  const counterparts = new Array(from.length).fill(-1);
  let [start, first] = [0, 0]; // of the words since the last pair
  for (const [i, j] of [...equalWords(from, to), [from.length, to.length]]) {
    for (let word = start; word < i && j > first; word += 1) {
      counterparts[word] = Math.min(first + word - start, j - 1);
    }
    if (i < from.length) counterparts[i] = j;
    [start, first] = [i + 1, j + 1];
  }
  return counterparts;
}
