// Tells of the likeliest subtype of a node, where the model has subtypes.

import { ask } from "./api.js";
import { find, make } from "./dom.js";
import { percent } from "./trees.js";

const MANY = 3; // words or rules in a line

// Asks for the subtypes of a parse's tree, once.
export async function askSubtypes(parse, model, signal) {
  if (!model.subtypes || parse.subtypes) return;
  const { nodes } = await ask("subtypes", { tree: parse.tree, model: model.name }, signal);
  parse.subtypes = nodes;
}

export const subtypeOf = (parse, node) => (node && parse.subtypes?.[node.order]) ?? null;

const sureness = ({ subtypes, probability }) => (subtypes > 1 ? `${percent(probability)} sure` : "the only subtype");

// In a line, for whoever passes by.
export function inShort(subtype) {
  const shown = subtype.words.length ? subtype.words : subtype.rules;
  const listed = shown.slice(0, MANY).map(([what]) => what).join(subtype.words.length ? ", " : " | ");
  return `${subtype.name}, ${sureness(subtype)}: ${subtype.words.length ? "as in" : "becomes"} ${listed}`;
}

// At length, in the panel; nothing where nothing is known.
export function showSubtype(subtype, model) {
  find("subtype").hidden = !subtype;
  if (!subtype) return;
  const about = subtype.subtypes > 1 ? ` of ${subtype.subtypes} subtypes, ${sureness(subtype)}` : `, ${sureness(subtype)}`;
  const { words, rules } = subtype;
  const items = (words.length ? words : rules).map(([what, share]) => (
    make("li", {}, make("bdi", {}, what), " ", make("small", {}, percent(share)))
  ));
  const list = make("ul", { className: words.length ? "" : "rules" }, ...items);
  const link = make("a", { href: exploring(model, subtype.place), target: "_blank" }, `All about ${subtype.name}`);
  find("subtype").replaceChildren(make("p", {}, make("b", {}, subtype.name), about), list, link);
}

export function exploring(model, place = "") {
  return `explore/${encodeURIComponent(model.name)}${place && `#${place}`}`;
}
