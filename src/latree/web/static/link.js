// The link that holds it all: text, models, which sentence, and what the reader has decided.

const DECISION = /^(\d+)\.(\d+)\.(\d+)\.(keep|not)\.(.*)$/s; // sentence, from 1; first word; word after the last; label

// The fragment of an address; `decided` has the brackets of every sentence.
export function fragmentOf({ text, model, beside, chosen, decided }) {
  const parts = new URLSearchParams({ text, model });
  if (beside) parts.set("beside", beside);
  if (chosen) parts.set("sentence", chosen + 1);
  decided.forEach((brackets, number) => {
    for (const { label, start, end, forbidden } of brackets) {
      parts.append("known", [number + 1, start, end, forbidden ? "not" : "keep", label ?? ""].join("."));
    }
  });
  return `#${parts}`;
}

// What a fragment says; `text` is null where it says nothing, `decided` has the brackets by the number of the sentence.
export function readFragment(fragment) {
  const parts = new URLSearchParams(fragment.slice(1));
  const decided = new Map();
  for (const [, number, start, end, sign, label] of parts.getAll("known").map((one) => one.match(DECISION) ?? [])) {
    if (number === undefined) continue;
    const bracket = { label: label || null, start: Number(start), end: Number(end), forbidden: sign === "not" };
    decided.set(number - 1, [...(decided.get(number - 1) ?? []), bracket]);
  }
  const chosen = Math.max(0, Number(parts.get("sentence") ?? 1) - 1) || 0;
  return { text: parts.get("text"), model: parts.get("model"), beside: parts.get("beside"), chosen, decided };
}
