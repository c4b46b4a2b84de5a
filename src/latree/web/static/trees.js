// Trees as nodes: { label, word, children, parent, start, end, probability, place, order }; `place` is among the nodes
// that are shown, `order` among all.

const SYMBOLS = /[()]|[^ \t\r\n\f\v()]+/g;

// Reads Penn brackets.  The words are the given tokens; phrases have the probabilities of the constituents, which come
// in the same order.  An outer root above a single phrase is left out: it says nothing.
export function readTree(brackets, tokens, constituents = []) {
  const top = { children: [] };
  let open = top;
  let words = 0;
  const symbols = brackets.match(SYMBOLS) ?? [];
  for (let at = 0; at < symbols.length; at += 1) {
    if (symbols[at] === "(") {
      const labelled = symbols[at + 1] !== "(";
      const node = { label: labelled ? symbols[at + 1] : "", children: [], parent: open, start: words };
      at += labelled ? 1 : 0;
      open.children.push(node);
      open = node;
    } else if (symbols[at] === ")") {
      open.end = words;
      open = open.parent;
    } else {
      open.word = tokens[words] ?? symbols[at];
      words += 1;
    }
  }
  const root = top.children[0];
  nodesOf(root).forEach((node, number) => { node.order = number; });
  const phrases = nodesOf(root).filter((node) => node.word === undefined);
  phrases.forEach((node, number) => { node.probability = constituents[number]?.[3]; });
  const shown = root.children.length === 1 && root.children[0].word === undefined ? root.children[0] : root;
  shown.parent = null;
  nodesOf(shown).forEach((node, number) => { node.place = number; });
  return shown;
}

// All nodes, a parent before its children.
export function nodesOf(tree) {
  return [tree, ...tree.children.flatMap(nodesOf)];
}

export function wordsOf(tree) {
  return nodesOf(tree).filter((node) => node.word !== undefined);
}

export function textOf(node) {
  return wordsOf(node).map((leaf) => leaf.word).join(" ");
}

export function keyOf(node) {
  return `${node.label} ${node.start} ${node.end}`;
}

// What a tree has that another one has not: new nodes, and branches to nodes that hang elsewhere there.
export function differences(tree, other) {
  const branch = (node) => `${keyOf(node)} under ${node.parent ? keyOf(node.parent) : ""}`;
  const theirs = new Set(nodesOf(other).map(keyOf));
  const branches = new Set(nodesOf(other).map(branch));
  return {
    nodes: new Set(nodesOf(tree).filter((node) => !theirs.has(keyOf(node)))),
    branches: new Set(nodesOf(tree).filter((node) => !branches.has(branch(node)))),
  };
}

export const ALIKE = { nodes: new Set(), branches: new Set() };

const LEFTWARDS = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const LETTER = /\p{L}/u;

// Whether the first letter is of a script that is written from right to left; what has no letters goes with the rest.
export function readsLeftwards(text, rest = false) {
  const letter = text.match(LETTER)?.[0];
  return letter === undefined ? rest : LEFTWARDS.test(letter);
}

export function percent(probability) {
  if (probability === undefined || probability === null) return "";
  if (probability > 0.995) return "100%";
  return probability < 0.001 ? "<0.1%" : `${(100 * probability).toPrecision(2).replace(/\.0$/, "")}%`;
}
