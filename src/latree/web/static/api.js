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
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server cannot be reached.");
  }
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error);
  return answer;
}
