// What the parts of pages do with a script, which they do without one too.
"use strict";

(function () {
  // A menu closes as soon as something in it was chosen.
  document.addEventListener("click", function (event) {
    const menu = event.target.closest("[popover].menu a, [popover].menu button");
    if (menu) { menu.closest("[popover]").hidePopover(); }
  });
})();
