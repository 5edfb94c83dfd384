// The behaviour of common components of pages. Each component also works without scripts.
"use strict";

// If the server has answered with another page than the requested one, data-address has the address
// of that page. It replaces the requested address in the history.
if (document.documentElement.dataset.address) { history.replaceState(null, "", document.documentElement.dataset.address); }

(function () {
  // say returns a text with values for its %s. Before sending this script, the server translates
  // the texts in calls of say.
  const say = (text, ...values) => values.reduce((said, value) => said.replace("%s", () => value), text);

  // copy copies a text to the clipboard. Browsers provide navigator.clipboard only over TLS or on
  // localhost. Otherwise copy uses the deprecated command "copy" on a selected text.
  async function copy(text) {
    if (navigator.clipboard) { return navigator.clipboard.writeText(text); }
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "unseen";
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    if (!copied) { throw new Error("not copied"); }
  }

  // toast shows a short message that does not come from the server. A toast with the same text is
  // replaced.
  function toast(text) {
    const box = document.createElement("div"), line = document.createElement("p");
    for (const old of [...document.querySelectorAll("#toasts .toast")]) { if (old.textContent === text) { old.remove(); } }
    box.className = "toast";
    line.textContent = text;
    box.append(line);
    document.getElementById("toasts").append(box);
  }

  function copyAndSay(text) {
    copy(text).then(() => toast(say("Copied")), () => toast(say("Not copied")));
  }

  // speak announces a text to screen readers. While a modal dialog is open, they read nothing
  // outside the dialog.
  const status = document.createElement("div");
  status.className = "unseen";
  status.setAttribute("role", "status");
  document.body.append(status);
  function speak(text, dialog) {
    if (dialog && !dialog.contains(status)) { dialog.append(status); }
    if (!dialog && status.closest("dialog")) { document.body.append(status); }
    status.textContent = text;
  }
  window.kartei = { say, copy: copyAndSay, toast, speak };

  // dress adds copy buttons to code blocks. Other controls that need scripts are in the page from
  // the start (.scripted), because inserting them later would shift the layout.
  function dress(root) {
    for (const block of root.querySelectorAll(".code:not(:has(.copy))")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button copy";
      button.textContent = say("Copy");
      block.append(button);
    }
  }

  document.addEventListener("click", function (event) {
    const on = (selector) => event.target.closest(selector);
    const chosen = on(".menu a, .menu button");
    if (chosen) { chosen.closest("[popover]").hidePopover(); }
    if (on("[data-copy]")) { copyAndSay(on("[data-copy]").dataset.copy); }
    if (on(".code .copy")) { copyAndSay(on(".code").querySelector("pre").textContent.replace(/\n$/, "")); }
    if (on("[data-close]")) { on(".toast").remove(); }
    const eye = on("[data-reveal]");
    if (eye) {
      const field = document.getElementById(eye.dataset.reveal), shown = field.type === "text";
      field.type = shown ? "password" : "text";
      eye.setAttribute("aria-pressed", String(!shown));
    }
    // Browsers without the Invoker Commands API get the two commands that pages use.
    const command = on("[commandfor]");
    if (command && !("commandForElement" in HTMLButtonElement.prototype)) {
      const dialog = document.getElementById(command.getAttribute("commandfor"));
      if (command.getAttribute("command") === "show-modal") { dialog.showModal(); } else { dialog.close(); }
    }
  });

  // When a menu with a text field opens, the field gets the focus.
  document.addEventListener("toggle", function (event) {
    if (event.newState === "open" && event.target.matches(".menu")) { event.target.querySelector(".menu-fields input:not([type=hidden])")?.focus(); }
  }, true);

  // In a menu, the arrow keys move the focus. In a text field within the menu, they move the
  // cursor.
  document.addEventListener("keydown", function (event) {
    const menu = event.target.closest && event.target.closest(".menu");
    const opener = event.target.matches && event.target.matches("[popovertarget]");
    if (opener && event.key === "ArrowDown") {
      const opened = document.getElementById(event.target.getAttribute("popovertarget"));
      opened.showPopover({ source: event.target });
      opened.querySelector("a, button").focus();
      event.preventDefault();
    }
    if (!menu || event.target.matches("input") || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) { return; }
    const lines = [...menu.querySelectorAll("a, button")], at = lines.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + lines.length, Home: 0, End: lines.length - 1 }[event.key];
    lines[to % lines.length].focus();
    event.preventDefault();
  });

  dress(document);
  document.addEventListener("htmx:after:swap", () => dress(document));
})();

// htmx handles popstate only shortly after the page has loaded. If a person goes back twice
// quickly, the second step may come before that: the address changes, but not the page. Then the
// page is reloaded.
(function () {
  const shown = location.pathname + location.search;
  const again = () => { if (location.pathname + location.search !== shown) { location.reload(); } };
  addEventListener("popstate", again);
  addEventListener("load", () => setTimeout(() => removeEventListener("popstate", again), 100));
})();
