// Shows the times of a page as its reader counts them, and whether the page is current, and hears of each change of the log.

const RETRY_SECONDS = 5;

// Times.

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
const WEEK = 7 * 86_400;

// Returns how long ago an instant was, or when it will be; a date beyond a week.
function wording(at) {
  const seconds = Math.round((at - Date.now()) / 1000);
  if (Math.abs(seconds) > WEEK) {
    return date.format(at);
  }
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS.at(-1);
  // What has passed is counted as it has passed; a week that was chosen just now is no six days.
  return relative.format(seconds > 0 ? Math.round(seconds / length) : Math.trunc(seconds / length), unit);
}

// Shows the times of a part of a page. A time that was pressed shows when exactly it was.
export function showTimes(root) {
  tick(root);
  for (const time of root.querySelectorAll("time.yours")) {
    const own = clock.format(new Date(time.dateTime));
    // The clocks before it say the same where the zones are equal.
    const isShown = !time.parentElement.firstChild.textContent.startsWith(own) && !time.previousElementSibling?.textContent.includes(own);
    time.textContent = isShown ? ` · ${own} here` : "";
  }
  for (const time of root.querySelectorAll("time[datetime]:not(.yours)")) {
    const at = new Date(time.dateTime);
    time.title = exact.format(at);
    const text = pressed.has(time.dateTime) || time === document.activeElement ? time.title : wording(at);
    if (time.textContent !== text) {
      time.textContent = text;
    }
  }
}

// Returns a duration as the server words it.
function duration(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [minutes, hours, days] = [60, 3_600, 86_400].map((unit) => Math.floor(seconds / unit));
  const two = (number) => String(number).padStart(2, "0");
  if (seconds < 60) {
    return `${seconds}.${Math.floor(Math.max(0, milliseconds) / 100) % 10}s`;
  }
  return days ? `${days}d ${two(hours % 24)}h` : hours ? `${hours}h ${two(minutes % 60)}m` : `${minutes}m ${two(seconds % 60)}s`;
}

// Lets the durations go on of what goes on.
function tick(root) {
  for (const time of root.querySelectorAll("wf-time[data-since]")) {
    time.textContent = duration(Date.now() - Date.parse(time.dataset.since) - Number(time.dataset.idle));
  }
}

const pressed = new Set();

document.addEventListener("click", (event) => {
  const time = event.target.closest?.("time[datetime]");
  if (time && !time.closest("a, button, summary, label")) {
    pressed.delete(time.dateTime) || pressed.add(time.dateTime);
    showTimes(document);
  }
});
for (const event of ["focusin", "focusout"]) {
  // What has the focus is known once the event is over.
  document.addEventListener(event, ({ target }) => target.matches?.("time[tabindex]") && setTimeout(() => showTimes(document)));
}
showTimes(document);
setInterval(() => document.visibilityState === "visible" && showTimes(document), 10_000);
setInterval(() => {
  if (document.visibilityState === "visible") {
    tick(document);
    document.dispatchEvent(new Event("tick"));
  }
}, 1000);

// `/` leads to the search, as long as no field has the keys.
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.querySelector(".search input")?.focus();
  }
});

// The connection.

const connection = document.getElementById("connection");
const page = document.documentElement;

// Returns the address of something in the workspace of the page.
export const at = (path) => (page.dataset.base ?? "") + path;

let events = null;
let lostAt = 0;

// The version of the log in the latest news.
let latest = null;

// Calls a function with the version of the log at each change. A script that is loaded later hears of the latest one, too: there
// may be no other for long.
export function hearNews(hear) {
  document.addEventListener("news", () => hear(latest));
  if (latest !== null) {
    hear(latest);
  }
}

function pause(seconds) {
  return new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });
}

// Says what is wrong with the connection, with a link that helps; nothing if all is well.
export function say(state, text, help) {
  page.dataset.connection = state;
  connection.textContent = text;
  if (help) {
    const link = document.createElement("a");
    link.href = help.href;
    link.textContent = help.text;
    connection.append(" ", link);
  }
}

export function sayLoginEnded() {
  events?.close();
  events = null;
  say("ended", "This login has ended:", { text: "how to get in", href: location.href });
}

// Says that a page has changed, for one that does not change under its reader. One whose request is answered is shown anew.
export function announceChanges() {
  const main = document.getElementById("main");
  const headers = { "If-None-Match": `"${main.dataset.page}"` };
  const look = async (version) => {
    if (version === main.dataset.log) {
      return;
    }
    const answer = await fetch(location.href, { method: "HEAD", credentials: "same-origin", headers }).catch(() => null);
    if (answer?.status === 401) {
      sayLoginEnded();
    } else if (answer?.ok && main.querySelector("[data-answered]")) {
      location.reload();
    } else if (answer?.ok || answer?.status === 404) {
      document.getElementById("outdated").hidden = false;
    } else if (answer?.status !== 304) {
      // The server has no time for it just now, or is not reached.
      await pause(RETRY_SECONDS);
      look(version);
    }
  };
  hearNews(look);
}

function showLoss() {
  if (lostAt && page.dataset.connection === "lost") {
    connection.textContent = `Reconnecting (since ${Math.round((Date.now() - lostAt) / 1000)} s)`;
    page.toggleAttribute("data-old", Date.now() - lostAt > 10_000);
  }
}

setInterval(showLoss, 1000);

function listen() {
  events = new EventSource(at("/events"));
  events.addEventListener("build", (event) => {
    lostAt = 0;
    page.removeAttribute("data-old");
    if (event.data === page.dataset.build) {
      say("current", "");
    } else {
      say("updated", "The server was updated:", { text: "reload", href: location.href });
    }
  });
  events.addEventListener("log", (event) => {
    latest = event.data;
    document.dispatchEvent(new Event("news"));
  });
  events.addEventListener("error", async () => {
    lostAt ||= Date.now();
    say("lost", "Reconnecting");
    showLoss();
    // A browser goes on by itself after a stream that broke, and not after one that was refused.
    if (events?.readyState !== EventSource.CLOSED) {
      return;
    }
    events = null;
    const answer = await fetch(location.href, { method: "HEAD", credentials: "same-origin" }).catch(() => null);
    if (answer?.status === 401) {
      sayLoginEnded();
    } else {
      await pause(RETRY_SECONDS);
      follow();
    }
  });
}

// Browsers open six connections to a server: a page that nobody sees gives its own back, and learns later what it missed.
function follow() {
  if (document.visibilityState !== "visible") {
    events?.close();
    events = null;
    say("paused", "Paused: page in background");
  } else if (!events && page.dataset.connection !== "ended") {
    listen();
  }
}

addEventListener("pagehide", () => {
  events?.close();
  events = null;
});
addEventListener("pageshow", follow);
document.addEventListener("visibilitychange", follow);
follow();
