// Signs for a goal: that it is accepted, or that its repairs are approved as its autonomy advises. What is signed is shown
// first, made from the very text that is signed.
import { at } from "/page.js";
import { confirmed, keyFor, keyPage, line, part, post, riskWords, sign } from "/sign.js";

const SUBJECTS = { goal_accept: "the goal as it is", standing: "its repairs, unattended" };

// Shows everything that is signed.
function describe({ payload, review, risk }, goal) {
  const statement = JSON.parse(payload);
  if (statement.plan.id !== goal || !(statement.scope in SUBJECTS)) {
    throw new Error("The statement is about something else.");
  }
  const list = part("statement");
  list.replaceChildren();
  part("sign-title").textContent = "You approve";
  line(list, "the subject", `${SUBJECTS[statement.scope]}: ${goal}`);
  if (statement.scope === "standing") {
    line(list, "how often", String(statement.executions));
  }
  line(list, "valid until", statement.expires);
  line(list, "risk", riskWords(risk));
  Object.entries(statement.params || {}).forEach(([name, value]) => line(list, `parameter ${name}`, value));
  line(list, "files", statement.files.map(({ path, digest }) => `${path} ${digest}`).join("\n"));
  line(list, "what it may do", review);
}

async function signGoal(button) {
  part("problem").textContent = "";
  const { goal } = part("signature").dataset;
  const draft = JSON.parse(await post(at(`/goals/${goal}/signature/draft`), JSON.stringify({ what: button.value })));
  const key = await keyFor(draft.risk.level);
  if (!key) {
    location.assign(keyPage(draft.risk.level));
    return;
  }
  describe(draft, goal);
  if (await confirmed(draft.risk.level)) {
    await post(at(`/goals/${goal}/signature`), await sign(draft, key));
    location.reload();
  }
}

document.addEventListener("submit", (event) => {
  if (event.target.id === "signature") {
    event.preventDefault();
    const page = document.documentElement.dataset;
    page.signing = "";
    signGoal(event.submitter)
      .catch((error) => { part("problem").textContent = error.message; })
      .finally(() => { delete page.signing; });
  }
});
