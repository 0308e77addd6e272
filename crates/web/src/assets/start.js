// Signs for the start of a plan that a login alone does not start. What is signed is shown first, made from the very text that
// is signed; then the form is sent with it, as it would be without.
import { confirmed, keyFor, keyPage, line, part, riskWords, send, sign } from "/sign.js";

// Shows everything that is signed.
function describe({ payload, review, risk }, plan) {
  const statement = JSON.parse(payload);
  if (statement.scope !== "full_plan" || statement.plan.path !== plan || !statement.run || !statement.workspace) {
    throw new Error("The statement is about something else.");
  }
  const list = part("statement");
  list.replaceChildren();
  part("sign-title").textContent = "You approve one run";
  line(list, "the plan", `${statement.plan.id}, ${plan}`);
  Object.entries(statement.params || {}).forEach(([name, value]) => line(list, `parameter ${name}`, value?.is ?? value));
  line(list, "risk", riskWords(risk));
  const { name, host, digest } = statement.workspace;
  line(list, "run", `${statement.run}, in the workspace ${name} on ${host} (${digest.slice(0, 8)})`);
  line(list, "valid until", statement.expires);
  line(list, "files", statement.files.map(({ path, digest }) => `${path} ${digest}`).join("\n"));
  line(list, "what it may do", review);
}

// Returns the draft for a form; nothing if something is wrong about its fields, which the page of the form then says.
async function drafted(form) {
  const body = new URLSearchParams(new FormData(form));
  const { status, text } = await send(`${form.action}/draft`, body, [422]);
  return status === 422 ? undefined : JSON.parse(text);
}

async function signStart(form) {
  part("problem").textContent = "";
  const draft = await drafted(form);
  if (!draft) {
    form.submit();
    return;
  }
  const key = await keyFor(draft.risk.level);
  if (!key) {
    // What was typed stays here.
    const link = document.createElement("a");
    link.href = keyPage(draft.risk.level);
    link.target = "_blank";
    link.textContent = "make one";
    part("problem").replaceChildren("This browser has no key that signs for it: ", link, ", then try again.");
    return;
  }
  describe(draft, form.dataset.plan);
  if (await confirmed(draft.risk.level)) {
    form.elements.namedItem("token").value = await sign(draft, key);
    form.submit();
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id === "signed-start") {
    event.preventDefault();
    const page = document.documentElement.dataset;
    page.signing = "";
    signStart(form)
      .catch((error) => { part("problem").textContent = error.message; })
      .finally(() => { delete page.signing; });
  }
});
