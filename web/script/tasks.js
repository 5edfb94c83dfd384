// The list of tasks. When a task is completed, the focus moves to the next task. When a task was
// created from the line above the list, the line is cleared and keeps the focus.
"use strict";

// A due date is typed in words, or chosen from the browser's date picker, which writes into the
// same field.
(function () {
  const german = document.documentElement.lang === "de";
  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-calendar]");
    if (!button) { return; }
    const field = document.getElementById(button.dataset.calendar), days = document.createElement("input");
    button.parentElement.querySelector(".calendar")?.remove();
    days.type = "datetime-local";
    days.max = "9999-12-31T23:59";
    days.className = "calendar";
    days.tabIndex = -1;
    days.setAttribute("aria-hidden", "true");
    button.before(days);
    days.addEventListener("change", function () {
      const [day, clock] = days.value.split("T");
      if (!day) { return; }
      field.value = (german ? day.split("-").reverse().join(".") : day) + " " + clock;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    days.showPicker();
  });
})();

(function () {
  const rows = () => [...document.querySelectorAll("main [data-row]")];
  let round = null, at = -1;
  document.addEventListener("click", function (event) {
    round = event.target.closest("[data-complete]");
    at = round ? rows().findIndex((row) => row.closest("tr, li") === round.closest("tr, li")) : -1;
  });
  document.addEventListener("htmx:after:swap", function (event) {
    const source = event.detail.ctx.sourceElement;
    if (!source || !source.closest || event.detail.ctx.hx?.retarget) { return; } // an error message leaves everything as it is
    if (source.closest(".toast")) { source.closest(".toast").remove(); } // the change was undone
    if (at >= 0 && (source === round || !round.isConnected)) { // if the source was removed, htmx reports the target instead
      const all = rows();
      (all[Math.min(at, all.length - 1)] || document.getElementById("main")).focus();
      at = -1;
    }
    const line = document.getElementById("f-line");
    if (source.matches("[data-quick]") && line) {
      line.value = line.defaultValue; // empty, or the refused text
      line.focus();
    }
  });
})();
