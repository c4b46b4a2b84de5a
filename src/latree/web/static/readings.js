// The k best trees of a sentence, small, the differences from the best one marked.

import { find, make } from "./dom.js";
import { draw } from "./drawing.js";
import { ALIKE, differences, nodesOf, percent, readsLeftwards, textOf } from "./trees.js";

// `chosen(rank)` is called for the reading that is to be looked at.
export function showReadings(parses, trees, current, chosen) {
  const items = parses.map((parse, rank) => reading(parse, rank, trees, rank === current, chosen));
  find("readings").querySelector("ol").replaceChildren(...items);
  find("readings").hidden = parses.length < 2;
  find("order").hidden = parses.every(({ probability }, rank) => !rank || probability <= parses[rank - 1].probability);
}

function reading(parse, rank, trees, isCurrent, chosen) {
  const head = make("span", { className: "head" }, make("b", {}, percent(parse.probability)), meter(parse));
  const dir = readsLeftwards(textOf(trees[rank])) ? "rtl" : "ltr"; // what is too long is cut at its end
  const apart = make("span", { className: "apart", dir }, inWords(rank, trees));
  const button = make("button", { type: "button" }, head, thumb(rank, trees), apart);
  button.setAttribute("aria-pressed", String(isCurrent));
  button.addEventListener("click", () => {
    chosen(rank);
    find("readings").querySelectorAll("button")[rank].focus();
  });
  return make("li", {}, button);
}

function meter(parse) {
  const made = make("meter", { min: 0, max: 1, value: parse.probability ?? 0 });
  made.setAttribute("aria-hidden", "true");
  return made;
}

function thumb(rank, trees) {
  const made = draw(trees[rank], { apart: rank ? differences(trees[rank], trees[0]) : ALIKE });
  made.classList.add("thumb");
  made.setAttribute("aria-hidden", "true");
  for (const node of made.querySelectorAll(".node")) node.removeAttribute("tabindex");
  return made;
}

// What tells a reading from the best one: the largest phrase that it has, or else lacks.
function inWords(rank, trees) {
  if (!rank) return "the best";
  const told = (tree, other) => {
    const { nodes } = differences(tree, other);
    const [first] = nodesOf(tree).filter((node) => nodes.has(node));
    return first && `${first.label}: ${textOf(first)}`;
  };
  return told(trees[rank], trees[0]) ?? `without ${told(trees[0], trees[rank])}`;
}
