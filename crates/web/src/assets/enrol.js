// Signs for the key of another browser, by an approver. What is signed is shown first, made from the very text that is signed; then
// the form is sent with it.
import { confirmed, keyFor, keyPage, line, part, post, sign } from "/sign.js";

// Shows everything that is signed.
function describe({ payload, changes, level }, key) {
  const { scope, params, workspace, expires, files } = JSON.parse(payload);
  if (scope !== "key_enrol" || params.key.is !== key || !workspace) {
    throw new Error("The statement is about something else.");
  }
  const list = part("statement");
  list.replaceChildren();
  part("sign-title").textContent = "You enrol a key";
  line(list, "its words", params.words.is);
  line(list, "the approver", params.name.is);
  line(list, "the key", key);
  line(list, "it signs", level === "irreversible" ? "all that is asked, also what cannot be taken back" : "all that is asked; in a browser, what can be taken back");
  line(list, "in the workspace", `${workspace.name} on ${workspace.host} (${workspace.digest.slice(0, 8)})`);
  line(list, "the change", changes);
  line(list, "the file after it", files.map(({ path, digest }) => `${path} ${digest}`).join("\n"));
  line(list, "valid until", expires);
}

async function enrol(form) {
  part("problem").textContent = "";
  const draft = JSON.parse(await post(`${form.action}/draft`, new URLSearchParams(new FormData(form))));
  const key = await keyFor(draft.level);
  if (!key) {
    location.assign(keyPage(draft.level));
    return;
  }
  describe(draft, form.dataset.key);
  if (await confirmed(draft.level)) {
    form.elements.namedItem("token").value = await sign(draft, key);
    form.submit();
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id === "enrolment") {
    event.preventDefault();
    const page = document.documentElement.dataset;
    page.signing = "";
    enrol(form)
      .catch((error) => { part("problem").textContent = error.message; })
      .finally(() => { delete page.signing; });
  }
});
