// What a reader takes away: pictures, trees in brackets, LaTeX, JSON.

import { ask } from "./api.js";

const INLINE = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "display",
  "font-family", "font-size", "font-style", "font-weight", "text-anchor", "paint-order",
];
const SCALE = 3; // pixels of a PNG for each of the screen

export function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// A drawing that needs no style sheet, on white paper whatever the page looks like.
export function standalone(svg) {
  const sheet = document.createElement("div");
  sheet.className = "paper unseen";
  const copy = svg.cloneNode(true);
  sheet.append(copy);
  document.body.append(sheet);
  const styles = [...copy.querySelectorAll("*")].map((one) => [one, getComputedStyle(one)]);
  for (const [one, style] of styles) {
    for (const name of INLINE) one.setAttribute(name, style.getPropertyValue(name));
  }
  sheet.remove();
  for (const one of copy.querySelectorAll("*")) {
    for (const name of ["class", "tabindex", "role", "data-place", "aria-label", "aria-hidden", "aria-describedby"]) one.removeAttribute(name);
  }
  copy.removeAttribute("class");
  copy.setAttribute("width", copy.viewBox.baseVal.width);
  copy.setAttribute("height", copy.viewBox.baseVal.height);
  copy.setAttribute("role", "img");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

async function png(svg) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([standalone(svg)], { type: "image/svg+xml" }));
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * SCALE;
  canvas.height = image.height * SCALE;
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

export async function takeAway(kind, parse, svg) {
  const name = `tree.${kind}`;
  if (kind === "svg") download(name, standalone(svg), "image/svg+xml");
  if (kind === "png") download(name, await png(svg), "image/png");
  if (kind === "mrg") download(name, `${parse.tree}\n`, "text/plain");
  if (kind === "json") download(name, JSON.stringify(parse, null, 1), "application/json");
  if (kind === "tex") {
    const { drawing } = await ask("draw", { tree: parse.tree, format: "latex" });
    download(name, `${drawing}\n`, "text/x-tex");
  }
}
