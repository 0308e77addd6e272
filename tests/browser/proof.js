// Returns what is wrong with the page as it is shown, each as a sentence. `width` is that of the window, `axeOptions` what axe
// looks for.
const found = [];
const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
const named = (element) => element.outerHTML.slice(0, 120);

const wide = document.documentElement.scrollWidth - width;
if (wide > 0) {
  found.push(`it is ${wide} pixels wider than the window`);
}
const titles = document.querySelectorAll("h1").length;
if (titles !== 1) {
  found.push(`it has ${titles} titles`);
}

// On a phone, what a person presses to do something is as large as a finger.
const least = width < 640 ? 44 : 24;
for (const target of document.querySelectorAll("button, .button, summary, select, .rail a, .tabs a, input:not([type=hidden], [type=checkbox], [type=radio])")) {
  const height = target.getBoundingClientRect().height;
  if (shown(target) && !target.closest(".unseen") && height < least - 0.5) {
    found.push(`${Math.round(height)} pixels are not ${least}: ${named(target)}`);
  }
}

// No word is broken, except a long name, and what a program has printed.
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const range = document.createRange();
for (let text = walker.nextNode(); text; text = walker.nextNode()) {
  if (!text.data.trim() || text.parentElement.closest("pre, svg, script, select, textarea") || !shown(text.parentElement)) {
    continue;
  }
  range.selectNodeContents(text);
  if (range.getClientRects().length < 2) {
    continue;
  }
  for (const word of text.data.matchAll(/[\p{L}\p{N}_]+/gu)) {
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    const lines = new Set([...range.getClientRects()].map((rect) => Math.round(rect.top)));
    if (word[0].length <= 24 && lines.size > 1) {
      found.push(`a word is broken: ${word[0]} in ${named(text.parentElement)}`);
    }
  }
}

axe.run(document, axeOptions).then(
  ({ violations }) => done([...found, ...violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}: ${nodes[0].failureSummary}`)]),
  (error) => done([...found, String(error)]),
);
