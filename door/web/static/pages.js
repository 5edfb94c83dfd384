// What the pages can do besides, where scripts run: copy code, remember the
// language of the samples, and mark the heading that is being read. Everything
// is there to be read without it.
"use strict";

(function () {
  const german = document.documentElement.lang === "de";
  const say = german ? { copy: "Kopieren", copied: "Kopiert", failed: "Nicht kopiert" } : { copy: "Copy", copied: "Copied", failed: "Not copied" };

  // A browser gives the clipboard to pages that came over TLS or from this
  // machine. For the others the text is selected, to be copied by hand.
  async function copy(pre) {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(pre.textContent.replace(/\n$/, ""));
      return;
    }
    getSelection().selectAllChildren(pre);
    if (!document.execCommand("copy")) { throw new Error("not copied"); }
    getSelection().removeAllRanges();
  }

  for (const block of document.querySelectorAll(".code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.lang = german ? "de" : "en";
    button.textContent = say.copy;
    button.addEventListener("click", function () {
      copy(block.querySelector("pre")).then(() => say.copied, () => say.failed).then(function (said) {
        button.textContent = said;
        button.setAttribute("aria-live", "polite");
        setTimeout(function () { button.textContent = say.copy; }, 2000);
      });
    });
    block.append(button);
  }

  // The language of the samples is the reader's, on every page.
  const chosen = "sample-language";
  const tabs = document.querySelectorAll(".tablist input");
  try {
    for (const tab of tabs) {
      tab.checked = tab.checked || tab.value === localStorage.getItem(chosen);
      tab.addEventListener("change", function () { localStorage.setItem(chosen, tab.value); });
    }
  } catch { /* a browser that stores nothing shows the first */ }

  // A browser that cannot open the contents by style has them opened here.
  if (matchMedia("(min-width: 64rem)").matches && !CSS.supports("selector(::details-content)")) {
    for (const contents of document.querySelectorAll(".side > details")) { contents.open = true; }
  }

  // In the guide the contents mark what is on the screen.
  const links = new Map();
  for (const link of document.querySelectorAll(".article .side a")) { links.set(decodeURIComponent(link.hash.slice(1)), link); }
  if (links.size === 0) { return; }
  const headings = [...document.querySelectorAll("article :is(h2, h3)")].filter((heading) => links.has(heading.id));
  let current;
  function mark() {
    let last = headings[0];
    for (const heading of headings) {
      if (heading.getBoundingClientRect().top < 120) { last = heading; }
    }
    const link = last && links.get(last.id);
    if (!link || link === current) { return; }
    if (current) { current.removeAttribute("aria-current"); }
    link.setAttribute("aria-current", "location");
    current = link;
    const side = link.closest(".side");
    if (side.scrollHeight > side.clientHeight) { // its own scrolling only, never the page's
      side.scrollTop += link.getBoundingClientRect().top - side.getBoundingClientRect().top - side.clientHeight / 3;
    }
  }
  let waiting = false;
  addEventListener("scroll", function () {
    if (waiting) { return; }
    waiting = true;
    requestAnimationFrame(function () { waiting = false; mark(); });
  }, { passive: true });
  mark();
})();
