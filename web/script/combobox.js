// Comboboxes that search while a person types (ARIA 1.2: combobox with a listbox). The server
// returns options for each query, and this script moves through the options. The event kartei:ask
// makes htmx send a query and abort the former one.
"use strict";

(function () {
  const say = window.kartei.say;
  const rest = 80, spokenAfter = 500; // ms after the last key
  const state = new WeakMap(); // field -> whether a response is pending, whether Enter waits for it, whether an arrow key was pressed
  const of = (field) => state.get(field) || state.set(field, { timer: 0, asking: false, enter: false, moved: false }).get(field);
  const isField = (e) => e && e.matches && e.matches('[role="combobox"]');
  const listOf = (field) => document.getElementById(field.getAttribute("aria-controls"));
  const fieldOf = (list) => document.querySelector(`[role="combobox"][aria-controls="${list.id}"]`);
  const options = (field) => [...listOf(field).querySelectorAll('[role="option"]:not([aria-disabled])')].filter((o) => !o.closest("[hidden]"));
  const hits = (field) => options(field).filter((o) => !("extra" in o.dataset));
  const active = (field) => document.getElementById(field.getAttribute("aria-activedescendant") || "");
  const isSearch = (field) => field.type === "search";
  const stays = (field) => !!field.closest("dialog"); // reports whether the list stays open as long as its dialog
  const asked = new WeakMap(); // htmx request -> its query

  // counted returns the number of options as a text. For an empty field and in the palette, they
  // are called suggestions and not results.
  function counted(field) {
    if (stays(field) || isSearch(field) && field.value.trim() === "") {
      const n = options(field).length;
      return n === 1 ? say("1 suggestion") : say("%s suggestions", n);
    }
    const n = hits(field).length;
    return n === 1 ? say("1 result") : say("%s results", n);
  }
  let speaking = 0;
  function speak(field) {
    clearTimeout(speaking);
    speaking = setTimeout(() => window.kartei.speak(field.getAttribute("aria-expanded") === "true" ? counted(field) : "", field.closest("dialog")), spokenAfter);
  }

  // ask sends a query. A person may type before htmx is ready, so ask repeats the event until htmx
  // has sent the query.
  function ask(field) {
    const s = of(field);
    s.asking = true;
    clearTimeout(s.again);
    s.again = setTimeout(() => ask(field), 3 * rest);
    field.dispatchEvent(new CustomEvent("kartei:ask", { bubbles: false }));
  }

  function close(field) {
    clearTimeout(of(field).timer);
    clearTimeout(of(field).again);
    if (stays(field)) { return; }
    listOf(field).hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function point(field, option) {
    for (const o of options(field)) { o.setAttribute("aria-selected", String(o === option)); }
    if (!option) {
      field.removeAttribute("aria-activedescendant");
      return;
    }
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  // open shows the list and marks the best result, which Enter opens at once. For an empty search
  // field, nothing is marked.
  function open(field) {
    const list = listOf(field), nothing = field.value.trim() === "" && !stays(field);
    list.hidden = false;
    list.scrollTop = 0;
    field.setAttribute("aria-expanded", "true");
    if (stays(field)) {
      if (!active(field) || active(field).closest("[hidden]") || !list.contains(active(field))) { point(field, options(field)[0]); }
    } else {
      of(field).moved = false;
      point(field, nothing ? null : list.querySelector("[data-best]") || hits(field)[0] || (isSearch(field) ? null : options(field)[0]));
    }
    speak(field);
  }

  // record matches the path of a record's page.
  const record = /^(\/sandbox)?\/(contacts|companies|tasks|documents)\/[a-z]{3}_\w+$/;

  // choose opens the page of an option, or sets the value of the field. The value "+" makes the
  // server create a record with the text as its name.
  function choose(field, option, beside) {
    const { href, press } = option.dataset;
    if (href && beside) {
      window.open(href, "_blank", "noopener");
    } else if (href || press) {
      close(field);
      const dialog = field.closest("dialog");
      if (dialog) { dialog.close(); }
      if (!href) {
        window.kartei.press(press);
      } else if (record.test(href) && window.htmx) {
        field.value = "";
        field.blur();
        window.kartei.visit(href);
      } else {
        location.assign(href);
      }
    } else {
      const value = field.closest("[data-combo]").querySelector('input[type="hidden"]');
      value.value = "create" in option.dataset ? "+" : option.dataset.value;
      if (option.dataset.text) { field.value = option.dataset.text; }
      of(field).chosen = { value: value.value, text: field.value };
      if (shownOf(field)) { shownOf(field).value = field.value; }
      close(field);
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }

  // shownOf returns the field with the chosen text. If the typed text differs, there is no value,
  // and the server searches for the text. The field for tags has no chosen text.
  const shownOf = (field) => field.closest("[data-combo]").querySelector('input[name$="-shown"]');

  function typed(field) {
    const combo = field.closest("[data-combo]"), s = of(field);
    if (combo) {
      const value = combo.querySelector('input[type="hidden"]');
      s.chosen = s.chosen || { value: value.value, text: shownOf(field)?.value || "" };
      value.value = field.value === s.chosen.text ? s.chosen.value : "";
    }
    s.enter = false;
    s.asking = true;
    clearTimeout(s.timer);
    s.timer = setTimeout(() => ask(field), rest);
  }

  document.addEventListener("input", (e) => { if (isField(e.target)) { typed(e.target); } });

  // The query contains only the text, as "q", whatever the name of the field is.
  document.addEventListener("htmx:config:request", function (event) {
    const { ctx } = event.detail, field = ctx.sourceElement;
    if (!isField(field)) { return; }
    ctx.request.body = new FormData();
    ctx.request.body.set("q", field.value.trim());
    asked.set(ctx, field.value.trim());
    clearTimeout(of(field).again);
  });

  // isLate reports whether a response is for a former text of the field. Such a response is not
  // shown, as another one will follow.
  const isLate = (ctx) => asked.get(ctx) !== ctx.sourceElement.value.trim();
  document.addEventListener("htmx:before:swap", function (event) {
    const { ctx } = event.detail;
    if (isField(ctx.sourceElement) && isLate(ctx)) { event.preventDefault(); }
  });

  document.addEventListener("htmx:after:swap", function (event) {
    const { ctx } = event.detail, field = ctx.sourceElement;
    if (!isField(field) || isLate(ctx)) { return; }
    const s = of(field);
    s.asking = false;
    if (document.activeElement !== field) { return; }
    open(field);
    entered(field);
  });

  // entered does what the Enter key waited for, once the whole list is loaded.
  function entered(field) {
    if (of(field).enter && !of(field).asking) { enter(field); }
  }

  // fail shows in the list that the search failed. This happens after an error, a sign-in page or a
  // lost connection. If Enter was pressed, the search form is submitted, since its page can say
  // more.
  function fail(field, ctx) {
    if (isLate(ctx)) { return; }
    const s = of(field), line = document.createElement("div"), again = s.enter && isSearch(field);
    line.className = "option none";
    line.setAttribute("role", "option");
    line.setAttribute("aria-disabled", "true");
    line.textContent = say("The search does not answer at the moment.");
    ctx.target.replaceChildren(line);
    s.asking = s.enter = false;
    if (document.activeElement === field) {
      open(field);
      clearTimeout(speaking);
      window.kartei.speak(line.textContent, field.closest("dialog"));
    }
    if (again && field.form) { field.form.requestSubmit(); }
  }
  document.addEventListener("htmx:before:response", function (event) {
    const { ctx } = event.detail;
    if (isField(ctx.sourceElement) && (ctx.response.status !== 200 || ctx.response.raw.redirected || !window.kartei.isOurs(ctx.response.headers))) {
      event.preventDefault();
      fail(ctx.sourceElement, ctx);
    }
  });
  document.addEventListener("htmx:error", function (event) {
    const { ctx } = event.detail;
    if (ctx && isField(ctx.sourceElement)) { fail(ctx.sourceElement, ctx); }
  });

  // isComplete reports whether the palette has loaded its commands. Enter waits for them.
  const isComplete = (field) => field.id !== "command" || listOf(field).querySelector("[data-press]") !== null;
  function enter(field) {
    const option = active(field);
    of(field).enter = !isComplete(field);
    if (of(field).enter) { return; }
    if (option) {
      choose(field, option);
    } else if (isSearch(field)) {
      close(field);
      field.form.requestSubmit();
    }
  }

  const moves = { ArrowDown: 1, ArrowUp: -1 };
  function move(field, key) {
    const all = options(field), at = all.indexOf(active(field));
    let to = at + moves[key];
    if (at < 0 && key === "ArrowUp") { to = all.length - 1; }
    if (key === "Home") { to = 0; }
    if (key === "End") { to = all.length - 1; }
    of(field).moved = true;
    point(field, all[(to + all.length) % all.length]);
  }

  document.addEventListener("keydown", function (event) {
    const field = event.target, { key } = event;
    if (!isField(field) || event.isComposing || event.altKey || event.ctrlKey || event.metaKey) { return; }
    const opened = field.getAttribute("aria-expanded") === "true", s = of(field);
    if (key in moves) {
      event.preventDefault();
      if (opened) { move(field, key); } else { ask(field); }
    } else if ((key === "Home" || key === "End") && opened && s.moved && !event.shiftKey) {
      event.preventDefault();
      move(field, key);
    } else if (key === "Enter" && (opened || s.asking) && (field.value.trim() !== "" || stays(field))) {
      // The response for the last key may still be pending. Then Enter waits for the response.
      event.preventDefault();
      if (s.asking && !(stays(field) && active(field))) { s.enter = true; } else { enter(field); }
    } else if (key === "Enter" && opened && active(field)) {
      event.preventDefault();
      choose(field, active(field));
    } else if (key === "Enter" && field.closest(".menu-fields")) {
      // The form has several menus, so its first button may belong to another menu.
      event.preventDefault();
      field.closest(".menu-fields").querySelector('button[type="submit"]').click();
    } else if (key === "Escape" && !stays(field) && (opened || isSearch(field))) {
      // The first Escape closes the list, and the next one removes the focus from the search field.
      event.preventDefault();
      event.stopPropagation();
      if (opened || s.asking) { close(field); } else { field.blur(); }
      s.asking = s.enter = false;
      field.dispatchEvent(new Event("htmx:abort"));
    } else if (key === "Tab" && opened) {
      const option = active(field);
      if (option && option.dataset.value !== undefined) { choose(field, option); } else { close(field); }
    }
  });

  // A click on an option keeps the focus in the field. With Ctrl or the middle button, a result
  // opens in a new tab, as a link does.
  const optionAt = (event) => event.target.closest('[role="listbox"] [role="option"]:not([aria-disabled])');
  document.addEventListener("mousedown", (e) => { if (e.target.closest('[role="listbox"]')) { e.preventDefault(); } });
  for (const kind of ["click", "auxclick"]) {
    document.addEventListener(kind, function (event) {
      const option = optionAt(event);
      if (option && event.button < 2) { choose(fieldOf(option.closest('[role="listbox"]')), option, event.ctrlKey || event.metaKey || event.button === 1); }
    });
  }
  document.addEventListener("focusin", (e) => { if (isField(e.target) && (isSearch(e.target) || "offers" in e.target.dataset) && e.target.value === "") { ask(e.target); } });
  document.addEventListener("focusout", function (event) {
    if (isField(event.target)) {
      of(event.target).enter = false;
      close(event.target);
    }
  });
  Object.assign(window.kartei, { point, ask, entered });
})();
