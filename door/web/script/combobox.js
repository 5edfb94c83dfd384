// Fields that find while one types (ARIA 1.2: combobox with a listbox). The server
// answers each question with the options; this moves in them. The field asks by the
// event kartei:ask, which htmx sends, and htmx gives up the former question.
"use strict";

(function () {
  const say = window.kartei.say;
  const rest = 80, spokenAfter = 500; // ms after the last key
  const state = new WeakMap(); // field -> what was asked, whether an answer is due, whether Enter waits for it
  const of = (field) => state.get(field) || state.set(field, { timer: 0, asked: "", asking: false, enter: false }).get(field);
  const listOf = (field) => document.getElementById(field.getAttribute("aria-controls"));
  const fieldOf = (list) => document.querySelector(`[role="combobox"][aria-controls="${list.id}"]`);
  const options = (field) => [...listOf(field).querySelectorAll('[role="option"]:not([aria-disabled])')];
  const active = (field) => document.getElementById(field.getAttribute("aria-activedescendant") || "");
  const isSearch = (field) => field.type === "search";

  const status = document.createElement("div");
  status.className = "unseen";
  status.setAttribute("role", "status");
  document.body.append(status);
  let speaking = 0;
  function speak(field) {
    clearTimeout(speaking);
    speaking = setTimeout(function () {
      const n = options(field).length;
      status.textContent = field.getAttribute("aria-expanded") !== "true" ? "" : n === 1 ? say("1 Treffer", "1 result") : n + say(" Treffer", " results");
    }, spokenAfter);
  }

  function ask(field) {
    of(field).asking = true;
    field.dispatchEvent(new CustomEvent("kartei:ask", { bubbles: false }));
  }

  function close(field) {
    clearTimeout(of(field).timer);
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

  function open(field) {
    const list = listOf(field);
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    point(field, field.value.trim() === "" ? null : list.querySelector("[data-best]") || options(field)[0]);
    speak(field);
  }

  // choose takes an option: it goes to its page, or becomes the field's value. The
  // value "+" asks the server to make what the text says.
  function choose(field, option) {
    if (option.dataset.href) {
      close(field);
      location.assign(option.dataset.href);
      return;
    }
    const value = field.closest("[data-combo]").querySelector('input[type="hidden"]');
    value.value = "create" in option.dataset ? "+" : option.dataset.value;
    if (option.dataset.text) { field.value = option.dataset.text; }
    close(field);
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function typed(field) {
    const combo = field.closest("[data-combo]"), s = of(field);
    if (combo) { combo.querySelector('input[type="hidden"]').value = ""; }
    s.enter = false;
    s.asking = true;
    clearTimeout(s.timer);
    s.timer = setTimeout(() => ask(field), rest);
  }

  document.addEventListener("input", (e) => { if (e.target.matches('[role="combobox"]')) { typed(e.target); } });

  // The question is the text alone, whatever the field's name is.
  document.addEventListener("htmx:config:request", function (event) {
    const field = event.detail.ctx.sourceElement;
    if (!field.matches('[role="combobox"]')) { return; }
    event.detail.ctx.request.body = new FormData();
    event.detail.ctx.request.body.set("q", field.value.trim());
    of(field).asked = field.value.trim();
  });

  document.addEventListener("htmx:after:swap", function (event) {
    const field = event.detail.ctx.sourceElement;
    if (!field.matches || !field.matches('[role="combobox"]') || event.detail.ctx.target !== listOf(field)) { return; }
    const s = of(field);
    if (s.asked !== field.value.trim()) { return; } // the answer to fewer keys; the next one is on its way
    s.asking = false;
    if (document.activeElement !== field) { return; }
    open(field);
    if (s.enter) {
      s.enter = false;
      enter(field);
    }
  });

  function enter(field) {
    const option = active(field);
    if (option) {
      choose(field, option);
    } else if (isSearch(field)) {
      field.form.requestSubmit();
    }
  }

  const moves = { ArrowDown: 1, ArrowUp: -1 };
  document.addEventListener("keydown", function (event) {
    const field = event.target;
    if (!field.matches || !field.matches('[role="combobox"]') || event.isComposing || event.altKey || event.ctrlKey || event.metaKey) { return; }
    const opened = field.getAttribute("aria-expanded") === "true", s = of(field);
    if (event.key in moves) {
      event.preventDefault();
      if (!opened) {
        ask(field);
        return;
      }
      const all = options(field), at = all.indexOf(active(field)), next = at < 0 && moves[event.key] < 0 ? all.length - 1 : at + moves[event.key];
      point(field, all[(next + all.length) % all.length]);
    } else if (event.key === "Enter" && (opened || s.asking) && field.value.trim() !== "") {
      // The answer to the last key may still be on its way: Enter waits for it.
      event.preventDefault();
      if (s.asking) { s.enter = true; } else { enter(field); }
    } else if (event.key === "Enter" && opened && active(field)) {
      event.preventDefault();
      choose(field, active(field));
    } else if (event.key === "Escape" && opened) {
      event.preventDefault();
      event.stopPropagation();
      close(field);
    } else if (event.key === "Tab" && opened) {
      const option = active(field);
      if (option && !option.dataset.href && !("create" in option.dataset)) { choose(field, option); } else { close(field); }
    }
  });

  // A press on an option leaves the focus in the field.
  document.addEventListener("mousedown", (e) => { if (e.target.closest('[role="listbox"]')) { e.preventDefault(); } });
  document.addEventListener("click", function (event) {
    const option = event.target.closest('[role="listbox"] [role="option"]:not([aria-disabled])');
    if (option) { choose(fieldOf(option.closest('[role="listbox"]')), option); }
  });
  document.addEventListener("focusin", (e) => { if (e.target.matches('[role="combobox"][type="search"]') && e.target.value === "") { ask(e.target); } });
  document.addEventListener("focusout", function (event) {
    if (event.target.matches('[role="combobox"]')) {
      of(event.target).enter = false;
      close(event.target);
    }
  });
})();
