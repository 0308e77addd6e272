// Opens a step beside the run it belongs to, where there is room: the page of the step, in the address as `?step=KEY`. Without it,
// and on a narrow screen, the links of a run lead to that page.
/* global Idiomorph */
import { parsed } from "/live.js";
import { showTimes } from "/page.js";

const wide = matchMedia("(width >= 1024px)");
const run = location.pathname;
// The parts of the page whose links open a step.
const PICKED = "figure, #steps, #panel";

const panel = () => document.getElementById("panel");

// Returns the key of the step that a link leads to; nothing if it leads elsewhere.
function keyOf(link) {
  const [, of, key] = /^(.*)\/steps\/([^/]+)$/.exec(new URL(link.getAttribute("href"), location.href).pathname) ?? [];
  // The address of the page may have the beginning of the id alone.
  return of?.startsWith(run) ? decodeURIComponent(key) : undefined;
}

const linkOf = (key) => [...document.querySelectorAll("#main a[href]")].find((link) => link.closest(PICKED) && keyOf(link) === key);
const pageOf = (key) => `${run}/steps/${encodeURIComponent(key)}`;

// Returns the step of the address. The output of a run has a field of the same name for another purpose.
function shownKey() {
  const fields = new URLSearchParams(location.search);
  return fields.get("tab") === "logs" ? null : fields.get("step");
}

function setKey(key) {
  const address = new URL(location.href);
  address.searchParams.delete("step");
  if (key) {
    address.searchParams.set("step", key);
  }
  history.pushState(null, "", address);
}

// Asks for the page of a step, and shows its content.
async function fill(key) {
  const page = pageOf(key);
  const answer = await fetch(page, { credentials: "same-origin" }).catch(() => null);
  const aside = panel();
  if (!aside || aside.dataset.key !== key || !answer?.ok) {
    return Boolean(answer?.ok);
  }
  const fresh = aside.cloneNode(false);
  const heading = document.createElement("p");
  const close = document.createElement("button");
  close.textContent = "Close";
  close.id = "panel-close";
  const whole = document.createElement("a");
  whole.href = page;
  whole.dataset.whole = "";
  whole.textContent = "Its page";
  heading.append(close, " ", whole);
  const content = parsed(await answer.text()).getElementById("main");
  // The page of the run has its own heading of the first level, and leads to itself.
  const first = content.querySelector("h1");
  const title = document.createElement("h2");
  title.id = "panel-title";
  title.tabIndex = -1;
  title.append(...first.childNodes);
  first.previousElementSibling?.remove();
  first.replaceWith(title);
  fresh.append(heading, ...content.childNodes);
  showTimes(fresh);
  Idiomorph.morph(aside, fresh, { callbacks: { beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details")) } });
  return true;
}

async function open(key, isNew) {
  let aside = panel();
  if (!aside) {
    aside = document.createElement("aside");
    aside.id = "panel";
    aside.setAttribute("aria-labelledby", "panel-title");
    document.getElementById("main").after(aside);
  }
  aside.dataset.key = key;
  if (!await fill(key)) {
    aside.remove();
    location.replace(pageOf(key));
    return;
  }
  if (isNew) {
    setKey(key);
  }
  document.getElementById("panel-title")?.focus();
}

function close() {
  const key = panel()?.dataset.key;
  panel()?.remove();
  return key;
}

// Closes the panel, and gives the focus back to what opened it.
function leave() {
  const key = close();
  if (key) {
    setKey(null);
    linkOf(key)?.focus();
  }
}

document.addEventListener("click", (event) => {
  if (event.target.closest?.("#panel-close")) {
    leave();
    return;
  }
  const link = event.target.closest?.("a[href]");
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || !wide.matches || !link.closest(PICKED) || link.dataset.whole !== undefined) {
    return;
  }
  const key = keyOf(link);
  if (key) {
    event.preventDefault();
    open(key, true);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && panel() && !document.querySelector("dialog[open]")) {
    leave();
  }
});
function follow() {
  const key = wide.matches ? shownKey() : null;
  if (key) {
    open(key, false);
  } else {
    close();
  }
}
addEventListener("popstate", follow);
wide.addEventListener("change", follow);
// The page has changed: what it shows beside may have, too.
document.addEventListener("replaced", () => panel() && fill(panel().dataset.key));
if (shownKey()) {
  follow();
}
