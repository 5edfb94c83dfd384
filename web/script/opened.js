// An opened record is noted in the person's own list of recent ones. A GET changes
// nothing, so this script sends a form. It does so only for a visible page: a browser
// may prepare a page, or keep it in the background.
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
