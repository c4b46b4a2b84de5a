// Sentences to annotate, the one that the model would learn most from first.

import { ask } from "./api.js";
import { find } from "./dom.js";

const AGAIN = 700; // milliseconds until the server is asked again, while it ranks

let at = null; // what is offered: { rank, tokens }
let take = async () => {};
let telling = (work) => work();

// Begins to offer sentences.  `taken(tokens)` is called with each; `told(work)` does work and tells what goes wrong.
export function offerSentences(taken, told) {
  [take, telling] = [taken, told];
  find("queue").hidden = false;
  find("next").addEventListener("click", () => telling(() => offerNext()));
}

// The words that are offered, where the text is theirs still: these are split already.
export const offeredWords = (text) => (at && at.tokens.join(" ") === text ? at.tokens : null);

// Offers the first sentence behind a rank, that of the last one; behind all it begins again.  Where there is a text
// already, as from a link, it stays until the reader asks for the next.
export async function offerNext(after = at?.rank ?? 0, hasText = false) {
  const told = await ask("next", { after });
  find("queued").textContent = inWords(told);
  find("next").disabled = told.left === 0;
  if (told.state === "ranking") {
    setTimeout(() => telling(() => offerNext(after, hasText)), AGAIN);
  } else if (told.next === null && told.left && after) {
    await offerNext(0);
  } else if (!hasText) {
    at = told.next;
    if (at) await take(at.tokens);
  }
}

function inWords({ state, ranked, sentences, left }) {
  if (state === "ranking") return `Ranking what to annotate first: ${ranked} of ${sentences} sentences…`;
  return left ? `${left} of ${sentences} sentences are to be annotated.` : "All sentences are annotated.";
}
