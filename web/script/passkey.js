// Passkeys. A button fetches the options from the server, asks the browser for a passkey, and
// submits the form with the response. The field for the email address also offers passkeys, if the
// browser supports this (conditional mediation).
"use strict";

(function () {
  const { say, toast, isOurs } = window.kartei;
  const able = window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON;
  const renew = 9 * 60 * 1000; // a challenge is valid for ten minutes
  let listening = null;

  async function options(button, form) {
    const answer = await fetch(button.dataset.options, {
      method: "POST", headers: { Accept: "application/json" },
      body: new URLSearchParams({ "form-token": form.elements["form-token"].value, token: form.elements.token ? form.elements.token.value : "" }),
    });
    if (!isOurs(answer.headers)) { throw new Error(say("Kartei does not answer at the moment. Please try again in a moment.")); }
    const said = await answer.json();
    if (said.confirm && await window.kartei.confirm()) { return options(button, form); }
    if (!answer.ok) { throw new Error(said.problem || say("This is not possible yet.")); }
    return said;
  }

  function fill(form, ticket, credential) {
    form.elements["passkey-ticket"].value = ticket;
    form.elements["passkey-response"].value = JSON.stringify(credential.toJSON());
    form.noValidate = true; // a password field in the form may be empty
    form.requestSubmit();
  }

  async function use(button) {
    const form = button.form;
    if (listening) { listening.abort(); }
    const { ticket, options: asked } = await options(button, form);
    const credential = button.dataset.passkey === "create"
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(asked) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(asked) });
    fill(form, ticket, credential);
  }

  function explain(error) {
    if (error.name === "InvalidStateError") {
      return say("This device already has a passkey for your account.");
    }
    if (error.name === "NotAllowedError" || error.name === "AbortError") {
      return say("No passkey was used. You can try again.");
    }
    return error.message;
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-passkey]");
    if (!button) { return; }
    if (!able) {
      toast(say("This browser does not support passkeys."));
      return;
    }
    button.disabled = true;
    use(button).catch((error) => toast(explain(error))).finally(() => { button.disabled = false; });
  });

  // listen offers passkeys in the list of the address field. Nothing is shown until the person uses
  // the field.
  async function listen() {
    const field = document.querySelector('input[autocomplete~="webauthn"]'), button = document.querySelector('form[action="/signin/passkey"] [data-passkey]');
    if (!field || !button || !able || !PublicKeyCredential.isConditionalMediationAvailable || !(await PublicKeyCredential.isConditionalMediationAvailable())) { return; }
    for (;;) {
      const { ticket, options: asked } = await options(button, button.form);
      listening = new AbortController();
      const over = setTimeout(() => listening.abort("over"), renew);
      try {
        fill(button.form, ticket, await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(asked), mediation: "conditional", signal: listening.signal }));
        return;
      } catch {
        if (listening.signal.reason !== "over") { return; }
      } finally {
        clearTimeout(over);
      }
    }
  }
  listen().catch(() => {});
})();
