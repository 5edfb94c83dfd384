// This script stores that a person has opened a record, for the person's list of recent records. A
// GET request must change nothing, so the script sends a POST. It does so only for a visible page:
// a browser may prerender a page, or keep it in the background.
"use strict";

(function () {
  let last = "";
  function note() {
    const shown = document.querySelector("[data-opened]");
    if (!shown || shown.dataset.opened === last || document.visibilityState !== "visible") { return; }
    last = shown.dataset.opened;
    fetch((document.documentElement.dataset.root || "") + "/opened", {
      method: "POST", keepalive: true, body: new URLSearchParams({ "form-token": shown.dataset.token, id: last }),
    }).catch(() => {}); // an error does not matter to the person
  }
  note();
  for (const kind of ["visibilitychange", "htmx:after:swap"]) { document.addEventListener(kind, note); }
})();
