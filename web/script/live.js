// Pages that refresh when other people change records. One tab of the browser has the stream of
// events. Web Locks select this tab, and it forwards the events to the other tabs. An event
// contains only the names of families. If a page shows one of them, it loads its own content and
// replaces only what differs. An open form is never replaced: a note above the form says who
// changed what.
"use strict";

(function () {
  const page = document.documentElement, root = page.dataset.root || "";
  if (!page.dataset.me || !window.EventSource || !navigator.locks || !window.BroadcastChannel) { return; }
  const name = "kartei-live" + root + "-" + page.dataset.me;
  const apart = 2000, jitter = 1000, marked = 1000, slowest = 60000, underway = 3000; // ms
  const channel = new BroadcastChannel(name), everything = "*";
  channel.addEventListener("message", (event) => heard(event.data));
  function tell(families) {
    channel.postMessage(families);
    heard(families);
  }

  // --- The stream.
  let source, gap = false, pause = 1000, retry = 0;
  function connect() {
    clearTimeout(retry);
    source = new EventSource(root + "/live");
    source.addEventListener("open", function () {
      page.dataset.leads = "";
      pause = 1000;
      if (gap) { tell(everything); }
      gap = false;
    });
    source.addEventListener("message", (event) => tell(event.data));
    source.addEventListener("error", function () {
      if (source.readyState !== EventSource.CLOSED) { // the browser reconnects by itself
        gap = true;
        return;
      }
      if (!gap) { tell(everything); } // if the session has ended, the refreshed page says why
      gap = true;
      retry = setTimeout(connect, pause * (1 + Math.random()));
      pause = Math.min(2 * pause, slowest);
    });
  }
  navigator.locks.request(name, { ifAvailable: true }, function (lock) {
    if (lock) { return lead(); }
    navigator.locks.request(name, function () { // the tab that had the stream is closed
      gap = true;
      return lead();
    });
  });
  function lead() {
    connect();
    return new Promise(() => {});
  }
  document.addEventListener("kartei:signed-in", function () {
    if (source && source.readyState === EventSource.CLOSED) { connect(); }
  });

  // --- The page.
  const main = () => document.getElementById("main");
  let due = false, timer = 0, last = 0, tag = "", tagged = "";
  function heard(families) {
    const shows = main().dataset.live;
    if (!shows || families !== everything && !families.split(" ").some((f) => shows.split(" ").includes(f))) { return; }
    due = true;
    plan(Math.max(0, last + apart - Date.now()) + Math.random() * jitter);
  }
  function plan(wait) {
    if (!timer) { timer = setTimeout(look, wait); }
  }
  document.addEventListener("visibilitychange", () => { if (due) { plan(0); } });
  // The processing of an upload changes no record, so the page polls.
  setInterval(() => { if (main().querySelector("[data-underway]")) { heard(everything); } }, underway);

  function look() {
    timer = 0;
    if (!due || document.hidden || document.querySelector(".faults [data-home]")) { return; }
    if (!main().dataset.live) { // the response to a form has replaced the content that was due for a refresh
      due = false;
      return;
    }
    const form = main().querySelector("form[data-save], form.inline");
    if (form) {
      due = false;
      news(form);
    } else if (busy()) {
      plan(apart);
    } else {
      refresh();
    }
  }

  // busy reports whether a person is using the page, so that nothing may move.
  function busy() {
    const field = "input, textarea, select", within = main(), chosen = getSelection();
    return document.querySelector("dialog[open], #main :popover-open, #main .htmx-request, #main [data-held]") ||
      [...within.querySelectorAll(".saved")].some((mark) => mark.checkVisibility({ visibilityProperty: true })) ||
      within.contains(document.activeElement) && document.activeElement.matches(field) ||
      !chosen.isCollapsed && within.contains(chosen.anchorNode) || [...within.querySelectorAll(field)].some(touched);
  }
  function touched(field) {
    if (field.type === "hidden") { return false; }
    if (field.matches("select")) { return [...field.options].some((o) => o.defaultSelected) && !field.options[field.selectedIndex].defaultSelected; }
    return ["checkbox", "radio"].includes(field.type) ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  }

  function refresh() {
    const at = location.pathname + location.search, headers = { "Kartei-Live": "1" };
    if (tag && tagged === at) { headers["If-None-Match"] = tag; }
    due = false;
    last = Date.now();
    htmx.ajax("GET", at, { source: main(), target: main(), select: "#main", swap: "outerMorph", headers, live: at, before: content() });
  }
  document.addEventListener("htmx:before:response", function (event) {
    const ctx = event.detail.ctx, status = ctx.response.status;
    if (!ctx.live) { return; }
    if (status === 429 || status >= 500 || !window.kartei.isOurs(ctx.response.headers)) { // no person waits for it, so it is repeated later
      event.preventDefault();
      due = true;
      plan(1000 * (ctx.response.headers.get("Retry-After") || 30));
    } else if (ctx.live !== location.pathname + location.search || !ctx.news && (busy() || !main().dataset.live)) { // the person has meanwhile opened another page or started to use this one
      event.preventDefault();
      due = true;
      plan(apart);
    } else if (!ctx.news) {
      tag = ctx.response.headers.get("ETag") || "";
      tagged = ctx.live;
    }
  });

  // --- Changed elements are marked for a moment.
  const words = (element) => {
    const copy = element.cloneNode(true);
    for (const t of copy.querySelectorAll("time")) { t.textContent = t.dateTime; }
    for (const mark of copy.querySelectorAll(".saved")) { mark.remove(); }
    return copy.textContent;
  };
  function content() {
    const all = new Map();
    for (const e of main().querySelectorAll("tbody tr, .rows li, .facts > div")) {
      const link = e.querySelector("a[href]");
      all.set(e.id || link && link.pathname, [words(e), e]);
    }
    return all;
  }
  document.addEventListener("htmx:after:swap", function (event) {
    const ctx = event.detail.ctx;
    if (!ctx.before || ctx.response.status !== 200) { return; }
    for (const [key, [text, element]] of content()) {
      const was = ctx.before.get(key);
      if (was && was[0] === text) { continue; }
      element.classList.add("changed");
      setTimeout(() => element.classList.remove("changed"), marked);
    }
    document.dispatchEvent(new CustomEvent("kartei:refreshed"));
  });

  // --- Notes for a person with an open form.
  function news(form) {
    const id = /(con|cmp|tsk|doc)_[^/?]+/.exec(form.getAttribute("action")), revision = form.querySelector('[name="revision"]');
    if (!id || !revision) { return; }
    let box = form.querySelector(".news");
    if (!box) {
      box = document.createElement("div");
      box.className = "news";
      form.prepend(box);
    }
    last = Date.now();
    const live = location.pathname + location.search;
    htmx.ajax("GET", `${root}/news/${id[0]}?since=${revision.value}`, { source: box, target: box, select: ".banner", swap: "innerHTML", headers: { "Kartei-Live": "1" }, live, news: true });
  }
})();
