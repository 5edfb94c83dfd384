// The viewer shows the pages of a document one below the other. Each page is loaded when it comes
// close to the visible area. The server renders one page with its matches. The other pages have
// placeholders of the same size from the start, so nothing moves. The keys n and p go from match to
// match.
"use strict";

(function () {
  const { say, toast } = window.kartei;
  const most = 2000; // maximum number of pages with placeholders; in longer documents, links lead to the other pages
  const svg = "http://www.w3.org/2000/svg";

  function room(box, n) {
    const sheet = document.createElement("figure"), space = document.createElementNS(svg, "svg");
    sheet.className = "sheet waiting";
    sheet.id = "page-" + n;
    sheet.dataset.page = n;
    space.setAttribute("viewBox", `0 0 ${box.dataset.width} ${box.dataset.height}`);
    space.setAttribute("width", box.dataset.width);
    space.setAttribute("height", box.dataset.height);
    space.setAttribute("aria-hidden", "true");
    sheet.append(space);
    return sheet;
  }

  // centre scrolls an element into the middle of the visible part of its box. The page around the
  // box does not scroll, so that the name of the document stays visible.
  function centre(box, place) {
    const from = place.getBoundingClientRect(), to = box.getBoundingClientRect();
    const seen = Math.min(to.bottom, innerHeight) - to.top, height = seen > 100 ? seen : to.height;
    box.scrollBy({ top: from.top - to.top - (height - from.height) / 2, left: from.left < to.left || from.right > to.right ? from.left - to.left - 40 : 0 });
  }

  function open(box) {
    if (box.dataset.open) { return; }
    box.dataset.open = "1";
    const pages = Number(box.dataset.pages), bar = box.parentElement.querySelector(".viewer-bar");
    const found = box.dataset.found.split(" ").filter(Boolean).map((f) => f.split(":").map(Number));
    let at = Number(box.dataset.page), hit = Number(box.dataset.hit);
    const sheetOf = (n) => box.querySelector(`[data-page="${n}"]`);

    // watch loads the image of a page again if this fails, since the server may be busy.
    function watch(sheet) {
      const img = sheet.querySelector("img");
      let tries = 0;
      if (!img) { return; }
      sheet.classList.toggle("loading", !img.complete);
      img.addEventListener("load", () => sheet.classList.remove("loading", "failed"));
      img.addEventListener("error", function () {
        if (++tries > 30) { sheet.classList.add("failed"); return; }
        setTimeout(() => { const from = img.src; img.srcset = ""; img.src = ""; img.src = from; }, Math.min(2000 * tries, 10000));
      });
    }
    // load loads a page that still has a placeholder. Parallel calls for the same page share one
    // request.
    const asked = new Map();
    function load(n) {
      if (!sheetOf(n) || !sheetOf(n).matches(".waiting")) { return Promise.resolve(); }
      if (!asked.has(n)) { asked.set(n, ask(n).finally(() => asked.delete(n))); }
      return asked.get(n);
    }
    function ask(n) {
      const sheet = sheetOf(n);
      return window.htmx.ajax("GET", box.dataset.sheets + n + box.dataset.query, { source: sheet, target: sheet, swap: "outerHTML" }).then(function () {
        const now = sheetOf(n);
        if (!now || now === sheet) { return; }
        if (now.dataset.again) {
          now.classList.add("waiting");
          setTimeout(() => load(n), 1000 * Number(now.dataset.again));
        }
        watch(now);
        near.observe(now);
        seen.observe(now);
      }, () => {});
    }
    const near = new IntersectionObserver((list) => list.forEach((e) => e.isIntersecting && load(Number(e.target.dataset.page))), { root: box, rootMargin: "100% 0px" });
    const shown = bar.querySelector("[data-page-now]");
    const seen = new IntersectionObserver(function (list) {
      for (const e of list) { if (e.isIntersecting) { at = Number(e.target.dataset.page); } }
      if (shown) { shown.textContent = at.toLocaleString(document.documentElement.lang); }
    }, { root: box, rootMargin: "-45% 0px -45% 0px" });

    const here = sheetOf(at);
    if (here && pages <= most) {
      for (let n = 1; n <= pages; n++) {
        if (n !== at) { if (n < at) { here.before(room(box, n)); } else { box.append(room(box, n)); } }
      }
      watch(here);
      leaf(here);
      for (const sheet of box.querySelectorAll("[data-page]")) { near.observe(sheet); seen.observe(sheet); }
      if (here.dataset.again) { here.classList.add("waiting"); setTimeout(() => load(at), 1000 * Number(here.dataset.again)); }
    }

    // leaf scrolls the top of a page to the top of the box. The page around the box does not
    // scroll.
    function leaf(sheet) { box.scrollTop += sheet.getBoundingClientRect().top - box.getBoundingClientRect().top - 12; }

    // show scrolls a match into the middle of the box. It also scrolls the box into view, since the
    // box may be outside the window on a phone.
    function show(place) {
      box.scrollIntoView({ block: "nearest" });
      centre(box, place);
    }
    function mark(scroll = centre.bind(null, box)) {
      for (const old of box.querySelectorAll(".now")) { old.classList.remove("now"); }
      const place = sheetOf(at) && sheetOf(at).querySelector(`[data-hit="${hit}"]`);
      if (!place) { return false; }
      place.classList.add("now");
      scroll(place);
      const before = found.reduce((sum, [n, hits]) => n < at ? sum + hits : sum, 0), counter = bar.querySelector("[data-hit-now]");
      if (counter) { counter.textContent = (before + hit).toLocaleString(document.documentElement.lang); }
      return true;
    }
    // After a search in the document, the box gets the focus, unless the browser has focused
    // another element in the first frame (autofocus). This does not scroll the page.
    if (box.dataset.found) { requestAnimationFrame(() => { if (document.activeElement === document.body) { box.focus({ preventScroll: true }); } }); }
    // The scroll to the match waits for the next frame. Chromium counts a scroll in the frame that
    // inserts the other pages as a layout shift.
    if (hit) { requestAnimationFrame(() => requestAnimationFrame(() => mark())); }

    // step goes to the next match, or to the previous one. The first match follows the last.
    async function step(by) {
      const index = found.findIndex(([n]) => n === current.page);
      let [page, hits] = found[index] || [0, 0], next = current.hit + by;
      if (index < 0 || next < 1 || next > hits) {
        const to = found[((index < 0 ? (by > 0 ? -1 : 0) : index) + by + found.length) % found.length];
        [page, hits] = to;
        next = by > 0 ? 1 : hits;
      }
      const place = sheetOf(page);
      if (!place) { return; }
      current = { page, hit: next };
      if (place.matches(".waiting")) { show(place); await load(page); }
      at = page;
      const drawn = Number(sheetOf(page).dataset.hits || 0);
      hit = current.hit = Math.min(next, drawn) || 1;
      mark(show);
    }
    let current = { page: at, hit }, turn = Promise.resolve();
    // If a page was busy, its match is marked when the page arrives.
    document.addEventListener("htmx:after:swap", () => { if (hit && box.isConnected && !box.querySelector(".now")) { mark(); } });
    bar.addEventListener("click", function (event) {
      const link = event.target.closest("[data-step], [data-leaf]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || pages > most) { return; }
      if (link.dataset.step && found.length) {
        event.preventDefault();
        turn = turn.then(() => step(Number(link.dataset.step)));
      } else if (link.dataset.leaf) {
        const to = sheetOf(at + Number(link.dataset.leaf));
        event.preventDefault();
        if (to) { leaf(to); }
      }
    });
    // printAll loads all pages in sequence and then prints. If a page is busy, it is requested
    // again.
    const paper = bar.querySelector("[data-print-sheets]");
    async function printAll() {
      paper.disabled = true;
      if (pages > 1) { toast(say("The pages are being loaded for printing …")); }
      for (let n = 1; n <= pages && box.isConnected; n++) {
        for (let tries = 0; tries < 60; tries++) {
          await load(n);
          if (!sheetOf(n).matches(".waiting")) { break; }
          await new Promise((again) => setTimeout(again, 500));
        }
        await sheetOf(n).querySelector("img")?.decode().catch(() => {});
      }
      paper.disabled = false;
      if (box.isConnected) { print(); }
    }
    if (paper) { paper.addEventListener("click", printAll); }
    box.setAttribute("aria-label", say("Pages, scroll with the arrow keys"));
  }

  // openText scrolls to the match in a text, unless the address has a fragment.
  function openText(box) {
    const place = box.querySelector("mark.now");
    if (box.dataset.open || !place || location.hash) { return; }
    box.dataset.open = "1";
    centre(box, place);
  }

  const all = function () {
    document.querySelectorAll(".sheets[data-sheets]").forEach(open);
    document.querySelectorAll(".document-text").forEach(openText);
  };
  all();
  document.addEventListener("htmx:after:swap", all);
})();
