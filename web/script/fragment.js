// A link with a secret has the secret in its fragment, which browsers do not send to the server.
// This script moves the secret into the form and removes it from the address and the history.
(() => {
  const field = document.querySelector("[data-fragment] input");
  if (field && location.hash.length > 1) {
    field.value = location.hash.slice(1);
    field.closest("[data-fragment]").hidden = true;
    history.replaceState(null, "", location.pathname);
  }
})();
