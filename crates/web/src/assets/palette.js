// The palette, which `Ctrl K` opens: goes to a page, or to a button of this one, by a few letters. It presses nothing, so no key
// cancels or signs. What it finds is read from the page of the search.
import { parsed } from "/live.js";
import { at } from "/page.js";

const MAX_OPTIONS = 50;
const PAUSE_MILLISECONDS = 80;

const element = (name, attributes) => Object.assign(document.createElement(name), attributes);
const dialog = element("dialog", { id: "palette" });
const field = element("input", { type: "text", autocomplete: "off", spellcheck: false, placeholder: "Go to …" });
const list = element("ul", { id: "palette-list" });
const status = element("p", { className: "dim" });
const set = (node, attributes) => Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
set(dialog, { "aria-label": "Go to" });
set(field, { role: "combobox", "aria-label": "Go to a page", "aria-controls": list.id, "aria-autocomplete": "list", "aria-expanded": "true" });
set(list, { role: "listbox", "aria-label": "Pages and buttons" });
set(status, { role: "status" });
dialog.append(field, list, status);

// What can be chosen, best first: `{ title, kind, detail, href }`, or with a `button` in place of `href`.
let options = [];
let chosen = 0;
// True if a person has chosen with the arrows.
let hasMoved = false;
// What the server has found for a text.
let found = { text: "", options: [] };
let asked = null;

// Returns how well a title fits a text: lower is better; Infinity: not at all. Letters may be left out, as in `nrep` for `nightly report`.
function distance(title, text) {
  const [whole, part] = [title.toLowerCase(), text.toLowerCase()];
  const place = whole.indexOf(part);
  if (place >= 0) {
    return place === 0 ? 0 : /\W/.test(whole[place - 1]) ? 1 : 2;
  }
  let from = -1;
  const fits = [...part].every((letter) => letter === " " || (from = whole.indexOf(letter, from + 1)) >= 0);
  return fits ? 3 : Infinity;
}

// Returns the pages that each page leads to, and the buttons of this one.
function own() {
  const shown = (node) => node.checkVisibility();
  const links = [...document.querySelectorAll(".rail a, .top a")].map((link) => ({
    title: (link.querySelector("span:not(.unseen)") ?? link).textContent.trim(), kind: "page", href: link.href,
  }));
  const buttons = [...document.querySelectorAll("main form:not([role=search], .filter) button, main a.button")].filter(shown);
  return [
    ...buttons.map((button) => ({ title: (button.ariaLabel ?? button.textContent).trim(), kind: "on this page", button })),
    ...links.filter((link, index) => links.findIndex((other) => other.href === link.href) === index),
  ];
}

// Reads what the page of the search shows. A plan can be started, too.
function hits(page) {
  return [...page.querySelectorAll("main h2")].flatMap((head) => [...head.nextElementSibling.querySelectorAll("li")].flatMap((row) => {
    const link = row.querySelector("a");
    const [kind, detail] = [head.textContent.trim(), row.querySelector(".why")?.textContent ?? ""];
    const hit = { title: link.textContent, kind, detail, href: link.getAttribute("href") };
    const isPlan = /\/plans\/[^/]+$/.test(hit.href) && !row.querySelector("[data-state=broken]");
    const start = { title: `Run ${hit.title} …`, kind: "form", detail, href: `${hit.href}/start` };
    return isPlan ? [hit, start] : [hit];
  }));
}

function mark() {
  [...list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === chosen)));
  const row = list.children[chosen];
  if (row) {
    set(field, { "aria-activedescendant": row.id });
  } else {
    field.removeAttribute("aria-activedescendant");
  }
  row?.scrollIntoView({ block: "nearest" });
}

function show() {
  const text = field.value.trim();
  const ranked = own().map((option) => [distance(option.title, text), option]).filter(([far]) => far < Infinity);
  ranked.sort(([one], [other]) => one - other);
  const near = ranked.filter(([far]) => far < 3).map(([, option]) => option);
  const far = ranked.filter(([distance]) => distance === 3).map(([, option]) => option);
  const all = text && { title: `Search for ${text}`, kind: "page", href: `${at("/search")}?q=${encodeURIComponent(text)}` };
  const server = text && found.text && text.startsWith(found.text) ? found.options : [];
  options = [...near, ...server, ...far].slice(0, MAX_OPTIONS).concat(all || []);
  chosen = 0;
  list.replaceChildren(...options.map(({ title, kind, detail }, index) => {
    const row = element("li", { id: `palette-${index}` });
    set(row, { role: "option" });
    row.append(element("span", { textContent: title }), element("span", { className: "dim", textContent: detail ? `${kind} · ${detail}` : kind }));
    return row;
  }));
  mark();
}

async function search() {
  const text = field.value.trim();
  asked?.abort();
  if (!text) {
    status.textContent = "";
    return;
  }
  asked = new AbortController();
  const { signal } = asked;
  await new Promise((resolve) => { setTimeout(resolve, PAUSE_MILLISECONDS); });
  if (signal.aborted) {
    return;
  }
  const answer = await fetch(`${at("/search")}?q=${encodeURIComponent(text)}`, { credentials: "same-origin", signal }).catch(() => null);
  const page = answer?.ok && parsed(await answer.text().catch(() => ""));
  if (signal.aborted) {
    return;
  }
  if (page) {
    // What was chosen meanwhile stays so; else it is the best.
    const before = hasMoved && options[chosen];
    found = { text, options: hits(page) };
    show();
    chosen = Math.max(0, options.findIndex((option) => before && option.href === before.href && option.button === before.button));
    mark();
  }
  status.textContent = page ? `${options.length} found` : "The server does not answer: what is listed is known without it.";
}

function go(option) {
  dialog.close();
  if (option?.button) {
    option.button.scrollIntoView({ block: "center" });
    option.button.focus();
  } else if (option) {
    location.assign(option.href);
  }
}

function open() {
  document.body.append(dialog);
  field.value = "";
  hasMoved = false;
  found = { text: "", options: [] };
  status.textContent = "";
  dialog.showModal();
  show();
}

field.addEventListener("input", () => {
  hasMoved = false;
  show();
  search();
});
field.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && options.length) {
    event.preventDefault();
    hasMoved = true;
    chosen = (chosen + step + options.length) % options.length;
    mark();
  } else if (event.key === "Enter" && !event.isComposing) {
    event.preventDefault();
    go(options[chosen]);
  }
});
list.addEventListener("click", (event) => {
  const row = event.target.closest("li");
  go(options[[...list.children].indexOf(row)]);
});
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
dialog.addEventListener("close", () => {
  asked?.abort();
  dialog.remove();
});

document.addEventListener("keydown", (event) => {
  const isOpener = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  if (!isOpener || document.querySelector("dialog[open]:not(#palette)")) {
    return;
  }
  event.preventDefault();
  if (dialog.open) {
    dialog.close();
  } else {
    open();
  }
});
