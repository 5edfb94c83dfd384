// The behaviour of the parts of pages. Each part works without a script too.
"use strict";

// A page that came in answer to another address is kept under its own.
if (document.documentElement.dataset.address) { history.replaceState(null, "", document.documentElement.dataset.address); }

(function () {
  // say returns a text with values in the places of its %s. The server has put the reader's
  // language in the place of the English one.
  const say = (text, ...values) => values.reduce((said, value) => said.replace("%s", () => value), text);

  // A browser offers the clipboard only to pages from TLS or from this machine.
  // On other pages the text is selected and copied by the old command.
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

  // toast says something that no fragment says. The same text again replaces the former
  // toast.
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

  // speak announces a text to screen readers only. While a modal dialog is open, they
  // read nothing outside of it.
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

  // dress adds the buttons that copy code. Other controls that need a script are in the
  // page from the start (.scripted): inserted later, they would move it.
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
    // Browsers without commands of buttons get those that the parts use.
    const command = on("[commandfor]");
    if (command && !("commandForElement" in HTMLButtonElement.prototype)) {
      const dialog = document.getElementById(command.getAttribute("commandfor"));
      if (command.getAttribute("command") === "show-modal") { dialog.showModal(); } else { dialog.close(); }
    }
  });

  // A menu that asks for something begins in its field.
  document.addEventListener("toggle", function (event) {
    if (event.newState === "open" && event.target.matches(".menu")) { event.target.querySelector(".menu-fields input:not([type=hidden])")?.focus(); }
  }, true);

  // In a menu the arrow keys move the focus, as in menus of the system. Within a field
  // they are the field's.
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

// htmx listens to the history only a moment after the page has loaded. If a person
// goes back twice, fast, the second step may fall into that moment: the address
// changes, and the page stays. So the page is loaded anew.
(function () {
  const shown = location.pathname + location.search;
  const again = () => { if (location.pathname + location.search !== shown) { location.reload(); } };
  addEventListener("popstate", again);
  addEventListener("load", () => setTimeout(() => removeEventListener("popstate", again), 100));
})();
