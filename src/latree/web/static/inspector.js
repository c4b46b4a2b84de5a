// The small panel that tells of a phrase and takes what the reader decides about it.

import { find, make } from "./dom.js";
import { showSubtype } from "./subtypes.js";
import { percent, textOf, wordsOf } from "./trees.js";

const panel = find("inspector");
const SHOWN = 60; // letters of a phrase

let inspected = null; // { start, end, label, node }
let decide = () => {};
let leave = () => {};

// What is at hand: a node, or the words from one node to another, which are no phrase yet.
export function spanOf(tree, node, other) {
  if (!other || other === node) return { start: node.start, end: node.end, label: node.label, node };
  const [start, end] = [Math.min(node.start, other.start), Math.max(node.end, other.end)];
  const text = wordsOf(tree).slice(start, end).map((leaf) => leaf.word).join(" ");
  return { start, end, label: null, node: null, text };
}

// Shows the panel beside a node.  `decided(brackets)` is called with what the tree must have, and must not have;
// `subtype` is what is known of the node's, null for nothing.
export function inspect(span, { labels, place, model, subtype, decided, left, focus = true }) {
  inspected = span;
  decide = decided;
  leave = left;
  const { node } = span;
  const text = node ? node.word ?? textOf(node) : span.text;
  const words = document.createElement("bdi");
  words.textContent = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  const label = document.createElement("b");
  label.textContent = node ? node.label : "New phrase";
  find("inspected").replaceChildren(label, " ", words);
  find("likely").textContent = told(node);
  showSubtype(subtype, model);
  find("keep").hidden = find("forbid").hidden = !node;
  find("name").textContent = node ? "Relabel" : "Add";
  find("label").value = "";
  find("label").placeholder = node ? node.label : "any";
  find("labels").replaceChildren(...labels.map((name) => make("option", { value: name })));
  panel.hidden = false;
  placeAt(place);
  if (focus) (node ? find("keep") : find("label")).focus();
}

function told(node) {
  if (!node) return "These words are to be one phrase.";
  if (node.probability === undefined) return node.word === undefined ? "" : "Part of speech";
  return `Probability ${percent(node.probability)}`;
}

function placeAt({ x, y, width }) {
  const half = panel.offsetWidth / 2;
  panel.style.left = `${Math.min(Math.max(x, half + 4), Math.max(width - half - 4, half + 4))}px`;
  panel.style.top = `${y}px`;
}

export function dismiss() {
  if (panel.hidden) return;
  panel.hidden = true;
  leave();
}

function bracket(label, forbidden) {
  return { label: label || null, start: inspected.start, end: inspected.end, forbidden };
}

function close(brackets) {
  panel.hidden = true;
  decide(brackets);
}

find("keep").addEventListener("click", () => close([bracket(inspected.label, false)]));
find("forbid").addEventListener("click", () => close([bracket(inspected.label, true)]));
find("close").addEventListener("click", dismiss);
find("relabel").addEventListener("submit", (event) => {
  event.preventDefault();
  const label = find("label").value.trim();
  const { node } = inspected;
  if (node && (!label || label === node.label)) return;
  // The old label goes with the new one coming; a word has one tag anyway.
  close([...(node && node.word === undefined ? [bracket(node.label, true)] : []), bracket(label, false)]);
});
panel.addEventListener("keydown", (event) => {
  if (event.key === "Escape") dismiss();
});
