// Asks for the page again when the log has grown, and changes what differs. What a person fills in, opened, selected or scrolled
// stays; a form that is begun and has changed on the server says so.
/* global Idiomorph */
import { hearNews, sayLoginEnded, showTimes } from "/page.js";

const RETRY_SECONDS = 1;
const LOOK_SECONDS = 15;
const GROWING_MILLISECONDS = 1500;
const policy = globalThis.trustedTypes?.createPolicy("wf", { createHTML: (text) => text });
const main = document.getElementById("main");
const outdated = document.getElementById("outdated");
let known = main.dataset.log;
let version = main.dataset.page;
let isBusy = false;
let isDue = false;

// The forms that a person has begun to fill in, each as the server made it.
const begun = new Map();

function nameOf(form) {
  return form.getAttribute("action") ?? form.id;
}

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (form && !begun.has(form)) {
    begun.set(form, original.get(nameOf(form)));
  }
});

// The text of each form as the server made it, by name.
let original = new Map();

function noteForms(root) {
  original = new Map([...root.querySelectorAll("form")].map((form) => [nameOf(form), form.outerHTML]));
}

noteForms(document);

// What would take the first screen of a phone is closed there until somebody opens it.
if (matchMedia("(width < 640px)").matches) {
  document.querySelectorAll("details[data-wide]").forEach((part) => { part.open = false; });
}

// True if a node stays as it is: it is filled in, or grows by itself.
function stays(node, fresh) {
  if (!(node instanceof Element)) {
    return false;
  }
  if (begun.has(node)) {
    if (begun.get(node) !== fresh.outerHTML) {
      outdated.hidden = false;
    }
    return true;
  }
  return node.matches("[data-keep], #connection, #outdated, #palette, #panel") || (node.matches("[data-output]") && node.dataset.output === fresh.dataset?.output);
}

// Reads a page of this server. What is read so runs no script.
export function parsed(text) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
}

function morph(text) {
  const fresh = parsed(text);
  showTimes(fresh);
  document.title = fresh.title;
  const scrolled = [...main.querySelectorAll(".scroll, .log")].map((one) => [one, one.scrollLeft, one.scrollTop]);
  Idiomorph.morph(document.body, fresh.body, {
    ignoreActiveValue: true,
    head: { style: "none" },
    callbacks: {
      beforeNodeMorphed: (node, other) => !stays(node, other),
      // A form that was begun is not taken away, either: it says that it is outdated.
      beforeNodeRemoved: (node) => {
        const isBegun = node instanceof Element && [...begun.keys()].some((form) => node.contains(form));
        outdated.hidden &&= !isBegun;
        return !isBegun && node.id !== "palette" && node.id !== "panel";
      },
      // What a person opened or closed, or selected for a form that stands elsewhere.
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details, dialog")) && !(name === "checked" && begun.has(node.form)),
    },
  });
  scrolled.forEach(([one, left, top]) => { [one.scrollLeft, one.scrollTop] = [left, top]; });
  noteForms(fresh);
  document.dispatchEvent(new Event("replaced"));
}

// Asks for the page once; false if the server has no time for it just now.
async function ask() {
  const headers = { "If-None-Match": `"${version}"` };
  const response = await fetch(location.href, { credentials: "same-origin", headers }).catch(() => null);
  if (response?.status === 401) {
    sayLoginEnded();
  } else if (response?.status === 503) {
    const seconds = Number(response.headers.get("Retry-After")) || RETRY_SECONDS;
    await new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });
    return false;
  } else if (response?.status === 404) {
    outdated.hidden = false;
  } else if (response?.ok) {
    version = (response.headers.get("ETag") ?? "").replaceAll('"', "");
    morph(await response.text());
  }
  return true;
}

async function refresh() {
  isDue = true;
  if (isBusy) {
    return;
  }
  isBusy = true;
  try {
    while (isDue) {
      isDue = false;
      isDue = !(await ask()) || isDue;
    }
  } finally {
    isBusy = false;
  }
}

// Not all that a page shows is in the log: a process that died, a time that passed.
setInterval(() => document.visibilityState === "visible" && refresh(), LOOK_SECONDS * 1000);

// A page whose output grows asks for that, too: together twice a second at most.
let timer = null;
hearNews((latest) => {
  if (latest !== known) {
    known = latest;
    timer ??= setTimeout(() => {
      timer = null;
      refresh();
    }, main.querySelector("[data-news]") ? GROWING_MILLISECONDS : 0);
  }
});
