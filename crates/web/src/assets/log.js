// Shows the output of an attempt, however long: asks for the lines around those that are seen, searches on the server, and
// follows the end while the attempt runs, unless the reader looks elsewhere.
import { hearNews, sayLoginEnded } from "/page.js";

const LINE_HEIGHT = 20;
const PART = 300;
// The most lines that a page holds, and the most pixels that it is tall: browsers draw no more.
const MOST_LINES = 1500;
const MOST_PIXELS = 8_000_000;
// The distance to the end of what is there at which more is asked for, in pixels.
const NEAR = 800;
const NEWS_MILLISECONDS = 150;
const SETTLING_MILLISECONDS = 1200;
const ASKING_MILLISECONDS = 2000;
const RETRY_SECONDS = 5;
const ERRORS = "error|fail|panic|exception";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Returns the time of a line of a clock, or since a start; nothing if it is not known.
function timeOf(line, times, started) {
  if (!line.at) {
    return "";
  }
  const at = new Date(line.at);
  const two = (number) => String(number).padStart(2, "0");
  const tenth = Math.floor(at.getMilliseconds() / 100);
  if (times === "clock") {
    return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${tenth}`;
  }
  const tenths = Math.max(0, Math.floor((at - new Date(started ?? at)) / 100));
  const minutes = Math.floor(tenths / 600);
  const hours = minutes < 60 ? "" : `${Math.floor(minutes / 60)}:`;
  return `${hours}${two(minutes % 60)}:${two(Math.floor(tenths / 10) % 60)}.${tenths % 10}`;
}

// Divides a line by its styles, and by what was found in it.
function parts(line, hit) {
  const cuts = new Set([0, line.text.length]);
  const spans = [...line.spans];
  const found = hit && hit.at !== null ? { from: hit.at, to: Math.min(hit.at + hit.length, line.text.length) } : null;
  for (const { from, to } of found ? [...spans, found] : spans) {
    cuts.add(from).add(to);
  }
  const places = [...cuts].sort((one, other) => one - other);
  return places.slice(1).map((to, at) => {
    const from = places[at];
    const isIn = (span) => span.from <= from && to <= span.to;
    const text = line.text.slice(from, to);
    const style = spans.find(isIn)?.style;
    const part = style ? element("span", { class: style }, text) : document.createTextNode(text);
    return found && isIn(found) ? element("mark", {}, part) : part;
  });
}

class LogView extends HTMLElement {
  connectedCallback() {
    if (!this.isBuilt) {
      this.isBuilt = true;
      // The output of an attempt, or of a run as far as one step or all have written it.
      const { attempt, only } = this.dataset;
      this.subject = attempt ? { attempt } : { step: only };
      this.named = attempt ? `Output of attempt ${attempt}` : "Output of the run";
      this.log = `${this.dataset.step}/log`;
      [this.first, this.total, this.size, this.unit] = [1, 0, 0, LINE_HEIGHT];
      [this.hits, this.hasMoreHits, this.current] = [[], false, -1];
      this.times = this.dataset.times ?? "hidden";
      this.tasks = new Map();
      this.start();
    }
  }

  get last() {
    return this.first + this.body.childElementCount - 1;
  }

  get runs() {
    return this.dataset.output !== undefined || this.dataset.news !== undefined;
  }

  // Shows the lines of the server in place of the plain ones, once some have come.
  async start() {
    this.build();
    const wanted = this.chosenInAddress();
    const from = wanted ? Math.max(1, wanted.from - PART / 3) : Number(this.dataset.from ?? 0);
    const answer = await this.ask("lines", from ? { from, count: PART } : { count: PART });
    if (!answer) {
      return;
    }
    this.replaceChildren(this.bar, this.pill, this.pane, this.links);
    this.dataset.live = "";
    this.follows = this.runs && !wanted;
    this.show(answer);
    this.seen = this.total;
    this.bar.hidden = this.total < 15 && !this.runs;
    if (wanted) {
      this.choose(wanted.from, wanted.to);
      this.goTo(wanted.from, 3);
    } else if (this.dataset.from) {
      this.goTo(Number(this.dataset.from));
    } else {
      this.pane.scrollTop = this.pane.scrollHeight;
    }
    this.pane.addEventListener("scroll", () => this.scrolled());
    if (this.dataset.text) {
      this.field.value = this.dataset.text;
      this.regex.checked = this.dataset.regex !== undefined;
      this.due("find", () => this.find(1));
    }
    this.scrolled();
    update();
  }

  build() {
    const button = (text, act, attributes = {}) => {
      const made = element("button", { type: "button", ...attributes }, text);
      made.addEventListener("click", act);
      return made;
    };
    this.field = element("input", { type: "search", "aria-label": "Search in the output", placeholder: "Search" });
    this.regex = element("input", { type: "checkbox" });
    this.said = element("output", {});
    const search = element("form", { class: "log-search", role: "search", "aria-label": this.named }, this.field,
      element("label", {}, this.regex, " Regular expression"),
      button("Previous", () => this.due("find", () => this.find(-1))), element("button", {}, "Next"), this.said);
    search.addEventListener("submit", (event) => {
      event.preventDefault();
      this.due("find", () => this.find(1));
    });
    const wraps = matchMedia("(max-width: 640px)").matches;
    const wrap = button("Wrap", () => this.keepPlace(() => {
      wrap.setAttribute("aria-pressed", this.pane.toggleAttribute("data-wrap"));
    }), { "aria-pressed": wraps });
    this.follower = button("Follow", () => {
      [this.isHeld, this.follows] = [this.follows, !this.follows];
      this.follows ? this.due("end", () => this.toEnd()) : this.layOut();
    });
    this.choice = element("select", { "aria-label": "Times" }, ...[["hidden", "No times"], ["elapsed", "Since the start"], ["clock", "Clock"]]
      .map(([value, words]) => element("option", { value, ...(value === this.times ? { selected: "" } : {}) }, words)));
    this.choice.addEventListener("change", () => {
      this.times = this.choice.value;
      this.keepPlace(() => this.showHits());
    });
    this.bar = element("div", { class: "log-bar" }, search,
      button("First error", () => this.due("find", () => this.findError())), this.follower, this.choice, wrap);
    if (this.subject.attempt) {
      this.bar.append(element("a", { href: `${this.log}.txt?attempt=${this.subject.attempt}`, download: "" }, "Download"));
    }
    this.pill = button("", () => this.due("end", () => this.toEnd()), { class: "log-new" });
    this.pill.hidden = true;
    this.before = element("span", { class: "before" });
    this.body = element("span", { class: "rows" });
    this.after = element("span", { class: "after" });
    this.pane = element("pre", { class: "log", tabindex: 0, "aria-label": this.named },
      this.before, this.body, this.after);
    this.pane.toggleAttribute("data-wrap", wraps);
    this.pane.addEventListener("click", (event) => this.clicked(event));
    this.counted = element("span", {});
    this.links = element("p", { class: "dim" }, this.counted);
    if (this.dataset.tall === undefined) {
      this.links.append(" · ", element("a", { href: `${this.dataset.step}/output?attempt=${this.subject.attempt}` }, "On a page of its own"));
    }
    // The policy of pages permits no style within: the heights are rules of a sheet of their own.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`#${this.id} .before { height: 0 } #${this.id} .after { height: 0 }`);
    document.adoptedStyleSheets.push(sheet);
    this.heights = [...sheet.cssRules].map((rule) => rule.style);
  }

  // Asks the server; nothing if it does not answer.
  async ask(name, query) {
    const address = `${this.log}/${name}?${new URLSearchParams({ ...this.subject, ...query })}`;
    for (;;) {
      const answer = await fetch(address, { credentials: "same-origin" }).catch(() => null);
      if (answer?.status === 503) {
        const seconds = Number(answer.headers.get("Retry-After")) || 1;
        await new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });
        continue;
      }
      if (answer?.status === 401) {
        sayLoginEnded();
      } else if (answer?.status === 400) {
        this.said.textContent = (await answer.text()).trim();
      } else if (answer?.ok) {
        const found = await answer.json();
        if (found.is_whole && this.dataset.news !== undefined) {
          delete this.dataset.news;
        }
        if (found.total !== undefined) {
          [this.total, this.size, this.started] = [found.total, found.size, found.started];
        }
        return found;
      } else {
        this.said.textContent = "The server does not answer.";
      }
      return null;
    }
  }

  // Does one thing after another; of two with the same name that wait, the later one.
  async due(name, task) {
    this.tasks.set(name, task);
    if (this.isWorking) {
      return;
    }
    this.isWorking = true;
    try {
      while (this.tasks.size) {
        const [next, act] = this.tasks.entries().next().value;
        this.tasks.delete(next);
        await act();
      }
    } finally {
      this.isWorking = false;
    }
  }

  // Lines.

  row(line) {
    const name = `${this.dataset.anchor}${line.n}`;
    const row = element("span", { class: "line", id: name }, element("a", { href: `#${name}` }, line.n));
    if (this.times !== "hidden") {
      row.append(element("span", { class: "at" }, timeOf(line, this.times, this.started)));
    }
    if (line.task) {
      const place = `${this.dataset.step.replace(/[^/]+$/, line.run)}/steps/${encodeURIComponent(line.address)}/output?attempt=${line.attempt}`;
      const href = `${place}&from=${Math.max(1, line.own - 10)}#L${line.own}`;
      row.append(element("a", { class: "task", "data-hue": line.hue, href, title: line.task }, line.task));
    }
    row.append(...parts(line, this.hits.find((hit) => hit.n === line.n)));
    if (line.omitted) {
      row.append(element("i", {}, ` … ${line.omitted} bytes more`));
    }
    row.toggleAttribute("data-chosen", this.isChosen(line.n));
    row.line = line;
    return row;
  }

  // Shows lines in place of those that are there.
  show(answer) {
    this.first = answer.first;
    this.body.replaceChildren(...answer.lines.map((line) => this.row(line)));
    this.layOut();
  }

  layOut() {
    this.unit = Math.min(LINE_HEIGHT, MOST_PIXELS / Math.max(1, this.total));
    this.heights[0].height = `${(this.first - 1) * this.unit}px`;
    this.heights[1].height = `${Math.max(0, this.total - this.last) * this.unit}px`;
    const count = this.total - (this.seen ?? this.total);
    this.follower.hidden = !this.runs;
    this.follower.setAttribute("aria-pressed", Boolean(this.follows));
    this.pill.hidden = this.follows || count <= 0;
    this.pill.textContent = `${count} new line${count === 1 ? "" : "s"}`;
    const words = `${this.total} line${this.total === 1 ? "" : "s"}`;
    this.counted.textContent = this.runs ? `${words} so far` : words;
  }

  // Returns the first line that is seen.
  seenRow() {
    const rows = this.body.children;
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].offsetTop + rows[middle].offsetHeight <= this.pane.scrollTop) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return rows[Math.min(low, rows.length - 1)];
  }

  // Changes something, and leaves the seen lines where they are.
  keepPlace(change) {
    const row = this.seenRow();
    const place = row ? row.offsetTop - this.pane.scrollTop : 0;
    change();
    // The row may have been made anew, and the rows above it may be taller now.
    const same = row?.isConnected ? row : this.body.children[(row?.line.n ?? 0) - this.first];
    if (same) {
      this.pane.scrollTop = same.offsetTop - place;
    }
  }

  // Adds the lines behind those that are there. The last one may have grown.
  add(lines) {
    const fresh = lines.filter((line) => line.n > this.last);
    const grown = lines.find((line) => line.n === this.last);
    if (grown && (grown.text !== this.body.lastElementChild?.line.text || grown.at !== this.body.lastElementChild.line.at)) {
      this.body.lastElementChild.replaceWith(this.row(grown));
    }
    this.body.append(...fresh.map((line) => this.row(line)));
    while (this.body.childElementCount > MOST_LINES) {
      this.body.firstElementChild.remove();
      this.first += 1;
    }
    this.layOut();
  }

  async addBefore() {
    const from = Math.max(1, this.first - PART);
    const answer = await this.ask("lines", { from, count: this.first - from });
    if (answer?.lines.at(-1)?.n !== this.first - 1) {
      return answer && this.show(answer);
    }
    this.keepPlace(() => {
      this.body.prepend(...answer.lines.map((line) => this.row(line)));
      this.first = answer.first;
      while (this.body.childElementCount > MOST_LINES) {
        this.body.lastElementChild.remove();
      }
      this.layOut();
    });
  }

  async addAfter() {
    const answer = await this.ask("lines", { from: Math.max(1, this.last), count: PART });
    if (answer) {
      this.keepPlace(() => this.add(answer.lines));
    }
    if (this.follows) {
      this.pane.scrollTop = this.pane.scrollHeight;
    }
  }

  // Asks for the lines around those that are seen.
  async fill() {
    for (let turn = 0; turn < 20; turn += 1) {
      const [top, height] = [this.pane.scrollTop, this.pane.clientHeight];
      const begin = this.body.offsetTop;
      const end = begin + this.body.offsetHeight;
      if (this.follows && top > end + NEAR) {
        await this.toEnd();
      } else if (top + height < begin - NEAR) {
        await this.goTo(1 + Math.floor(top / this.unit));
      } else if (top > end + NEAR) {
        await this.goTo(Math.min(this.total, this.last + 1 + Math.floor((top - end) / this.unit)));
      } else if (top < begin + NEAR && this.first > 1) {
        await this.addBefore();
      } else if (top + height > end - NEAR && this.last < this.total) {
        await this.addAfter();
      } else {
        return;
      }
    }
  }

  scrolled() {
    const left = this.pane.scrollHeight - this.pane.scrollTop - this.pane.clientHeight;
    const isAtEnd = left < 2 * LINE_HEIGHT;
    if (this.runs) {
      this.follows = isAtEnd && !this.isHeld;
      this.follower.setAttribute("aria-pressed", this.follows);
    }
    if (isAtEnd) {
      this.seen = this.total;
      this.pill.hidden = true;
    }
    this.due("fill", () => this.fill());
  }

  // Shows a line, some part of the height below the top.
  async goTo(number, part = Infinity) {
    if (number < this.first || number > this.last) {
      const answer = await this.ask("lines", { from: Math.max(1, number - PART / 3), count: PART });
      if (!answer) {
        return;
      }
      this.show(answer);
    }
    const row = this.body.children[number - this.first];
    if (row) {
      this.pane.scrollTop = row.offsetTop - this.pane.clientHeight / part;
    }
  }

  async toEnd() {
    const answer = await this.ask("lines", { count: PART });
    if (answer) {
      [this.follows, this.isHeld] = [this.runs, false];
      this.seen = this.total;
      this.show(answer);
      this.pane.scrollTop = this.pane.scrollHeight;
    }
  }

  // Lines in the address.

  chosenInAddress() {
    const found = location.hash.match(new RegExp(`^#${this.dataset.anchor}(\\d+)(?:-L(\\d+))?$`));
    if (!found) {
      return null;
    }
    const [from, to] = [Number(found[1]), Number(found[2] ?? found[1])];
    return { from: Math.min(from, to), to: Math.max(from, to) };
  }

  isChosen(number) {
    return Boolean(this.chosen) && this.chosen.from <= number && number <= this.chosen.to;
  }

  choose(from, to) {
    this.chosen = { from, to };
    for (const row of this.body.children) {
      row.toggleAttribute("data-chosen", this.isChosen(row.line.n));
    }
  }

  chooseInAddress(from, to) {
    const name = `${this.dataset.anchor}${from}${to === from ? "" : `-L${to}`}`;
    history.replaceState(history.state, "", `#${name}`);
    this.choose(from, to);
  }

  clicked(event) {
    const row = event.target.closest(".line > a:first-child")?.parentElement;
    if (!row || event.ctrlKey || event.metaKey) {
      return;
    }
    event.preventDefault();
    const number = row.line.n;
    const begin = event.shiftKey && this.chosen ? this.chosen.from : number;
    this.chooseInAddress(Math.min(begin, number), Math.max(begin, number));
  }

  // Search.

  showHits() {
    this.body.replaceChildren(...[...this.body.children].map((row) => this.row(row.line)));
  }

  // Goes to the next line in which the text is found, or the one before.
  async find(step) {
    const query = { q: this.field.value, ...(this.regex.checked ? { regex: "on" } : {}) };
    const key = JSON.stringify(query);
    if (!query.q) {
      [this.hits, this.searched, this.said.textContent] = [[], "", ""];
      return this.showHits();
    }
    if (key !== this.searched) {
      const found = await this.ask("search", query);
      if (!found) {
        return;
      }
      [this.hits, this.hasMoreHits, this.searched] = [found.hits, found.more, key];
      const top = this.seenRow()?.line.n ?? 1;
      const seen = this.chosen?.from >= top && this.chosen.from < top + this.pane.clientHeight / LINE_HEIGHT ? this.chosen.from : top;
      const next = this.hits.findIndex((hit) => hit.n >= seen);
      this.current = next < 0 ? 0 : next;
    } else if (this.hits.length) {
      this.current += step;
      if (this.current >= this.hits.length && (this.hasMoreHits || this.runs)) {
        const found = await this.ask("search", { ...query, after: this.hits.at(-1).n });
        this.hits.push(...(found?.hits ?? []));
        this.hasMoreHits = found?.more ?? false;
      }
      this.current = (this.current + this.hits.length) % this.hits.length;
    }
    const hit = this.hits[this.current];
    this.showHits();
    if (hit) {
      this.said.textContent = `${this.current + 1} of ${this.hits.length}${this.hasMoreHits ? " or more" : ""}`;
      this.follows = false;
      await this.goTo(hit.n, 3);
      this.chooseInAddress(hit.n, hit.n);
    } else {
      this.said.textContent = "In no line";
    }
  }

  async findError() {
    const found = await this.ask("search", { q: ERRORS, regex: "on", count: 1 });
    const hit = found?.hits[0];
    if (hit) {
      this.said.textContent = `Line ${hit.n}`;
      this.follows = false;
      await this.goTo(hit.n, 3);
      this.chooseInAddress(hit.n, hit.n);
    } else if (found) {
      this.said.textContent = "No line has an error";
    }
  }

  // What comes.

  async takeNews() {
    const answer = await this.ask("lines", { from: Math.max(1, this.last), count: PART });
    if (!answer) {
      return;
    }
    if (!this.follows) {
      return this.layOut();
    }
    if (this.last + PART < this.total) {
      return this.toEnd();
    }
    this.add(answer.lines);
    this.seen = this.total;
    this.pane.scrollTop = this.pane.scrollHeight;
  }

  // Hears of new lines, until the attempt ends.
  listen() {
    const source = new EventSource(`${this.dataset.output}&from=${this.size}`);
    const news = () => {
      this.timer ??= setTimeout(() => {
        this.timer = null;
        this.due("news", () => this.takeNews());
      }, NEWS_MILLISECONDS);
    };
    source.addEventListener("part", news);
    source.addEventListener("rest", news);
    source.addEventListener("end", () => {
      source.hasEnded = true;
      source.close();
      this.due("over", async () => {
        await this.takeNews();
        delete this.dataset.output;
        this.layOut();
      });
    });
    // A browser goes on by itself after a stream that broke, and not after one that was refused.
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED && !source.hasEnded && open.get(this) === source) {
        open.delete(this);
        setTimeout(update, RETRY_SECONDS * 1000);
      }
    });
    return source;
  }
}

// Browsers open six connections to a server: a page that nobody sees gives its own back.
const open = new Map();

function update() {
  const isSeen = document.visibilityState === "visible";
  for (const [view, source] of open) {
    if (!isSeen || !view.isConnected) {
      source.close();
      open.delete(view);
    }
  }
  for (const view of document.querySelectorAll("wf-log[data-live][data-output]")) {
    if (isSeen && !open.has(view)) {
      open.set(view, view.listen());
    }
  }
}

// The output of a run has no stream: the page hears that something has happened. What came in the last moment is there a moment later.
let later = null;
function takeAllNews() {
  for (const view of document.querySelectorAll("wf-log[data-live][data-news]")) {
    view.due("news", () => view.takeNews());
  }
}
hearNews(() => {
  later ??= setTimeout(() => {
    later = null;
    takeAllNews();
  }, SETTLING_MILLISECONDS);
});

// A step that writes is no news: it is asked from time to time.
setInterval(() => {
  if (document.visibilityState === "visible") {
    takeAllNews();
  }
}, ASKING_MILLISECONDS);

addEventListener("pagehide", () => { open.forEach((source) => source.close()); open.clear(); });
addEventListener("pageshow", update);
addEventListener("hashchange", () => {
  for (const view of document.querySelectorAll("wf-log[data-live]")) {
    const wanted = view.chosenInAddress();
    if (wanted) {
      view.follows = false;
      view.choose(wanted.from, wanted.to);
      view.due("address", () => view.goTo(wanted.from, 3));
    }
  }
});
document.addEventListener("visibilitychange", update);
document.addEventListener("replaced", update);
customElements.define("wf-log", LogView);
update();
