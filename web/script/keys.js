// Keyboard shortcuts and the command palette. The page contains the list of commands: see
// web/ui/commands.go. Shortcuts without modifier keys work only if no field has the focus. The person
// can switch them off (WCAG 2.1.4). A shortcut clicks a link or a button of the page, so it can do
// nothing that the page does not offer.
"use strict";

(function () {
  const { copy, say, toast } = window.kartei;
  const page = document.documentElement, singles = "keys" in page.dataset, mac = /Mac|iP/.test(navigator.platform);
  const patience = 900; // ms between the two keys of a sequence
  const palette = document.getElementById("palette"), sheet = document.getElementById("help");
  const shortcuts = palette ? JSON.parse(palette.dataset.shortcuts) : {};
  const byKeys = {}, beginnings = new Set();
  for (const [id, shortcut] of Object.entries(shortcuts)) {
    for (const keys of shortcut.keys) {
      byKeys[keys] = id;
      if (keys.includes(" ")) { beginnings.add(keys.split(" ")[0]); }
    }
  }
  const commands = document.getElementById("commands");
  const lineOf = (id) => commands && commands.querySelector(`[data-press="${id}"]`);
  const seen = (element) => element.checkVisibility();

  // own returns the control with this key: in the row with the focus, or else outside the rows. A
  // key never acts on a row without the focus.
  function own(key) {
    const row = (palette && palette.open ? before : document.activeElement).closest("tr, li"), named = `[data-key="${CSS.escape(key)}"]`;
    const inRow = row && row.querySelector(key === "x" ? named + ", input.pick" : named);
    return inRow || [...document.querySelectorAll("main " + named)].find((e) => !e.closest("tr, .rows li, .hits li") && seen(e));
  }

  const rows = () => [...document.querySelectorAll("main [data-row]")].filter(seen);
  // step returns the next row. In a list, this is the row to focus. Beside a record, it is the next
  // record of the list.
  function step(by) {
    const all = [...document.querySelectorAll("main [data-row]")], here = all.findIndex((row) => row.closest(".here"));
    if (here >= 0) { return all[here + by]; }
    const shown = rows();
    return shown[shown.indexOf(document.activeElement) + by];
  }
  const go = (row) => (row.closest("tr, li").parentNode.querySelector(".here") ? row.click() : row.focus());

  // targets maps a command to the element of this page on which it acts.
  const targets = {
    find: () => document.getElementById("find"),
    quick: () => document.getElementById("f-line"),
    selection: () => [...document.querySelectorAll("#bulk .button")].find(seen),
    palette: () => palette,
    help: () => sheet,
    link: () => document.querySelector("main [data-link]") || document.querySelector("main"),
    id: () => document.querySelector("main [data-id]"),
    more: () => document.querySelector("main .pane .head [popovertarget]") || document.querySelector("main .head [popovertarget]"),
    undo: () => [...document.querySelectorAll("[data-undo]")].pop(),
    next: () => step(1),
    previous: () => step(-1),
    print: () => document.querySelector("main"),
    signOut: () => document.querySelector('form[action="/signout"] button'),
    dark: () => document.querySelector('#theme [value="dark"]'),
    light: () => document.querySelector('#theme [value="light"]'),
  };
  const target = (id) => (id in targets ? targets[id]() : shortcuts[id] && own(shortcuts[id].keys[0]));

  // acts maps a command to what it does with its element. All other commands click the element.
  const acts = {
    find(field) {
      field.focus();
      field.select();
    },
    quick: (field) => field.focus(),
    selection: (button) => button.focus(),
    palette: openPalette,
    help: openSheet,
    link: (line) => copy(line.dataset.copy || location.href),
    more(button) {
      const menu = document.getElementById(button.getAttribute("popovertarget"));
      menu.showPopover({ source: button });
      menu.querySelector("a, button").focus();
    },
    next: go,
    previous: go,
    print: () => window.print(),
    dark: paint,
    light: paint,
  };

  // paint stores a colour theme and returns to this page.
  function paint(button) {
    button.form.elements.back.value = (location.pathname + location.search).slice(page.dataset.root.length) || "/";
    button.form.requestSubmit(button);
  }

  function run(id) {
    const line = lineOf(id), href = line ? line.dataset.href : shortcuts[id] && shortcuts[id].href;
    if (href) {
      // On the page of a record, a link in a section has the reference to the record in its query.
      const about = document.querySelector(`main .section-head a[href^="${CSS.escape(href)}?"]`);
      if (about) { about.click(); } else { location.assign(href); }
      return true;
    }
    const on = target(id);
    if (!on && id === "undo") { toast(say("There is nothing left to undo. The history of a record shows who changed what.")); }
    if (!on) { return false; }
    if (acts[id]) { acts[id](on); } else { on.click(); }
    return true;
  }
  window.kartei.press = run;

  // announce lets screen readers say the shortcut of a control. aria-keyshortcuts cannot express a
  // sequence of two keys, so sequences are only in the help.
  function announce() {
    for (const [id, { keys: [keys] }] of Object.entries(shortcuts)) {
      const on = !keys.includes(" ") && !["next", "previous"].includes(id) && (singles || keys.includes("+")) && target(id);
      if (on && on.matches("a, button, input")) { on.setAttribute("aria-keyshortcuts", keys); }
    }
    for (const button of document.querySelectorAll('main form[method="post"][data-save] button[type="submit"]')) {
      button.setAttribute("aria-keyshortcuts", shortcuts[button.name === "next" ? "saveNext" : "save"].keys[0]);
    }
  }

  // narrow hides commands that this page does not have. While a person types, it also hides
  // commands that do not contain all typed words. The server adds records.
  const folded = (text) => text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "").replace(/ß/g, "ss");
  function narrow() {
    const field = document.getElementById("command"), words = folded(field.value).split(/\s+/).filter(Boolean);
    let best = null;
    for (const line of palette.querySelectorAll("[data-press]")) {
      const text = folded(line.closest("[role=group]").getAttribute("aria-label") + " " + line.querySelector("span").textContent), also = " " + folded(line.dataset.words || "");
      line.hidden = !words.every((w) => text.includes(w) || also.includes(" " + w)) || !line.dataset.href && !target(line.dataset.press);
      if (!line.hidden) { best = best || line; }
    }
    for (const group of palette.querySelectorAll("#commands > [role=group]")) { group.hidden = !group.querySelector("[data-press]:not([hidden])"); }
    arrange();
    window.kartei.point(field, best);
  }
  // arrange places the search results after the first group of commands. If there are only offers,
  // such as a new record, they come after all commands.
  function arrange() {
    const hits = document.getElementById("command-hits"), field = document.getElementById("command");
    const some = [...commands.querySelectorAll("[data-press]")].some((line) => !line.hidden);
    const last = field.value.trim() && some && !hits.querySelector('[role="option"]:not([data-extra])');
    const next = last ? null : commands.querySelectorAll("[role=group]:has([data-press])")[1] || null;
    if (hits.nextElementSibling !== next) { commands.insertBefore(hits, next); }
  }
  let before = document.body; // the element that had the focus before the palette opened
  // load requests the list of commands. A person may press the key before htmx is ready, so load
  // repeats the event until htmx has sent the request.
  let sent = false;
  function load() {
    if (sent || !palette.open) { return; }
    commands.dispatchEvent(new CustomEvent("kartei:list"));
    setTimeout(load, 240);
  }
  function openPalette() {
    const field = document.getElementById("command");
    before = document.activeElement;
    field.value = "";
    document.getElementById("command-hits").replaceChildren();
    palette.showModal();
    sent = commands.querySelector("[data-press]") !== null;
    load();
    narrow();
    window.kartei.ask(field);
  }
  function openSheet() {
    sheet.showModal();
    const content = document.getElementById("help-sheet");
    if (!content.childElementCount) { content.dispatchEvent(new CustomEvent("kartei:ask")); } // repeated after a lost connection
  }

  let first = "", timer = 0;
  function pressed(key) {
    const keys = first ? first + " " + key : key, chord = first;
    first = "";
    clearTimeout(timer);
    if (keys in byKeys) { return run(byKeys[keys]); }
    if (beginnings.has(key)) {
      first = key;
      timer = setTimeout(() => { first = ""; }, patience);
      return true;
    }
    return chord !== "";
  }

  // inField reports whether a key was pressed in a visible text field. A field in a dialog that has
  // just closed does not count.
  const inField = function (event) {
    const field = event.target.closest('input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]');
    return field && seen(field);
  };
  const covered = () => document.querySelector("dialog[open], [popover]:popover-open");
  const isErasure = (form) => form.querySelector("button.danger");
  document.addEventListener("keydown", function (event) {
    if (event.defaultPrevented || event.isComposing || !event.target.closest) { return; }
    const control = mac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
    const modified = event.ctrlKey || event.metaKey || event.altKey, form = event.target.closest("form");
    let taken = false;
    if (control && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k" && palette) {
      if (palette.open) {
        palette.close();
        taken = true;
      } else if (!covered()) {
        taken = run("palette");
      }
    } else if (control && !event.altKey && event.key === "Enter" && form && form.method === "post" && !isErasure(form)) {
      form.requestSubmit((event.shiftKey && form.querySelector('button[name="next"]')) || undefined);
      taken = true;
    } else if (event.key === "Escape" && palette && palette.open) { // by default, the browser would only clear the field
      palette.close();
      taken = true;
    } else if (event.key === "Escape" && !modified && !covered()) {
      const away = form ? form.querySelector('[data-key="Escape"]') : !inField(event) && own("Escape");
      if (away) {
        away.click();
        taken = true;
      }
    } else if (singles && !modified && event.key.length === 1 && !inField(event) && !covered()) {
      taken = pressed(event.key);
    }
    if (taken) { event.preventDefault(); }
  });

  if (palette) {
    palette.addEventListener("input", narrow);
    palette.addEventListener("click", (e) => { if (e.target === palette) { palette.close(); } });
    announce();
    document.addEventListener("htmx:after:swap", announce);
    document.addEventListener("htmx:config:request", ({ detail }) => { sent = sent || detail.ctx.sourceElement === commands; });
    // Another page has other commands. New search results do not change the selected command.
    document.addEventListener("htmx:after:swap", function ({ detail }) {
      const { target } = detail.ctx;
      if (palette.open) { (target.id === "command-hits" ? arrange : narrow)(); }
      if (target === commands) { window.kartei.entered(document.getElementById("command")); }
    });
  }
})();
