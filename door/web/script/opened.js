// A page that shows a record is noted for the person's own list of what they opened
// last. A page for GET changes nothing, so this sends a form: of what a person looks
// at, and not of a page that a browser only prepares or keeps in the background.
"use strict";

(function () {
  let last = "";
  function note() {
    const shown = document.querySelector("[data-opened]");
    if (!shown || shown.dataset.opened === last || document.visibilityState !== "visible") { return; }
    last = shown.dataset.opened;
    fetch((document.documentElement.dataset.root || "") + "/opened", {
      method: "POST", keepalive: true, body: new URLSearchParams({ "form-token": shown.dataset.token, id: last }),
    }).catch(() => {}); // a list without this record is no fault that a person needs to know
  }
  note();
  for (const kind of ["visibilitychange", "htmx:after:swap"]) { document.addEventListener(kind, note); }
})();
