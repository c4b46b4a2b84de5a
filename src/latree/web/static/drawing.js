// Draws trees as SVG: words in a row at the bottom, phrases centred over their children, as in a paper.

import { ALIKE, nodesOf, percent, readsLeftwards, textOf } from "./trees.js";

const SVG = "http://www.w3.org/2000/svg";
const FONTS = { label: "500 15px", word: "18px", small: "11px" };
const GAP = 20; // between neighbouring words
const CLOSE = 9; // the same, where there is little room
const LEVEL = 50; // from a level to the next, at least
const FLATTEST = 11; // a branch goes down a pixel in so many across, within reason
const MOST = 72;
const PILL = 24; // the height of what is behind a label
const BAR = 30; // the height of the largest surprisal that is drawn in full
const LARGEST = 15; // nats
const SMALLEST = 0.6; // of a picture's size
const SCROLLED = 0.85;

const pen = document.createElement("canvas").getContext("2d");
let families = null;

function widthOf(text, font) {
  families ??= {
    label: getComputedStyle(document.documentElement).getPropertyValue("--sans"),
    word: getComputedStyle(document.documentElement).getPropertyValue("--serif"),
  };
  pen.font = `${FONTS[font]} ${font === "word" ? families.word : families.label}`;
  return pen.measureText(text).width;
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, typeof value === "number" ? Math.round(value * 10) / 10 : value);
  }
  made.append(...children);
  return made;
}

// Sets the width of every node, the place of its middle in that width, and the places of its children.
function measure(node, told) {
  const label = widthOf(node.label, "label") + 16;
  if (node.word !== undefined) {
    node.width = Math.max(label, widthOf(node.word, "word"), told.surprisal ? 26 : 0);
    node.middle = node.width / 2;
    node.row = [];
    return;
  }
  node.row = told.leftwards ? [...node.children].reverse() : node.children;
  let right = 0;
  for (const child of node.row) {
    measure(child, told);
    child.left = right;
    right += child.width + told.gap;
  }
  right -= told.gap;
  const [first, last] = [node.row[0], node.row[node.row.length - 1]];
  node.middle = (first.left + first.middle + last.left + last.middle) / 2;
  const short = Math.max(0, label / 2 - node.middle); // a label may be wider than all below it
  node.middle += short;
  for (const child of node.row) child.left += short;
  node.width = Math.max(right + short, node.middle + label / 2 + besideLabel(node, told));
}

// What the percentage needs to the right of a label, beyond the gap that there is anyway; nothing where room is dear.
function besideLabel(node, told) {
  return isSure(node) || told.close ? 0 : Math.max(0, widthOf(percent(node.probability), "small") + 4 - told.gap);
}

function settle(node, left, depth) {
  Object.assign(node, { x: left + node.middle, depth });
  for (const child of node.row) settle(child, left + child.left, depth + 1);
}

// The height of every level, that of the words last; the wider the branches above a level, the further down.
function levelsOf(nodes) {
  const widest = [];
  for (const node of nodes) {
    const across = node.row.map((child) => Math.abs(child.x - node.x));
    widest[node.depth] = Math.max(widest[node.depth] ?? 0, ...across);
  }
  const levels = [PILL / 2 + 2];
  for (const across of widest) {
    levels.push(levels[levels.length - 1] + LEVEL + Math.min(Math.max(0, across / FLATTEST - LEVEL / 2), MOST));
  }
  return levels;
}

// A picture of the tree.  `facts` may have: apart, its `differences` from another; surprisal, a number for every word;
// brackets, what is known of the tree; name, what it is a picture of; close, whether there is little room.
export function draw(tree, facts = {}) {
  const told = { ...facts, gap: facts.close ? CLOSE : GAP, leftwards: readsLeftwards(textOf(tree)) };
  const nodes = nodesOf(tree);
  measure(tree, told);
  settle(tree, 0, 0);
  const levels = levelsOf(nodes);
  const bottom = levels[levels.length - 1];
  for (const node of nodes) Object.assign(node, { y: levels[node.depth], bottom });
  const height = bottom + 14 + (told.surprisal ? BAR + 20 : 0);
  const apart = told.apart ?? ALIKE;
  const box = `-6 -4 ${Math.ceil(tree.width + 12)} ${Math.ceil(height + 8)}`;
  return element(
    "svg",
    {
      class: "tree", viewBox: box, width: tree.width + 12, height: height + 8, role: "group",
      "aria-label": told.name ?? `Tree of: ${textOf(tree)}`,
    },
    element("g", { class: "branches", "aria-hidden": "true" }, ...nodes.flatMap((node) => branches(node, apart))),
    ...nodes.map((node) => nodeGroup(node, told, apart)),
  );
}

function branches(node, apart) {
  const down = node.y + PILL / 2 - 1;
  const lines = node.row.map((child) => element("line", {
    x1: node.x, y1: down, x2: child.x, y2: child.y - PILL / 2 + 1,
    class: apart.branches.has(child) ? "marked" : undefined,
  }));
  if (node.word === undefined) return lines;
  return [element("line", { class: "stem", x1: node.x, y1: down, x2: node.x, y2: node.bottom - 16 })];
}

const isSure = (node) => node.probability === undefined || node.probability > 0.995;

function nodeGroup(node, told, apart) {
  const isTag = node.word !== undefined;
  const classes = ["node", isTag ? "tag" : "phrase", ...decided(node, told.brackets ?? [])];
  if (apart.nodes.has(node)) classes.push("marked");
  const sure = isSure(node);
  if (!isTag && !sure) classes.push("unsure");
  const label = element("text", { class: "label", x: node.x, y: node.y + 5 }, node.label);
  const seen = element("g", { "aria-hidden": "true" }, ...pill(node), label);
  if (!isTag && !sure) {
    const beside = { class: "percent", x: node.x + widthOf(node.label, "label") / 2 + 10, y: node.y - 7 };
    seen.append(" ", element("text", beside, percent(node.probability)));
  }
  if (isTag) seen.append(...wordAt(node, told).flatMap((part) => [" ", part]));
  const heard = { role: "button", tabindex: "-1", "aria-label": spoken(node, told) };
  return element("g", { class: classes.join(" "), "data-place": node.place, ...heard }, seen);
}

function pill(node) {
  const width = widthOf(node.label, "label") + 16;
  const at = { x: node.x - width / 2, y: node.y - PILL / 2, width, height: PILL, rx: 7 };
  const depth = node.probability === undefined ? undefined : (0.06 + 0.94 * node.probability).toFixed(3);
  return [element("rect", { class: "ground", ...at }), element("rect", { class: "shade", ...at, opacity: depth })];
}

function wordAt(node, told) {
  const word = element("text", {
    class: told.unknown?.includes(node.start) ? "word unknown" : "word", x: node.x, y: node.bottom,
    direction: readsLeftwards(node.word, told.leftwards) ? "rtl" : undefined, // turns parentheses round
  }, node.word);
  const nats = told.surprisal?.[node.start];
  if (nats === undefined || nats === null) return [word];
  const tall = Math.max(1, (Math.min(nats, LARGEST) / LARGEST) * BAR);
  const top = node.bottom + 12;
  return [
    word,
    element("rect", { class: "surprisal", x: node.x - 4, y: top, width: 8, height: tall, rx: 2 }),
    element("text", { class: "nats", x: node.x, y: top + tall + 11 }, nats.toFixed(1)),
  ];
}

// How a node stands to what is known: kept, forbidden (where no tree agrees), or neither.
function decided(node, brackets) {
  const here = brackets.filter((one) => one.start === node.start && one.end === node.end);
  const named = here.filter((one) => one.label === node.label || !one.label);
  return named.map((one) => (one.forbidden ? "forbidden" : "kept"));
}

// What a screen reader says: it begins with what is seen, in the same order.
function spoken(node, told) {
  const nats = node.word === undefined ? undefined : told.surprisal?.[node.start];
  const surprising = nats === undefined || nats === null ? "" : ` ${nats.toFixed(1)} nats`;
  const likely = isSure(node) ? "" : ` ${percent(node.probability)}`;
  const named = node.word === undefined ? [node.label + likely, textOf(node)] : [`${node.label} ${node.word}${surprising}`];
  return [...named, ...decided(node, told.brackets ?? [])].join(", ");
}

// Whether a picture fits into a room, made smaller perhaps, but so that it can be read.
export function fits(svg, room) {
  return room / svg.viewBox.baseVal.width >= SMALLEST;
}

// Makes a picture as small as its room, where it fits; else whoever looks at it scrolls.
export function fit(svg, room) {
  const { width, height } = svg.viewBox.baseVal;
  const scale = fits(svg, room) ? Math.min(1, room / width) : SCROLLED;
  svg.setAttribute("width", Math.floor(width * scale));
  svg.setAttribute("height", Math.ceil(height * scale));
}

// The tree as nested lists, for whoever reads rather than looks.
export function asList(tree) {
  const list = document.createElement("ul");
  list.append(listItem(tree));
  return list;
}

function listItem(node) {
  const item = document.createElement("li");
  const label = document.createElement("b");
  label.textContent = node.label;
  item.append(label);
  if (node.word !== undefined) {
    const word = document.createElement("bdi");
    word.textContent = node.word;
    item.append(" ", word);
    return item;
  }
  if (node.probability !== undefined) item.append(` ${percent(node.probability)}`);
  const inner = document.createElement("ul");
  inner.append(...node.children.map(listItem));
  item.append(inner);
  return item;
}
