// Single keys. They work only where no field has the focus and no other key is
// down, and the person can switch them off (WCAG 2.1.4). What the page does not
// offer, no key does: a key presses the link or the button that is there.
"use strict";

(function () {
  const { say, copy } = window.kartei;
  const page = document.documentElement, root = page.dataset.root || "", on = "keys" in page.dataset;
  const patience = 900; // ms between the two keys of a chord

  const press = (element) => element && (element.click(), true);
  const link = (within, path) => press(document.querySelector(`${within} a[href="${root}${path}"]`));
  const families = say({ k: "contacts", f: "companies", a: "tasks", d: "documents" }, { c: "contacts", o: "companies", t: "tasks", d: "documents" });

  // step goes to the next row: of a list to its link, on a record to the next record
  // of the list it was opened from.
  function step(by) {
    const rows = [...document.querySelectorAll("[data-row]")], here = rows.findIndex((row) => row.closest(".here"));
    const next = rows[(here >= 0 ? here : rows.indexOf(document.activeElement)) + by];
    if (!next) { return false; }
    if (here >= 0) { next.click(); } else { next.focus(); }
    return true;
  }

  function find() {
    const field = document.getElementById("find");
    if (!field) { return false; }
    field.focus();
    field.select();
    return true;
  }

  const acts = [
    ["/", say("Suchen (auch Strg+K)", "Search (also Ctrl+K)"), find],
    ["j", say("Nächster Eintrag", "Next entry"), () => step(1)],
    ["k", say("Voriger Eintrag", "Previous entry"), () => step(-1)],
    ["e", say("Bearbeiten", "Edit"), null],
    [".", say("Weitere Handlungen", "More acts"), () => press(document.querySelector("main .head [popovertarget]"))],
    ["y", say("Link kopieren", "Copy the link"), () => (copy(location.href), true)],
    ["z", say("Letzte Änderung zurücknehmen", "Take the last change back"), () => press([...document.querySelectorAll("[data-undo]")].pop())],
    ["?", say("Diese Übersicht", "This list"), help],
  ];
  const chords = {
    g: (key) => key === "h" ? link(".side", "/") : key === "s" ? link(".side", "/settings/profile") : key in families && link(".side", "/" + families[key]),
    c: (key) => key in families && link("#menu-new", "/" + families[key] + "/new"),
  };

  let sheet;
  function help() {
    if (!sheet) {
      sheet = document.createElement("dialog");
      sheet.className = "dialog";
      const heading = document.createElement("h2"), list = document.createElement("dl"), close = document.createElement("button"), end = document.createElement("div");
      heading.id = "keys-title";
      heading.textContent = say("Tasten", "Keys");
      sheet.setAttribute("aria-labelledby", heading.id);
      list.className = "facts";
      const letters = Object.keys(families).join(" ");
      for (const [keys, text] of [...acts, ["g", say("Gehe zu: h ", "Go to: h ") + letters + " s"], ["c", say("Anlegen: ", "Create: ") + letters], [say("Strg+Enter", "Ctrl+Enter"), say("Formular sichern", "Save the form")]]) {
        const row = document.createElement("div"), key = document.createElement("dt"), what = document.createElement("dd");
        key.textContent = keys;
        what.textContent = text;
        row.append(key, what);
        list.append(row);
      }
      close.className = "button";
      close.type = "button";
      close.textContent = say("Schließen", "Close");
      close.addEventListener("click", () => sheet.close());
      end.className = "acts";
      end.append(close);
      sheet.append(heading, list, end);
      document.body.append(sheet);
    }
    sheet.showModal();
    return true;
  }

  let first = "", timer = 0;
  function single(key) {
    const chord = first;
    first = "";
    clearTimeout(timer);
    if (chord && chords[chord](key)) { return true; }
    if (key in chords) {
      first = key;
      timer = setTimeout(() => { first = ""; }, patience);
      return true;
    }
    const own = document.querySelector(`main [data-key="${CSS.escape(key)}"]`);
    if (own) { return press(own); }
    const act = acts.find(([k, , f]) => k === key && f);
    return act ? act[2]() : false;
  }

  const inField = (e) => e.target.closest('input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]');
  const covered = () => document.querySelector("dialog[open], [popover]:popover-open");
  document.addEventListener("keydown", function (event) {
    if (event.defaultPrevented || event.isComposing || !event.target.closest) { return; }
    const control = event.ctrlKey || event.metaKey, form = event.target.closest("form");
    let taken = false;
    if (control && !event.altKey && event.key.toLowerCase() === "k" && !covered()) {
      taken = find();
    } else if (control && event.key === "Enter" && form && form.method === "post") {
      const next = event.shiftKey && form.querySelector('[name="next"]');
      form.requestSubmit(next || undefined);
      taken = true;
    } else if (event.key === "Escape" && form) {
      taken = press(form.querySelector('[data-key="Escape"]'));
    } else if (on && !control && !event.altKey && event.key.length === 1 && !inField(event) && !covered()) {
      taken = single(event.key);
    }
    if (taken) { event.preventDefault(); }
  });
})();
