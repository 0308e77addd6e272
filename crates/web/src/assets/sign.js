// Signs the answer to a request. What is signed is shown first, made from the very text that is signed.
import { hex, ownKey, ownPasskey } from "/key.js";
import { announceChanges, at } from "/page.js";

// The page may be put together anew while it is open, so its parts are looked for when they are needed.
export const part = (id) => document.getElementById(id);
const encoder = new TextEncoder();

// Writes characters that hide, or change how others show, as their numbers.
const visible = (text) => String(text).replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu, (one) =>
  one === "\n" || one === "\t" ? one : `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const digest = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));

// Sends a body, and returns the answer, or the refusal if the status is not one of those expected.
export async function send(path, body, expected = []) {
  // Else a refusal would be a page.
  const headers = { accept: "application/json" };
  const response = await fetch(path, { method: "POST", body, headers, credentials: "same-origin" });
  const text = await response.text();
  if (!response.ok && !expected.includes(response.status)) {
    throw new Error(reasonOf(text));
  }
  return { status: response.status, text };
}

export const post = async (path, body) => (await send(path, body)).text;

// Returns the words of a refusal.
function reasonOf(text) {
  try {
    const { error, remedy } = JSON.parse(text);
    return [error, remedy].filter(Boolean).join(". ");
  } catch {
    return text.trim();
  }
}

// Returns the answer as the form has it.
function answerOf(button) {
  const form = part("answer");
  const fields = new FormData(form);
  const answer = { yes: button.value === "yes" };
  const reason = (fields.get("reason") || "").trim();
  if (reason) {
    answer.reason = reason;
  }
  if (answer.yes) {
    if (fields.has("choice")) {
      answer.choice = fields.get("choice");
    }
    const draft = form.querySelector("textarea");
    if (draft && draft.value !== draft.defaultValue) {
      answer.text = draft.value;
    }
    const boxes = [...form.querySelectorAll("[name=entry]")];
    const marked = boxes.filter((box) => box.checked).map((box) => Number(box.value));
    if (marked.length < boxes.length) {
      // A selection has the order of the list, and the page that of its bands.
      answer.selected = marked.sort((one, other) => one - other);
    }
  }
  return answer;
}

// Returns the statement and the request of a draft, after it was compared with what was asked for.
async function understood(draft, answer) {
  const statement = JSON.parse(draft.payload);
  const proposal = JSON.parse(draft.proposal);
  if (statement.ask.proposal !== await digest(encoder.encode(draft.proposal))) {
    throw new Error("The statement is about another request.");
  }
  if (statement.verdict !== (answer.yes ? "approved" : "denied") || (statement.reason || "") !== (answer.reason || "")) {
    throw new Error("The statement says something else than you do.");
  }
  return { statement, proposal };
}

// Returns a value as people read it: a text as it is, a record as its keys and values, a list as its entries.
function reading(value) {
  if (typeof value === "string") {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((one) => `• ${titleOf(one)}`).join("\n");
  }
  if (value !== null && typeof value === "object") {
    return Object.entries(value).map(([name, part]) => `${name}: ${plain(part)}`).join("\n");
  }
  return String(value);
}

const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// Returns an entry of a list with its title first, if it has one.
function titleOf(entry) {
  if (entry === null || typeof entry !== "object" || Array.isArray(entry)) {
    return plain(entry);
  }
  const title = ["title", "name", "subject", "file", "path", "id"].find((name) => typeof entry[name] === "string");
  const rest = Object.entries(entry).filter(([name]) => name !== title).map(([name, part]) => `${name}: ${plain(part)}`);
  return [title ? entry[title] : undefined, rest.join(", ")].filter(Boolean).join(" — ");
}

// Returns the lines that only one of two texts has, between those that both begin and end with: `-` was shown, `+` is signed.
function difference(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) {
    start += 1;
  }
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) {
    end += 1;
  }
  const cut = (lines, sign) => lines.slice(start, lines.length - end).map((one) => `${sign} ${one}`);
  return [...cut(old, "-"), ...cut(now, "+")].join("\n");
}

// Returns the terms and texts of an answer: what it decides.
function answerLines(answer, options) {
  const entries = options?.select;
  if (entries) {
    const chosen = answer?.selected ?? entries.map((_, at) => at + 1);
    const left = entries.filter((_, at) => !chosen.includes(at + 1));
    const named = chosen.map((at) => entries[at - 1]);
    const without = left.length > 0 ? [["without", left]] : [];
    return [[`your answer: ${chosen.length} of ${entries.length}`, named], ...without];
  }
  if (options?.edit) {
    const text = answer?.text ?? options.edit.text;
    const changed = text === options.edit.text ? "nothing" : difference(options.edit.text, text);
    return [["your answer: this text", text], ["changed in it", changed]];
  }
  return answer?.choice === undefined ? [] : [["your answer", answer.choice]];
}

// The rules of risks, in words.
const RISKS = {
  reads_only: "changes nothing",
  reads_outside: "reads from other machines",
  writes: "may change files of the workspace",
  network: "may use the network",
  unconfined: "has no sandbox, and may do whatever your user may do",
  acts_with_secret: "may use the network with a secret, and nobody here can take back what it does there",
};

export const riskWords = ({ level, rule, step }) => `${level}: ${step ? `\`${step}\`` : "it"} ${RISKS[rule] ?? rule}`;

export function line(list, name, value) {
  const term = document.createElement("dt");
  term.textContent = name;
  const text = document.createElement("pre");
  text.textContent = visible(reading(value));
  text.classList.toggle("block", text.textContent.includes("\n"));
  text.classList.toggle("instant", /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text.textContent));
  const description = document.createElement("dd");
  description.append(text);
  list.append(term, description);
}

// Shows everything that is signed.
function describe({ statement, proposal }) {
  const list = part("statement");
  list.replaceChildren();
  const isYes = statement.verdict === "approved";
  part("sign-title").textContent = isYes ? "You approve" : "You decline";
  line(list, "the question", proposal.ask.message);
  if (isYes) {
    answerLines(statement.answer, proposal.ask.answer).forEach(([name, value]) => line(list, name, value));
  }
  if (statement.reason !== undefined) {
    line(list, "your words", statement.reason);
  }
  Object.entries(proposal.ask.show || {}).forEach(([name, value]) => line(list, name, value));
  if (proposal.ask.risk) {
    line(list, "risk", riskWords(proposal.ask.risk));
  }
  if (proposal.evidence.length > 0) {
    line(list, "files as they were checked", proposal.evidence.map(([path, sum]) => `${path} ${sum}`).join("\n"));
  }
  line(list, "plan and run", `${statement.plan.path}, run ${statement.run}`);
  line(list, "valid until", statement.expires);
}

// Waits for the confirmation that the risk demands; false if it is not given.
export function confirmed(risk) {
  const [dialog, slide, go] = [part("sign"), part("slide"), part("go")];
  slide.closest("label").hidden = risk !== "high";
  slide.value = 0;
  go.disabled = risk === "high";
  slide.oninput = () => { go.disabled = slide.value !== slide.max; };
  dialog.showModal();
  // It is read from its first line: a browser would show the first button, which is below.
  part("sign-title").focus();
  dialog.scrollTop = 0;
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "sign");
    dialog.returnValue = "";
  });
}

// Signs bytes with the key of the browser.
async function signWithKey(bytes, { publicKey, privateKey }) {
  const keyid = await digest(await crypto.subtle.exportKey("spki", publicKey));
  return { keyid, sig: base64(await crypto.subtle.sign({ name: "Ed25519" }, privateKey, bytes)) };
}

// Has the device sign bytes, which asks its user.
async function signWithPasskey(bytes, { id, spki }) {
  const credential = await navigator.credentials.get({
    publicKey: {
      rpId: location.hostname,
      challenge: await crypto.subtle.digest("SHA-256", bytes),
      allowCredentials: [{ type: "public-key", id }],
      userVerification: "required",
    },
  });
  const { authenticatorData, clientDataJSON, signature } = credential.response;
  const passkey = { authenticatorData: base64(authenticatorData), clientDataJSON: base64(clientDataJSON) };
  return { keyid: await digest(spki), passkey, sig: base64(signature) };
}

export async function sign(draft, { pair, passkey }) {
  const payload = encoder.encode(draft.payload);
  const head = encoder.encode(`DSSEv1 ${draft.payload_type.length} ${draft.payload_type} ${payload.length} `);
  const bytes = new Uint8Array([...head, ...payload]);
  const signature = passkey ? await signWithPasskey(bytes, passkey) : await signWithKey(bytes, pair);
  return `${JSON.stringify({ payload: base64(payload), payloadType: draft.payload_type, signatures: [signature] })}\n`;
}

// Returns the key to sign with: a passkey if there is one, the only one for what cannot be taken back.
export async function keyFor(risk) {
  const [pair, passkey] = [await ownKey(), await ownPasskey()];
  return passkey || (pair && risk !== "irreversible") ? { pair, passkey } : undefined;
}

// Returns the page that makes a key, which leads back to this one.
export function keyPage(risk) {
  return at(`/keys?${new URLSearchParams({ back: location.pathname + location.search, risk: risk ?? "" })}`);
}

// The times that the last five answers took, in milliseconds, without those of low risk.
const paces = () => JSON.parse(sessionStorage.getItem("paces") || "[]");

function notePace(risk) {
  if (risk !== "low") {
    sessionStorage.setItem("paces", JSON.stringify([...paces(), Date.now() - shown].slice(-5)));
  }
}

// Says so if answers come faster than anybody reads. Nothing is held up.
function showPace() {
  const [, , median, , last] = paces().sort((one, other) => one - other);
  if (last !== undefined && median < 1000) {
    part("pace").textContent = "Most of your last five answers took less than a second. Take your time: the others wait.";
  }
}

async function answer(button) {
  part("problem").textContent = "";
  const { request, risk: shownRisk } = part("answer").dataset;
  const wanted = answerOf(button);
  const ownRisk = wanted.yes ? shownRisk : "low";
  const key = await keyFor(ownRisk);
  if (!key) {
    location.assign(keyPage(ownRisk));
    return;
  }
  notePace(shownRisk);
  const draft = JSON.parse(await post(`${request}/draft`, JSON.stringify(wanted)));
  const meaning = await understood(draft, wanted);
  describe(meaning);
  const risk = wanted.yes ? meaning.proposal.ask.risk?.level : "low";
  if (await confirmed(risk)) {
    const record = JSON.parse(await post(`${request}/answer`, await sign(draft, key)));
    if (record.run_continues) {
      // Its page says what came of it, and leads to the run.
      location.assign(request);
    } else {
      // More answers are needed, or a person resumes the run, or it cannot be resumed: the text stays readable.
      const run = document.createElement("a");
      run.href = at(`/runs/${record.run}`);
      run.textContent = "Open the run";
      part("answer").replaceChildren();
      part("problem").replaceChildren(record.text, " ", run);
    }
  }
}

const shown = Date.now();
announceChanges();

if (globalThis.crypto?.subtle) {
  document.documentElement.classList.add("signs");
  showPace();
  document.addEventListener("submit", (event) => {
    if (event.target.id === "answer") {
      event.preventDefault();
      const page = document.documentElement.dataset;
      page.signing = "";
      answer(event.submitter)
        .catch((error) => { part("problem").textContent = error.message; })
        .finally(() => { delete page.signing; });
    }
  });
}
