// Asks the server; what it refuses is an Error with its words.

export class Refused extends Error {}

export async function ask(path, body, signal) {
  const options = { signal };
  if (body !== undefined) {
    Object.assign(options, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  }
  const response = await unlessCutOff(fetch(addressOf(path), options), "The server cannot be reached.");
  const answer = await unlessCutOff(response.json(), `The server did not answer, but something before it: ${response.status}.`);
  if (!response.ok) throw new Refused(answer.error);
  return answer;
}

// Where a path is, without a name and a password, which may be in the address of the page but not in what it fetches.
const addressOf = (path) => new URL(path, location.origin + location.pathname);

// Waits for something; what goes wrong is told in these words, unless nobody waits for it any more.
async function unlessCutOff(work, message) {
  try {
    return await work;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(message);
  }
}
