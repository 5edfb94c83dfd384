// Entries of the address book: dialogs that are loaded, printing, forms that replace a value, and
// lists with a record beside them.
"use strict";

(function () {
  const open = (root) => {
    for (const dialog of root.querySelectorAll("dialog[data-opens]:not([open])")) {
      dialog.addEventListener("close", () => dialog.remove());
      dialog.showModal();
    }
  };
  // focus moves the focus to the first field of a form that has replaced a value.
  function focus(form) {
    const field = form.querySelector("input:not([type=hidden]), select, textarea");
    if (form.contains(document.activeElement) || !field) { return; }
    field.focus();
    if (field.setSelectionRange && field.type !== "date") { field.setSelectionRange(field.value.length, field.value.length); }
  }
  open(document);
  // After a swap, the focus moves to the title of the record that was opened from a list. If the
  // form of a value has disappeared, the focus moves to the edit link of the value.
  let value = "";
  const work = (event) => { value = event.target.closest('[id^="fact-"]')?.id || ""; };
  document.addEventListener("submit", work);
  document.addEventListener("click", work, true);
  document.addEventListener("htmx:after:swap", function (event) {
    const title = document.querySelector(".pane h1"), link = document.getElementById(value)?.querySelector("a.edit");
    if (title && event.detail.ctx.sourceElement.matches("[data-row]")) {
      title.tabIndex = -1;
      title.focus({ preventScroll: true });
    } else if (link && document.activeElement === document.body) {
      link.focus();
    }
  });
  document.addEventListener("htmx:after:swap", function () {
    open(document);
    for (const form of document.querySelectorAll("form[data-focus]")) { focus(form); }
  });

  document.addEventListener("click", function (event) {
    const dialog = event.target.closest("dialog[data-opens]");
    if (dialog && event.target.closest("[data-closes]")) {
      event.preventDefault();
      dialog.close();
    }
    if (event.target.closest("[data-print]")) { print(); }
  });

  // reveal scrolls the row of the open record into view.
  let shown = "";
  function reveal() {
    const row = document.querySelector(".split .here"), path = row && row.querySelector("[data-row]").pathname;
    if (row && path !== shown) { row.scrollIntoView({ block: "nearest" }); }
    shown = path;
  }
  reveal();
  document.addEventListener("htmx:after:swap", reveal);

  // Below this width, a record is not shown beside its list. Then its page is loaded as a whole.
  const beside = matchMedia("(min-width: 68.75rem)");
  document.addEventListener("click", function (event) {
    if (!beside.matches && event.target.closest("[data-row]")) { event.stopPropagation(); }
  }, true);

  // After a change of the filters, screen readers announce the title of the list with its number of
  // entries.
  document.addEventListener("htmx:after:swap", function (event) {
    const title = document.querySelector("main h1");
    if (event.detail.ctx.sourceElement.matches("form[data-filters]") && title) { window.kartei.speak(title.innerText.replace(/\s+/g, " ")); }
  });

  // A changed filter is applied at once.
  document.addEventListener("change", function (event) {
    const form = event.target.closest("form[data-filters]");
    if (form && !event.target.matches('[type="search"]')) { form.requestSubmit(); }
  });

  // chosen returns the checkboxes of the rows.
  const chosen = () => [...document.querySelectorAll("tbody input.pick")];
  let last = null; // the checkbox that was clicked last
  function count() {
    const said = document.querySelector("[data-picked]"), all = document.querySelector("thead input.pick");
    if (!said) { return; }
    const boxes = chosen(), n = boxes.filter((box) => box.checked).length;
    // The whole list can be selected only while the whole page is selected.
    const whole = document.querySelector("[data-whole]");
    if (whole && n < boxes.length) { whole.checked = false; }
    said.textContent = whole && whole.checked ? whole.dataset.whole : n + " " + said.dataset.picked;
    if (all) {
      all.checked = n > 0 && n === boxes.length;
      all.indeterminate = n > 0 && n < boxes.length;
    }
  }
  function dress() {
    const head = document.querySelector("thead th.pick");
    if (head && chosen().length && !head.querySelector("input")) {
      const all = document.createElement("input");
      all.type = "checkbox";
      all.className = "pick";
      all.setAttribute("aria-label", window.kartei.say("Select all on this page"));
      head.append(all);
    }
    count();
  }
  dress();
  document.addEventListener("change", function (event) {
    if (!event.target.matches("input.pick, [data-whole]")) { return; }
    if (event.target.closest("thead") || event.target.matches("[data-whole]:checked")) { for (const box of chosen()) { box.checked = event.target.checked; } }
    count();
  });
  // A click with Shift sets all checkboxes from the last one to this one. It must not select text.
  document.addEventListener("mousedown", (event) => { if (event.shiftKey && event.target.matches("tbody input.pick")) { event.preventDefault(); } });
  document.addEventListener("click", function (event) {
    const box = event.target.closest("tbody input.pick");
    if (!box) { return; }
    const all = chosen(), from = all.indexOf(last), to = all.indexOf(box);
    if (event.shiftKey && from >= 0) {
      for (const other of all.slice(Math.min(from, to), Math.max(from, to) + 1)) { other.checked = box.checked; }
      count();
    }
    last = box;
  });
  document.addEventListener("htmx:after:swap", function (event) {
    if (event.detail.ctx.sourceElement.closest("#bulk button") && !event.detail.ctx.hx?.retarget) { for (const box of chosen()) { box.checked = false; } }
    dress();
  });

  // If a response removes the focused element, the focus moves to the same control in the new
  // content. If there is none, it moves to the checkbox that was clicked last, or to the title. A
  // search field loses the focus only when a result is opened.
  const acting = new WeakMap(); // htmx request -> the element that had the focus
  document.addEventListener("htmx:before:request", function (event) {
    const { ctx } = event.detail, at = document.activeElement, source = ctx.sourceElement;
    if (at !== document.body && source.contains && !source.matches('[role="combobox"]') && (source.contains(at) || at.contains(source) || source.form === at.form && at.form)) { acting.set(ctx, at); }
  });
  document.addEventListener("htmx:after:swap", function (event) {
    const at = acting.get(event.detail.ctx), now = document.activeElement;
    if (!at || now !== document.body && now.checkVisibility()) { return; } // a hidden control loses the focus only in the next frame
    const same = at.isConnected ? at : document.getElementById(at.id || "none"), title = document.querySelector("main h1");
    const to = [same, last, title].find((e) => e && e.isConnected && e.checkVisibility());
    if (!to) { return; }
    if (to === title) { title.tabIndex = -1; }
    to.focus({ preventScroll: true });
  });

  // The browser warns before a person leaves a form with unsent input.
  document.addEventListener("input", function (event) {
    const form = event.target.closest("form[data-save]");
    if (form) { form.dataset.started = ""; }
  });
  const sent = (form) => { if (form) { delete form.dataset.started; } };
  document.addEventListener("submit", (event) => sent(event.target));
  document.addEventListener("click", (event) => { if (event.target.closest("form[data-save] .acts a")) { sent(event.target.closest("form")); } });
  window.addEventListener("beforeunload", (event) => { if (document.querySelector("form[data-started]")) { event.preventDefault(); } });

  // A blank row of a list has the focus as soon as it is open.
  document.addEventListener("toggle", function (event) {
    if (event.target.matches(".entry-more[open]")) { event.target.querySelector("input").focus(); }
  }, true);

  // A form with a single field is saved when the field loses the focus, unless nothing has changed.
  const typed = (form) => [...new FormData(form)].map(String).join("\n");
  document.addEventListener("focusin", function (event) {
    const form = event.target.closest("form[data-leaving]");
    if (form && !form.typed) { form.typed = typed(form); }
  });
  document.addEventListener("focusout", function (event) {
    const form = event.target.closest("form[data-leaving]");
    if (!form || !form.typed || form.contains(event.relatedTarget)) { return; }
    setTimeout(function () {
      if (document.hasFocus() && form.isConnected && !form.contains(document.activeElement) && typed(form) !== form.typed) {
        form.typed = "";
        form.requestSubmit();
      }
    });
  });
})();
