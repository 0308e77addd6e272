// Asks for the page again when the log has grown, and puts what is new in its place.
"use strict";

const connection = document.getElementById("connection");
let known = document.getElementById("main").dataset.log;
let busy = false;
let again = false;
let changed = false;

document.addEventListener("input", () => { changed = true; });

// True if a person fills in a form: the page stays as it is.
function isInUse() {
  const field = document.activeElement;
  const isIn = field && ["INPUT", "SELECT", "TEXTAREA"].includes(field.tagName);
  return changed || isIn || "signing" in document.documentElement.dataset;
}

// What a person opened, and where the focus is, stays.
function replace(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("main");
  const main = document.getElementById("main");
  if (!fresh || fresh.innerHTML === main.innerHTML) {
    return;
  }
  const open = [...main.querySelectorAll("details")].map((one) => one.open);
  // What grows by itself stays, where its reader scrolled it.
  const growing = new Map([...main.querySelectorAll("[data-output]")].map((one) => [one.dataset.output, [one, one.scrollTop]]));
  for (const one of fresh.querySelectorAll("[data-output]")) {
    growing.has(one.dataset.output) && one.replaceWith(growing.get(one.dataset.output)[0]);
  }
  const scrolled = [...main.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
  const focus = document.activeElement && document.activeElement.closest("a[href]");
  const href = focus && main.contains(focus) ? focus.getAttribute("href") : null;
  main.replaceChildren(...fresh.childNodes);
  [...main.querySelectorAll("details")].forEach((one, at) => { one.open = open[at] ?? one.open; });
  [...main.querySelectorAll(".scroll")].forEach((one, at) => { [one.scrollLeft, one.scrollTop] = scrolled[at] ?? [0, 0]; });
  growing.forEach(([one, top]) => { one.scrollTop = top; });
  document.dispatchEvent(new Event("replaced"));
  if (href) {
    main.querySelector(`a[href="${CSS.escape(href)}"]`)?.focus();
  }
}

function pause(seconds) {
  return new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });
}

async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  do {
    again = false;
    if (!isInUse()) {
      const response = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
      if (response && response.status === 401) {
        connection.textContent = "this login has ended";
      } else if (response && response.status === 503) {
        // There are too many requests just now.
        await pause(Number(response.headers.get("Retry-After")) || 1);
        again = true;
      } else if (response && response.ok) {
        const text = await response.text();
        if (!isInUse()) {
          replace(text);
        }
      }
    }
  } while (again);
  busy = false;
}

let events = null;

function listen() {
  events = new EventSource("/events");
  events.addEventListener("log", (event) => {
    connection.textContent = "";
    if (event.data !== known) {
      known = event.data;
      refresh();
    }
  });
  events.addEventListener("error", () => {
    connection.textContent = "not connected; trying again";
    // A browser goes on by itself after a stream that broke, and not after one that was refused.
    if (events?.readyState === EventSource.CLOSED) {
      events = null;
      pause(5).then(follow);
    }
  });
}

// Browsers open six connections to a server: a page that nobody sees gives its own back, and learns later what it missed.
function follow() {
  if (document.visibilityState === "visible") {
    if (!events) {
      listen();
    }
  } else {
    events?.close();
    events = null;
  }
}

addEventListener("pagehide", () => {
  events?.close();
  events = null;
});
addEventListener("pageshow", follow);
document.addEventListener("visibilitychange", follow);
follow();
