// Lets the timeline of a run go on between two news of the server: what has no end reaches to now, and what has ended makes room.

// The narrowest bar, in percent.
const NARROWEST = 0.25;

// The places in the picture as the server drew it, and when that was seen; nothing until the first tick.
let drawn = null;

function places(timeline) {
  const found = [];
  for (const part of timeline.querySelectorAll("svg [x], svg [x1]")) {
    const [from, to] = part.hasAttribute("x") ? ["x", "width"] : ["x1", "x2"];
    const number = (name) => Number.parseFloat(part.getAttribute(name));
    found.push({ part, from, to, begin: number(from), end: part.hasAttribute(to) ? number(to) : null });
  }
  return found;
}

// Draws the picture as it is some milliseconds later than the server drew it.
function draw(timeline, later) {
  const [length, now] = [Number(timeline.dataset.length), Number(timeline.dataset.now) + later];
  // All of the time grows; a part of it stays, and now moves in it.
  const isPart = timeline.dataset.part !== undefined;
  const scale = isPart ? 1 : length / Math.max(length, now);
  const current = isPart ? Math.min(Math.max(now / length, 0), 1) * 100 : 100;
  for (const { part, from, to, begin, end } of drawn.places) {
    const isNow = part.classList.contains("now");
    const place = isNow ? current : begin * scale;
    part.setAttribute(from, `${place}%`);
    if (end === null) {
      continue;
    }
    const isOpen = part.dataset.open !== undefined || isNow;
    const reach = to === "width" ? Math.max(isOpen ? current - place : end * scale, NARROWEST) : isOpen ? current : end * scale;
    part.setAttribute(to, `${reach}%`);
  }
}

document.addEventListener("tick", () => {
  const timeline = document.querySelector(".timeline[data-now]");
  if (timeline) {
    drawn ??= { at: Date.now(), places: places(timeline) };
    draw(timeline, Date.now() - drawn.at);
  }
});
document.addEventListener("replaced", () => { drawn = null; });
