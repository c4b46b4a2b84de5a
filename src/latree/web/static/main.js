// The page: text in, trees out.

import { ask, Refused } from "./api.js";
import { after, find, make } from "./dom.js";
import { asList, draw, fit, fits } from "./drawing.js";
import { dismiss, inspect, spanOf } from "./inspector.js";
import { fragmentOf, readFragment } from "./link.js";
import { offeredWords, offerNext, offerSentences } from "./queue.js";
import { showReadings } from "./readings.js";
import { askSubtypes, exploring, inShort, subtypeOf } from "./subtypes.js";
import { download, takeAway } from "./takeaway.js";
import { ALIKE, differences, keyOf, percent, readTree, textOf } from "./trees.js";
import { walk } from "./walking.js";

const WAIT = 250; // milliseconds without a key after which the text is parsed
const NARROW = 500; // pixels: in less, words stand closer
const READINGS = 6;
const LEAST = 0.001; // probability of a reading that is worth the reader's time
const EXAMPLES = [
  "The old man saw the girl with the telescope.",
  "Time flies like an arrow. Fruit flies like a banana.",
  "While the man hunted the deer ran into the woods.",
];

const state = {
  models: new Map(), // what /models says, by name
  saves: false,
  sentences: [], // what is shown of each: { tokens, written, parses, rank, known, surprisal, beside }
  text: "", // that the sentences are of
  chosen: 0,
};
const decisions = new Map(); // by model and words: brackets and what they were before, kept while the text changes
let linked = null; // what came with a link, until its text is parsed
let asking = new AbortController();
let underWay = 0; // how many things ask the server
let shown = null; // the drawing that is at hand: { svg, tree, parse, walker }

const current = () => state.sentences[state.chosen];
const model = () => state.models.get(find("model").value);

// -- from text to sentences

async function readText() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const text = find("text").value;
  fitText();
  const decided = linked?.text === text ? linked.decided : null;
  if (!decided) remember();
  find("explore").href = exploring(model());
  if (!text.trim()) {
    state.sentences = [];
    showAll();
    return;
  }
  await telling(async () => {
    const words = offeredWords(text);
    const asked = words ? { sentences: [words] } : { text };
    const { sentences } = await ask("parse", { ...asked, model: model().name }, signal);
    state.sentences = sentences.map((parse, number) => asSentence(parse, text, decided?.get(number) ?? []));
    state.text = text;
    linked = null;
    state.chosen = Math.min(state.chosen, Math.max(0, sentences.length - 1));
    remember();
    showAll();
    if (sentences.length) await lookCloser(signal);
  });
}

// `decided` is what a link says of the sentence, where nothing else is known of it.
function asSentence(parse, text, decided) {
  const key = `${model().name} ${parse.tokens.join(" ")}`;
  if (!decisions.has(key)) {
    const brackets = decided.filter(({ start, end }) => start < end && end <= parse.tokens.length);
    decisions.set(key, { brackets, past: [] });
  }
  return { tokens: parse.tokens, written: asWritten(parse, text), parses: [parse], rank: 0, known: decisions.get(key) };
}

// A sentence as it stands in the text, of which places are counted in characters, not in their halves.
function asWritten({ tokens, offsets }, text) {
  if (!offsets?.length) return tokens.join(" ");
  return [...text].slice(offsets[0][0], offsets[offsets.length - 1][1]).join("");
}

// What is asked of the chosen sentence alone.
async function lookCloser(signal = asking.signal) {
  const sentence = current();
  const asked = { sentences: [sentence.tokens], constraints: [sentence.known.brackets] };
  const ranked = await ask("kbest", { ...asked, model: model().name, k: READINGS }, signal);
  sentence.parses = ranked.sentences[0].parses.filter((one, rank) => !rank || one.probability >= LEAST);
  sentence.rank = 0;
  showSentence();
  const [best] = sentence.parses;
  await Promise.all([
    askBeside(sentence, asked, signal), askSurprisal(sentence, signal), askSubtypes(best, model(), signal),
  ]);
  showSentence();
}

async function askBeside(sentence, asked, signal) {
  const name = find("beside").value;
  sentence.beside = null;
  if (!name) return;
  const answer = await ask("parse", { ...asked, model: name }, signal);
  const [parse] = answer.sentences;
  await askSubtypes(parse, state.models.get(name), signal);
  sentence.beside = { name, parse };
}

async function askSurprisal(sentence, signal) {
  if (!model().surprisal || sentence.surprisal || sentence.tokens.length > state.limits.surprisal_words) return;
  const answer = await ask("surprisal", { sentences: [sentence.tokens], model: model().name }, signal);
  sentence.surprisal = answer.sentences[0].surprisal;
}

// Does something that asks the server, and tells what goes wrong.  The tree is marked as busy until all that was begun
// is done: it, and what stands below it, may be drawn anew till then.
async function telling(work) {
  underWay += 1;
  find("work").ariaBusy = "true";
  try {
    await tellingWrongs(work);
  } finally {
    underWay -= 1;
    find("work").ariaBusy = String(underWay > 0);
  }
}

async function tellingWrongs(work) {
  find("status").textContent = "";
  const slow = setTimeout(() => { find("status").textContent = "Parsing…"; }, 400);
  try {
    await work();
    clearTimeout(slow);
    find("status").textContent = "";
  } catch (error) {
    clearTimeout(slow);
    if (error.name === "AbortError") return;
    if (!(error instanceof Refused)) throw error;
    find("status").textContent = error.message;
  }
}

// -- what is shown

function showAll() {
  const any = state.sentences.length > 0;
  find("work").hidden = !any;
  find("empty").hidden = any || find("text").value.trim() !== "";
  showSentences();
  if (any) showSentence();
}

function showSentences() {
  find("sentences").hidden = state.sentences.length < 2;
  const items = state.sentences.map((sentence, number) => {
    const button = make("button", { type: "button", dir: "auto" }, sentence.written);
    if (number === state.chosen) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => choose(number));
    return make("li", {}, button);
  });
  find("sentences").querySelector("ol").replaceChildren(...items);
}

function choose(number) {
  state.chosen = number;
  remember();
  showAll();
  find("sentences").querySelector("[aria-current]")?.focus();
  telling(() => lookCloser());
}

function showSentence() {
  const sentence = current();
  const parse = sentence.parses[sentence.rank];
  dismiss();
  const trees = sentence.parses.map((one) => readTree(one.tree, sentence.tokens, one.constituents));
  showNotice(parse);
  showKnown(sentence);
  showFigures(sentence, parse, trees);
  showReadings(sentence.parses, trees, sentence.rank, (rank) => {
    sentence.rank = rank;
    showSentence();
    telling(() => askSubtypes(sentence.parses[rank], model(), asking.signal));
  });
  fitPictures();
  find("list").replaceChildren(asList(trees[sentence.rank]));
}

function showNotice(parse) {
  const unknown = parse.unknown.map((place) => parse.tokens[place]);
  const parts = [];
  if (parse.status !== "ok") parts.push(`${parse.reason}.`);
  if (unknown.length > parse.tokens.length / 2) parts.push("The model never saw most of these words: expect a guess.");
  find("notice").hidden = parts.length === 0;
  find("notice").textContent = parts.join(" ");
}

function showFigures(sentence, parse, trees) {
  const { rank, surprisal, beside, known } = sentence;
  const tree = trees[rank];
  const other = beside && readTree(beside.parse.tree, sentence.tokens, beside.parse.constituents);
  const against = other ?? (rank ? trees[0] : null);
  const apart = against ? differences(tree, against) : ALIKE;
  const close = find("figures").clientWidth < NARROW;
  const svg = draw(tree, { surprisal, brackets: known.brackets, unknown: parse.unknown, apart, close });
  const figures = [figure(svg, beside ? model().name : "", parse, legend(parse, surprisal))];
  if (other) {
    const theirs = draw(other, { apart: differences(other, tree), close, name: `Tree by ${beside.name}` });
    figures.push(figure(theirs, beside.name, beside.parse));
    walk(theirs, other, () => {}, (node) => tell(node, beside.parse));
  }
  find("figures").replaceChildren(...figures);
  shown = { svg, tree, parse, walker: walk(svg, tree, inspectAt, (node) => tell(node, parse)) };
}

const likelihood = ({ probability }) => (probability === null ? [] : [`${percent(probability)} likely`]);

// What the signs below the words mean, where there are any.
function legend(parse, surprisal) {
  return [
    ...(surprisal ? ["bars: surprisal in nats"] : []),
    ...(parse.unknown.length ? ["slanted: new to the model"] : []),
  ];
}

function figure(svg, name, parse, notes = []) {
  const caption = make("figcaption");
  if (name) caption.append(make("b", {}, name), " ");
  const told = [...likelihood(parse), ...notes];
  caption.append(told.join(" · "));
  return make("figure", {}, make("div", { className: "scroll" }, svg), caption);
}

// Fits pictures into their room, which is wider where the readings stand below instead of beside.  One that is still
// too wide is first seen at its top.
function fitPictures() {
  const pictures = [...find("figures").querySelectorAll(".tree")];
  find("work").classList.remove("wide");
  find("work").classList.toggle("wide", !pictures.every((svg) => fits(svg, find("figures").clientWidth)));
  for (const svg of pictures) {
    fit(svg, find("figures").clientWidth);
    const scroll = svg.parentElement;
    const top = svg.querySelector(".ground").getBoundingClientRect();
    scroll.scrollLeft += top.left - scroll.getBoundingClientRect().left - scroll.clientWidth / 2;
  }
}

// Tells of the node under the pointer or the focus, in place of the hint.
function tell(node, parse) {
  const subtype = subtypeOf(parse, node);
  find("told").replaceChildren(...(node ? [make("span", {}, sayAll(node))] : []));
  if (subtype) find("told").append(" ", make("span", {}, inShort(subtype)));
  find("told").hidden = !node;
  find("hint").hidden = Boolean(node);
}

function sayAll(node) {
  const nats = node.word === undefined ? null : current().surprisal?.[node.start];
  return [
    `${node.label}: ${node.word ?? textOf(node)}`,
    ...(node.probability === undefined ? [] : [`probability ${node.probability.toPrecision(4)}`]),
    ...(nats === null || nats === undefined ? [] : [`surprisal ${nats.toFixed(2)} nats`]),
  ].join(" · ");
}

// -- what the reader decides

function inspectAt(node, other, quietly = false) {
  const span = spanOf(shown.tree, node, other);
  const group = shown.svg.querySelectorAll(".node")[node.place];
  const stage = find("stage").getBoundingClientRect();
  const box = group.querySelector(".ground").getBoundingClientRect();
  const place = { x: box.left + box.width / 2 - stage.left, y: box.bottom - stage.top + 8, width: stage.width };
  const labels = node.word !== undefined && !other ? model().tags : model().phrases;
  const { walker } = shown;
  inspect(span, {
    labels,
    place,
    model: model(),
    subtype: subtypeOf(shown.parse, span.node),
    decided: (brackets) => decide(brackets, node.place),
    left: () => walker.focus(node.place),
    focus: !quietly,
  });
}

const same = (one, other) => keyOf(one) === keyOf(other);

function decide(brackets, place) {
  const { known } = current();
  known.past.push(known.brackets);
  const replaced = known.brackets.filter((one) => !brackets.some((other) => same(one, other)));
  known.brackets = [...replaced, ...brackets];
  again(place);
}

function undo() {
  const { known } = current();
  if (!known.past.length) return;
  known.brackets = known.past.pop();
  again();
}

// Parses the sentence again under what is known of it.
function again(place = 0) {
  current().beside = null;
  remember();
  telling(async () => {
    try {
      await lookCloser();
    } catch (error) {
      if (error instanceof Refused) {
        current().known.brackets = current().known.past.pop() ?? [];
        remember();
        showSentence();
      }
      throw error;
    } finally {
      shown?.walker.focus(place);
    }
  });
}

function showKnown({ known, tokens }) {
  find("known").hidden = !known.brackets.length && !known.past.length;
  find("undo").disabled = !known.past.length;
  const items = known.brackets.map((one) => {
    const words = tokens.slice(one.start, one.end).join(" ");
    const sign = make("span", { className: "sign" }, one.forbidden ? "not" : "keep");
    const drop = make("button", { type: "button", className: "drop", ariaLabel: `Drop: ${one.label ?? "phrase"} ${words}` }, "×");
    drop.addEventListener("click", () => {
      known.past.push(known.brackets);
      known.brackets = known.brackets.filter((other) => other !== one);
      again();
    });
    const label = make("b", {}, one.label ?? "phrase");
    return make("li", { className: one.forbidden ? "forbidden" : "kept" }, sign, label, make("bdi", {}, words), drop);
  });
  find("known").querySelector("ul").replaceChildren(...items);
}

async function save() {
  if (!state.saves) {
    download("tree.mrg", `${shown.parse.tree}\n`, "text/plain");
    return;
  }
  await telling(async () => {
    const { saved } = await ask("save", { tree: shown.parse.tree });
    if (offeredWords(find("text").value)) await offerNext();
    setTimeout(() => { find("status").textContent = `Saved: ${saved} ${saved === 1 ? "tree" : "trees"} so far.`; });
  });
}

// -- the link that holds it all

function remember() {
  const text = find("text").value;
  const decided = text === state.text ? state.sentences.map(({ known }) => known.brackets) : [];
  const held = { text, model: find("model").value, beside: find("beside").value, chosen: state.chosen, decided };
  history.replaceState(null, "", text.trim() ? fragmentOf(held) : location.pathname);
}

function recall() {
  const held = readFragment(location.hash);
  if (state.models.has(held.model)) find("model").value = held.model;
  if (state.models.has(held.beside)) find("beside").value = held.beside;
  state.chosen = held.chosen;
  decisions.clear();
  linked = held;
  const example = find("model").value === "english" ? EXAMPLES[0] : "";
  find("text").value = held.text ?? example;
  return readText();
}

async function copyLink() {
  remember();
  try {
    await navigator.clipboard.writeText(location.href);
    find("status").textContent = "The link is copied.";
  } catch {
    find("status").textContent = "The link is in the address bar.";
  }
}

// -- the beginning

function write(text) {
  find("text").value = text;
  state.chosen = 0;
  return readText();
}

function fitText() {
  const text = find("text");
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight + 2}px`;
}

function listen() {
  find("text").addEventListener("input", after(WAIT, readText));
  find("text").addEventListener("input", fitText);
  for (const id of ["model", "beside"]) find(id).addEventListener("change", readText);
  find("undo").addEventListener("click", undo);
  find("save").addEventListener("click", save);
  find("link").addEventListener("click", copyLink);
  for (const button of document.querySelectorAll("[data-away]")) {
    button.addEventListener("click", () => telling(() => takeAway(button.dataset.away, shown.parse, shown.svg)));
  }
  window.addEventListener("hashchange", recall);
  window.addEventListener("resize", after(WAIT, () => {
    fitText();
    if (shown) fitPictures();
  }));
}

async function begin() {
  const told = await ask("models");
  state.saves = told.saves;
  state.limits = told.limits;
  const parsers = told.models.filter((one) => one.parses);
  for (const one of parsers) {
    state.models.set(one.name, one);
    for (const id of ["model", "beside"]) find(id).append(make("option", { value: one.name, title: one.summary }, one.name));
  }
  if (state.models.has(told.default)) find("model").value = told.default;
  find("save").textContent = told.saves ? "Save tree" : "Download tree";
  find("examples").append(...EXAMPLES.map((text) => {
    const button = make("button", { type: "button" }, text);
    button.addEventListener("click", () => write(text));
    return make("li", {}, button);
  }));
  listen();
  const hasText = readFragment(location.hash).text !== null;
  if (hasText || !told.queue) await recall();
  if (told.queue) {
    offerSentences((tokens) => write(tokens.join(" ")), telling);
    await offerNext(0, hasText);
  }
}

telling(begin);
