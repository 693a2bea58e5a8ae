// Requests to the server that handed out this page; addresses are relative, so they keep the token.

const CLIENT = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("");

async function refused(response) {
  let text = `the server answered ${response.status}`;
  try {
    text = (await response.json()).error || text;
  } catch {
    // no JSON: the number has to do
  }
  return new Error(text);
}

const GONE = "No answer: the server has ended. Start trueprobe explore again, and open the address it prints.";

async function asked(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(GONE);
  }
  if (!response.ok) throw await refused(response);
  return response;
}

const posted = (body, signal) => ({
  method: "POST",
  headers: { "content-type": "application/json", "x-client": CLIENT },
  body: JSON.stringify(body),
  signal,
});

export const get = async (path) => (await asked(path, {})).json();
export const post = async (path, body, signal) => (await asked(path, posted(body, signal))).json();

/** Calls `onpart` with each line as it comes; true at the end, false where a newer question took its place. */
export async function stream(path, body, onpart, signal) {
  const response = await asked(path, posted(body, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let whole = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done && whole === null) throw new Error(GONE);
    if (done) return whole;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const part = JSON.parse(line);
      if (part.error) throw new Error(part.error);
      if (part.end || part.replaced) whole = Boolean(part.end);
      else onpart(part);
    }
  }
}
