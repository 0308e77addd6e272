// Shows the output of attempts that run as it comes: follows its end, unless the reader scrolled away from it.
"use strict";

// The most characters that a page holds of a log; the link below it leads to the whole.
const MOST = 1 << 19;

function show(log, text, className) {
  const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const part = document.createElement("span");
  part.className = className;
  part.textContent = text;
  log.append(part);
  let size = log.textContent.length;
  while (size > MOST && log.childNodes.length > 1) {
    size -= log.firstChild.textContent.length;
    log.firstChild.remove();
  }
  if (follows) {
    log.scrollTop = log.scrollHeight;
  }
}

function follow(log) {
  let rest = "";
  let begun = false;
  const source = new EventSource(log.dataset.output);
  const hear = (event) => {
    if (!begun) {
      log.replaceChildren();
      begun = true;
    }
    if (event.type === "rest") {
      rest = "rest";
    }
    show(log, JSON.parse(event.data), rest);
  };
  // What follows an omission is sent again to who was away.
  source.addEventListener("open", () => {
    log.querySelectorAll(".rest").forEach((one) => one.remove());
    rest = "";
  });
  source.addEventListener("part", hear);
  source.addEventListener("rest", hear);
  source.addEventListener("end", () => { source.hasEnded = true; source.close(); });
  // A browser goes on by itself after a stream that broke, and not after one that was refused.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED && !source.hasEnded && open.get(log) === source) {
      open.delete(log);
      setTimeout(update, 5000);
    }
  });
  return source;
}

// Browsers open six connections to a server: a page that nobody sees gives its own back.
const open = new Map();

function update() {
  const seen = document.visibilityState === "visible";
  for (const [log, source] of open) {
    if (!seen || !log.isConnected) {
      source.close();
      open.delete(log);
    }
  }
  for (const log of document.querySelectorAll("[data-output]")) {
    if (seen && !open.has(log)) {
      open.set(log, follow(log));
    }
  }
}

addEventListener("pagehide", () => { open.forEach((source) => source.close()); open.clear(); });
addEventListener("pageshow", update);
document.addEventListener("visibilitychange", update);
document.addEventListener("replaced", update);
update();
