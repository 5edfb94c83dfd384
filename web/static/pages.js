// Extras for browsers that run scripts: copy buttons, a remembered language of
// the samples, and a mark at the current heading. The pages are complete without
// it.
"use strict";

(function () {
  const say = (text) => text; // the server has put the reader's language in the place of the English text

  // A browser offers the clipboard only to pages from TLS or from this machine.
  // On other pages the text is selected and copied by the old command.
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
    button.lang = document.documentElement.lang;
    button.textContent = say("Copy");
    button.addEventListener("click", function () {
      copy(block.querySelector("pre")).then(() => say("Copied"), () => say("Not copied")).then(function (said) {
        button.textContent = said;
        button.setAttribute("aria-live", "polite");
        setTimeout(function () { button.textContent = say("Copy"); }, 2000);
      });
    });
    block.append(button);
  }

  // The language that the reader chose for samples applies to every page.
  const chosen = "sample-language";
  const tabs = document.querySelectorAll(".tablist input");
  try {
    for (const tab of tabs) {
      tab.checked = tab.checked || tab.value === localStorage.getItem(chosen);
      tab.addEventListener("change", function () { localStorage.setItem(chosen, tab.value); });
    }
  } catch { /* without storage the first language is shown */ }

  // Some browsers cannot unfold the contents by CSS. The script does it for them.
  if (matchMedia("(min-width: 64rem)").matches && !CSS.supports("selector(::details-content)")) {
    for (const contents of document.querySelectorAll(".side > details")) { contents.open = true; }
  }

  // In articles, the contents mark the section on the screen.
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
