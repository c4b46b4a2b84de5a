// Moves through a drawn tree by the arrow keys: one node is in the order of tabs, the others are reached from it.

import { nodesOf, readsLeftwards, textOf } from "./trees.js";

// `chosen(node, other)` is called for a click or Enter; `other` is the node before, where Shift was held.  `seen(node)` is
// called for the node under the pointer or the focus, with null where there is none.
export function walk(svg, tree, chosen, seen) {
  const nodes = nodesOf(tree);
  const groups = [...svg.querySelectorAll(".node")];
  let current = nodes[0];
  let anchor = null; // where a new phrase begins
  groups[0].setAttribute("tabindex", "0");
  for (const group of groups) group.setAttribute("aria-describedby", "told");

  function go(node) {
    groups[current.place].setAttribute("tabindex", "-1");
    current = node;
    groups[node.place].setAttribute("tabindex", "0");
    groups[node.place].focus();
  }

  function pick(node, extend) {
    const from = extend ? anchor ?? current : null;
    if (!extend) anchor = null;
    if (node !== current) go(node);
    if (extend) anchor = from;
    chosen(node, from);
  }

  const at = (event) => {
    const group = event.target.closest(".node");
    return group && nodes[Number(group.dataset.place)];
  };
  // Not the drawing itself: one that listens for the focus would be a stop for the tab key.
  const around = svg.parentElement;
  for (const name of ["pointerover", "focusin"]) around.addEventListener(name, (event) => seen(at(event)));
  for (const name of ["pointerleave", "focusout"]) around.addEventListener(name, () => seen(null));
  svg.addEventListener("click", (event) => {
    const node = at(event);
    if (node) pick(node, event.shiftKey);
  });
  svg.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pick(current, false);
      return;
    }
    const next = neighbour(current, nodes, event.key, readsLeftwards(textOf(tree)));
    if (!next) return;
    event.preventDefault();
    if (event.shiftKey) {
      anchor ??= current;
      go(next);
      chosen(next, anchor, true);
    } else {
      anchor = null;
      go(next);
    }
  });
  return { focus: (place) => go(nodes[Math.min(place, nodes.length - 1)]) };
}

function neighbour(node, nodes, key, leftwards) {
  const towards = { ArrowLeft: leftwards ? 1 : -1, ArrowRight: leftwards ? -1 : 1 }[key];
  if (key === "ArrowUp") return node.parent;
  if (key === "ArrowDown") return node.children[0];
  if (key === "Home") return nodes[0];
  if (towards === undefined) return undefined;
  // Nodes of one level are neighbours, whoever their parents are; words are, whatever their levels.
  const row = nodes.filter((one) => (node.word === undefined ? one.depth === node.depth : one.word !== undefined));
  return row[row.indexOf(node) + towards];
}
