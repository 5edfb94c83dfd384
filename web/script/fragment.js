// A link with a secret has it as its fragment, which browsers do not send. It moves
// into the form, and out of the address and the history.
(() => {
  const field = document.querySelector("[data-fragment] input");
  if (field && location.hash.length > 1) {
    field.value = location.hash.slice(1);
    field.closest("[data-fragment]").hidden = true;
    history.replaceState(null, "", location.pathname);
  }
})();
