// Notes say what a change did, and offer to undo it. They are part of the page's content, so they
// also work without scripts. This script moves them to the corner. They disappear after 10 s, but
// not while they contain the pointer or the focus. The tab keeps a log of notes, which the page of
// notifications shows. The log is kept after the page, so it must not contain data from records:
// data-log has the text for the log.
"use strict";

(function () {
  const leaves = 10000, most = 50, key = "kartei-notes";
  const known = new WeakSet();

  function watch(box) {
    if (known.has(box)) { return; }
    known.add(box);
    let timer = 0;
    const stay = () => clearTimeout(timer), start = () => {
      stay();
      timer = setTimeout(() => box.matches(":hover, :focus-within") ? start() : box.remove(), leaves);
    };
    for (const [name, act] of [["mouseenter", stay], ["focusin", stay], ["mouseleave", start], ["focusout", start]]) { box.addEventListener(name, act); }
    start();
    keep(box);
  }

  function read() {
    try { return JSON.parse(sessionStorage.getItem(key)) || []; } catch { return []; }
  }
  function keep(box) {
    if (!box.dataset.log) { return; }
    const link = box.querySelector("a[href]"), form = box.querySelector("form");
    const to = link ? link.getAttribute("href") : form ? form.getAttribute("action") : "";
    sessionStorage.setItem(key, JSON.stringify([...read(), { at: Date.now(), text: box.dataset.log, to }].slice(-most)));
    list();
  }

  // list shows the log on the page of notifications.
  function list() {
    const section = document.querySelector("[data-notes]"), all = read();
    if (!section || all.length === 0) { return; }
    const clock = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", timeZone: section.dataset.zone || undefined });
    section.querySelector("ul").replaceChildren(...all.reverse().map(function (n) {
      const line = document.createElement("li"), text = document.createElement(n.to ? "a" : "span"), at = document.createElement("time");
      text.textContent = n.text;
      if (n.to) { text.href = n.to; }
      at.dateTime = new Date(n.at).toISOString();
      at.textContent = clock.format(n.at);
      line.append(text, at);
      return line;
    }));
    section.hidden = false;
  }

  function move() {
    const toasts = document.getElementById("toasts");
    if (!toasts) { return; }
    for (const box of document.querySelectorAll("[data-said]")) {
      toasts.append(...box.children);
      box.remove();
    }
    for (const box of toasts.children) { watch(box); }
  }
  move();
  list();
  new MutationObserver(move).observe(document.body, { childList: true, subtree: true });
  document.addEventListener("htmx:after:swap", list);
})();
