// Errors while a page is used, handled in the same way everywhere. A form stays as it is until the
// server has accepted it. A retry sends the same token, so the change happens only once. All of
// this needs htmx. Without scripts, the server responds with pages instead.
"use strict";

(function () {
  const say = window.kartei.say;
  const page = document.documentElement;
  const faults = () => document.getElementById("faults");
  const isForm = (element) => element.matches && element.matches("form");

  // --- Forms. htmx also sends forms without htmx attributes, because only a script can keep the
  // page when the form is refused. Some forms are still sent by the browser itself: those for
  // signing in and out, and those with files.
  const native = '[hx-post], [data-native], [target], [enctype^="multipart"]';
  document.addEventListener("submit", function (event) {
    if (!("held" in event.target.dataset)) { return; }
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // whole has the htmx options for a response that replaces the content of the page.
  const whole = { target: "#main", select: "#main", swap: "outerHTML", selectOOB: ".side:outerMorph:.side,#bell:outerMorph:#bell", whole: true };
  // If a page belongs to another organization than the session, a form in the message switches
  // back. Then the refused request is sent again.
  let refused = null; // the refused request, preferably one that a person has started
  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (event.defaultPrevented || !form.matches(".faults form[data-home]")) { return; }
    event.preventDefault();
    htmx.ajax("POST", form.getAttribute("action"), { source: form, event, target: form, swap: "none" });
  });
  document.addEventListener("submit", function (event) {
    const form = event.target, over = form.closest(".over");
    if (event.defaultPrevented || form.getAttribute("method") !== "post" || form.matches(native) || !(over || form.closest("#main:not(.card)"))) { return; }
    event.preventDefault();
    const action = event.submitter && event.submitter.getAttribute("formaction") || form.getAttribute("action");
    htmx.ajax("POST", action, { source: form, event, ...(over ? { target: "#over-body", select: "#main > *", swap: "innerHTML" } : whole) });
  });

  // visit shows the page of a record without a full page load, which is faster. If a form with
  // input would be lost, or if the request fails, the browser loads the page itself. It then asks
  // the person, or shows the error.
  const here = () => location.pathname + location.search;
  window.kartei.visit = function (address) {
    const from = here(), waits = () => lost.some((l) => l.ctx.visit);
    const load = () => { if (here() === from && !waits()) { location.assign(address); } };
    if (address === from || !dispatchEvent(new Event("beforeunload", { cancelable: true }))) {
      location.assign(address);
    } else {
      htmx.ajax("GET", address, { source: document.body, push: "true", visit: true, ...whole }).then(load, load);
    }
  };

  // A line above the page shows that the next page is loading, if this takes longer than soon.
  const soon = 500; // milliseconds
  let coming;
  const isComing = (is) => page.toggleAttribute("data-coming", is);
  function came(event) {
    const ctx = event.detail.ctx;
    if (!ctx || !ctx.whole) { return; }
    clearTimeout(coming);
    isComing(false);
  }
  document.addEventListener("htmx:before:request", function (event) {
    if (!event.detail.ctx.whole) { return; }
    clearTimeout(coming);
    coming = setTimeout(() => isComing(true), soon);
  });
  document.addEventListener("htmx:after:request", came);
  document.addEventListener("htmx:error", came);

  // hold prevents that a form is sent. Its fields keep their values.
  const buttons = (form) => [...form.querySelectorAll('button:not([type="button"])')];
  function hold(form, fully) {
    form.dataset.held = "";
    form.inert = !!fully;
    for (const b of buttons(form)) { b.setAttribute("aria-disabled", "true"); }
  }
  function release(form) {
    delete form.dataset.held;
    form.inert = false;
    for (const b of buttons(form)) { b.removeAttribute("aria-disabled"); }
  }

  // --- Messages above the page, or within the open dialog. Each is shown at most once.
  function show(name, box = faults()) {
    const shown = box && box.querySelector(`[data-fault="${name}"]`);
    if (!box || shown) { return shown; }
    const banner = document.getElementById("fault-" + name).content.firstElementChild.cloneNode(true);
    banner.dataset.fault = name;
    box.append(banner);
    return banner;
  }
  function hide(name) {
    for (const old of document.querySelectorAll(`.faults [data-fault="${name}"]`)) { old.remove(); }
  }

  // --- Countdowns. While a countdown runs, its forms cannot be sent.
  const ends = new WeakMap();
  const left = (n) => n === 1 ? say("%s second", n) : n < 120 ? say("%s seconds", n) : say("%s minutes", Math.ceil(n / 60));
  function count() {
    for (const timer of document.querySelectorAll("[data-countdown]")) {
      if (!ends.has(timer)) {
        ends.set(timer, Date.now() + 1000 * timer.dataset.countdown);
        for (const form of formsOf(timer)) { hold(form); }
      }
      const n = Math.ceil((ends.get(timer) - Date.now()) / 1000);
      if (n > 0) {
        if (timer.textContent !== left(n)) { timer.textContent = left(n); }
        continue;
      }
      const forms = formsOf(timer);
      timer.closest("[data-wait]").textContent = say("You can try again now.");
      for (const form of forms) { release(form); }
    }
  }
  function formsOf(timer) {
    const scope = timer.closest(".over, main");
    return [...(timer.closest("#faults") ? document.querySelectorAll("form[data-held]") : scope.querySelectorAll('form[method="post"]'))];
  }
  setInterval(count, 200);
  count();

  // --- Retries. The request body is stored, so that a retry sends exactly the same body.
  document.addEventListener("htmx:before:request", function (event) {
    const ctx = event.detail.ctx;
    ctx.asked = { target: ctx.target, select: ctx.select, swap: ctx.swap, push: ctx.push, replace: ctx.replace, selectOOB: ctx.selectOOB, whole: ctx.whole, visit: ctx.visit };
    if (ctx.sourceElement.closest(".over, [data-home]")) { ctx.request.headers["Kartei-Over"] = "1"; }
    if (page.dataset.me) { ctx.request.headers["Kartei-Person"] = page.dataset.me; }
  });

  function again(ctx) {
    const body = ctx.request.body, source = ctx.sourceElement.isConnected ? ctx.sourceElement : document.body;
    const fetched = body && { fetch: (address, request) => fetch(address, { ...request, body }) };
    return htmx.ajax(ctx.request.method, ctx.request.action, { source, event: ctx.sourceEvent, tries: ctx.tries, ...ctx.asked, ...fetched });
  }

  // asks reports whether a person waits for the response. This is the case after a click or a
  // submit, but not while the person types.
  const asks = (ctx) => ["submit", "click"].includes(ctx.sourceEvent && ctx.sourceEvent.type);

  // --- The dialog over the page, for signing in again or confirming the sign-in.
  let over, waiting;
  function openOver(ctx) {
    if (!over || !over.isConnected) {
      over = document.getElementById("over").content.firstElementChild.cloneNode(true);
      document.body.append(over);
      over.querySelector(".over-close").addEventListener("click", () => over.close());
      over.addEventListener("close", function () {
        over.querySelector("#over-body").replaceChildren();
        if (waiting && waiting.response.status === 401) { show("out"); }
        waiting = null;
        document.dispatchEvent(new CustomEvent("kartei:over"));
      });
    }
    if (ctx) { waiting = ctx; }
    if (!over.open) { over.showModal(); }
    return over.querySelector("#over-body");
  }

  // signedIn continues after a sign-in in the dialog. If another person has signed in, the form is
  // submitted by the browser, and the server says what happened to the form.
  function signedIn(me) {
    const ctx = waiting;
    waiting = refused = null;
    hide("out");
    for (const way of document.querySelectorAll(".faults [data-home]")) { way.closest(".banner").remove(); }
    if (over) { over.close(); }
    document.dispatchEvent(new CustomEvent("kartei:signed-in"));
    if (me !== page.dataset.me) {
      if (ctx && isForm(ctx.sourceElement)) { HTMLFormElement.prototype.submit.call(ctx.sourceElement); } else { location.reload(); }
    } else if (ctx) {
      again(ctx);
    }
  }
  window.kartei.signedIn = signedIn;
  function ask(address) {
    const body = openOver();
    htmx.ajax("GET", address, { source: body, target: body, select: "#main > *", swap: "innerHTML" });
  }
  window.kartei.signIn = () => ask("/signin?over=1");

  // confirm asks the person to confirm the sign-in. It returns a promise of whether this was done.
  window.kartei.confirm = () => new Promise(function (done) {
    const yes = () => done(true);
    document.addEventListener("kartei:signed-in", yes, { once: true });
    document.addEventListener("kartei:over", function () {
      document.removeEventListener("kartei:signed-in", yes);
      done(false);
    }, { once: true });
    ask("/confirm");
  });

  // --- Responses.
  document.addEventListener("htmx:after:request", function (event) {
    const ctx = event.detail.ctx, { status, headers, raw } = ctx.response, source = ctx.sourceElement;
    back(ctx);
    if (waits(ctx)) { ["large", "barred"].forEach(hide); }
    if (headers.has("Kartei-Signed-In")) {
      event.preventDefault();
      if (source.matches("[data-home]")) { waiting = refused; } // the refusal may have come after the click
      signedIn(headers.get("Kartei-Signed-In"));
      return;
    }
    if (headers.has("Kartei-Dialog") && !source.closest(".over")) {
      if (!asks(ctx)) {
        event.preventDefault();
        show("out");
        return;
      }
      ctx.target = openOver(ctx);
      if (status === 401 && ctx.target.querySelector('[action^="/signin"]')) { // the dialog already asks, and keeps what was typed
        event.preventDefault();
        return;
      }
      Object.assign(ctx, { select: "#main > *", swap: "innerHTML", selectOOB: null, push: null, replace: null });
      return;
    }
    if (headers.has("Kartei-Token") && isForm(source)) { source.querySelector('[name="form-token"]').value = headers.get("Kartei-Token"); }
    if (headers.has("Kartei-Elsewhere") && (asks(ctx) || !refused)) { refused = ctx; }
    if (ctx.hx.retarget === "#faults") {
      keep(formOf(ctx));
      const wait = Number(headers.get("Retry-After"));
      if (wait && isForm(source)) { hold(source); }
      ctx.hx.retarget = room(source);
      Object.assign(ctx, { selectOOB: null, push: null, replace: null });
      return;
    }
    if (!ctx.whole) { return; }
    if (!(headers.get("Content-Type") || "").startsWith("text/html")) {
      event.preventDefault();
      sendItself(source, ctx.sourceEvent && ctx.sourceEvent.submitter); // a file: the token is the same, so the change happens only once
    } else if (raw.redirected && otherFrame(ctx.text)) {
      event.preventDefault();
      location.assign(raw.url);
    } else if (raw.redirected) {
      ctx.push = "true";
    }
  });

  // sendItself lets the browser submit a form, with the values of the clicked button.
  function sendItself(form, by) {
    const own = form.getAttribute("action"), field = document.createElement("input");
    field.type = "hidden";
    if (by && by.name) {
      field.name = by.name;
      field.value = by.value;
    }
    form.append(field);
    form.setAttribute("action", by && by.getAttribute("formaction") || own);
    HTMLFormElement.prototype.submit.call(form);
    form.setAttribute("action", own);
    field.remove();
  }

  // room returns the element for messages: in the dialog that contains the source, or else in the
  // page.
  function room(source) {
    const dialog = source.closest("dialog[open]");
    if (!dialog) { return faults(); }
    let box = dialog.querySelector(".faults");
    if (!box) {
      box = document.createElement("div");
      box.className = "faults";
      dialog.prepend(box);
    }
    return box;
  }

  // otherFrame reports whether the response is a page with another frame: another theme, language
  // or person, or no frame at all.
  function otherFrame(text) {
    const tag = /<html[^>]*>/.exec(text), names = ["lang", "data-theme", "data-density", "data-keys", "data-root", "data-me"];
    const has = (name) => { const found = new RegExp(` ${name}(?:="([^"]*)")?[ >]`).exec(tag[0]); return found ? found[1] || "" : null; };
    return !tag || names.some((name) => has(name) !== page.getAttribute(name));
  }

  // If a person goes back twice, the second step races with the reload for the first. If the second
  // step comes after the response and before this script, htmx has missed the event. The page of
  // the first step is then shown at the address of the second, and must be reloaded.
  const loaded = performance.getEntriesByType("navigation")[0];
  if (loaded && loaded.type === "reload" && loaded.redirectCount === 0) {
    const asked = new URL(loaded.name);
    if (asked.pathname + asked.search !== location.pathname + location.search) { location.reload(); }
  }

  // A new page starts at the top. Its title gets the focus, so that a screen reader reads it.
  document.addEventListener("htmx:after:swap", function (event) {
    const ctx = event.detail.ctx, main = document.getElementById("main");
    count();
    if (!navigator.onLine) { show("offline"); }
    if (!ctx.whole || ctx.hx && ctx.hx.retarget) { return; }
    const another = ctx.request.method === "POST" && ctx.response.raw.ok; // the response to a form, such as a secret
    if (ctx.hx.pushurl || ctx.response.raw.redirected || another) { scrollTo(0, 0); }
    if (main.contains(document.activeElement)) { return; }
    const title = main.querySelector("h1") || main;
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  });

  // --- The connection. Without a response from the server, it is unknown whether a change was
  // stored.
  let lost = [];
  const pauses = [1, 2, 4, 8, 15, 30]; // seconds
  const unsure = ["lost", "away", "unread", "offline"]; // messages that are shown while a response is missing
  const isWrite = (ctx) => ctx.request.method === "POST";
  const formOf = (ctx) => isWrite(ctx) ? isForm(ctx.sourceElement) ? ctx.sourceElement : ctx.sourceElement.form : null;
  const waits = (ctx) => asks(ctx) || ctx.visit;
  document.addEventListener("htmx:error", function (event) {
    const ctx = event.detail.ctx;
    if (!ctx || !ctx.request || ctx.text !== undefined || !waits(ctx)) { return; }
    sendLater(ctx, navigator.onLine ? isWrite(ctx) ? "lost" : "unread" : "offline");
  });
  function sendLater(ctx, message) {
    const form = formOf(ctx), tries = ctx.tries || 0;
    if (form) { hold(form, true); }
    keep(form);
    ctx.tries = tries + 1;
    const timer = setTimeout(() => resend(), 1000 * pauses[Math.min(tries, pauses.length - 1)]);
    lost.push({ ctx, timer });
    for (const other of unsure) { if (other !== message) { hide(other); } }
    show(message, room(ctx.sourceElement));
  }
  // keep makes the browser warn before the person leaves the page.
  function keep(form) {
    if (form && form.matches("[data-save]")) { form.dataset.started = ""; }
  }

  // A foreign response is not shown. It is treated like a lost connection, unless a retry would get
  // the same response.
  document.addEventListener("htmx:before:response", function (event) {
    const ctx = event.detail.ctx, { status, headers } = ctx.response;
    if (window.kartei.isOurs(headers)) { return; }
    event.preventDefault();
    came(event);
    if (!waits(ctx)) { return; }
    if (window.kartei.isBarred(status)) { stop(ctx, status); } else { sendLater(ctx, isWrite(ctx) ? "away" : "unread"); }
  });
  function stop(ctx, status) {
    back(ctx);
    keep(formOf(ctx));
    const banner = show(status === 413 ? "large" : "barred", room(ctx.sourceElement)), said = banner && banner.querySelector("[data-status]");
    if (said) { said.textContent = status; }
  }
  function resend() {
    const all = lost;
    lost = [];
    for (const l of all) {
      clearTimeout(l.timer);
      again(l.ctx);
    }
  }
  // back removes the messages about a lost connection after a response has arrived.
  function back(ctx) {
    if (!ctx.tries) { return; }
    const form = formOf(ctx);
    if (form) {
      release(form);
      delete form.dataset.started;
    }
    unsure.forEach(hide);
  }
  addEventListener("offline", () => show("offline"));
  addEventListener("online", function () {
    hide("offline");
    resend();
  });
  if (!navigator.onLine) { show("offline"); }

  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-again]")) { resend(); }
    if (event.target.closest("[data-sign-in]")) { window.kartei.signIn(); }
    const link = event.target.closest(".over a[href]");
    if (link) { link.target = "_blank"; } // the page with the typed text stays open
  });
})();
