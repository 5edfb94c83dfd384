// Draws the API reference from the OpenAPI document of this instance.
"use strict";

(function () {
  const place = document.getElementById("reference");
  const status = document.getElementById("status");
  const german = document.documentElement.lang === "de";
  const darkMode = matchMedia("(prefers-color-scheme: dark)");
  const sans = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
  const mono = 'ui-monospace, "Cascadia Mono", "SF Mono", Menlo, Consolas, "Liberation Mono", monospace';

  // The colours of pages.css: Redoc computes with them and so cannot read variables.
  const light = { ground: "#fdfcf9", raised: "#f3f1ea", text: "#1d1c1a", muted: "#57534b", line: "#d9d4c7", accent: "#8f1d2c", good: "#1f6b32", bad: "#a3211f" };
  const dark = { ground: "#17181b", raised: "#222429", text: "#ece9e3", muted: "#b3aea4", line: "#3b3d44", accent: "#f2a5ac", good: "#7fd495", bad: "#ff9a94" };

  function theme(c) {
    return {
      colors: {
        primary: { main: c.accent },
        success: { main: c.good }, error: { main: c.bad },
        text: { primary: c.text, secondary: c.muted },
        border: { dark: c.line, light: c.line },
        gray: { 50: c.raised, 100: c.raised },
        responses: {
          success: { color: c.good, backgroundColor: c.raised },
          error: { color: c.bad, backgroundColor: c.raised },
          redirect: { color: c.muted, backgroundColor: c.raised },
          info: { color: c.muted, backgroundColor: c.raised },
        },
        // White text stands on these: at least 4.5:1.
        http: { get: "#1f6b32", post: "#1d4f91", patch: "#7a4a00", delete: "#a3211f", put: "#5b3a8a", head: "#57534b", options: "#57534b", basic: "#57534b", link: "#57534b" },
      },
      schema: { linesColor: c.line, typeNameColor: c.muted, typeTitleColor: c.muted, requireLabelColor: c.bad, nestedBackground: c.raised, arrow: { color: c.muted } },
      typography: {
        fontSize: "16px", lineHeight: "1.6", fontFamily: sans,
        headings: { fontFamily: sans, fontWeight: "600" },
        code: { fontFamily: mono, color: c.text, backgroundColor: c.raised, wrap: true },
        links: { color: c.accent, visited: c.accent, hover: c.accent, textDecoration: "underline" },
      },
      sidebar: { backgroundColor: c.raised, textColor: c.text, activeTextColor: c.accent },
      rightPanel: { backgroundColor: "#1f2126", textColor: "#ece9e3" },
      codeBlock: { backgroundColor: "#131417" },
      fab: { backgroundColor: c.raised, color: c.accent },
    };
  }

  const labels = german ? {
    enum: "Erlaubte Werte", enumSingleValue: "Wert", enumArray: "Elemente", default: "Vorgabe", deprecated: "Veraltet",
    example: "Beispiel", examples: "Beispiele", recursive: "Rekursiv", arrayOf: "Liste von ", webhook: "Ereignis", const: "Wert",
    noResultsFound: "Nichts gefunden", download: "Herunterladen", downloadSpecification: "OpenAPI-Dokument herunterladen",
    responses: "Antworten", callbackResponses: "Antworten auf Rückrufe", requestSamples: "Beispielanfrage", responseSamples: "Beispielantworten",
  } : {};

  // What Redoc writes in English whatever its labels say.
  const words = {
    "Authorizations:": "Anmeldung:", "query": "Query", "path": "Pfad", "header": "Header", " Parameters": "-Parameter",
    "query Parameters": "Query-Parameter", "path Parameters": "Pfad-Parameter", "header Parameters": "Header", "cookie Parameters": "Cookies",
    "Request Body schema: ": "Körper der Anfrage: ", "Request Body schema:": "Körper der Anfrage:", "Response Schema: ": "Körper der Antwort: ", "Response Schema:": "Körper der Antwort:",
    "Response Headers": "Header der Antwort", "required": "erforderlich", "additional property": "weitere Angabe", "read-only": "nur lesbar", "write-only": "nur schreibbar",
    "Content type": "Inhaltstyp", "Copy": "Kopieren", "Copied": "Kopiert", "Expand all": "Alles aufklappen", "Collapse all": "Alles zuklappen", " Expand all ": "Alles aufklappen", " Collapse all ": "Alles zuklappen",
    "License:": "Lizenz:", "License: ": "Lizenz: ", "API docs by Redocly": "Darstellung: Redoc von Redocly", "Payload": "Körper", "Show pattern": "Muster zeigen", "Hide pattern": "Muster verbergen",
    "Security Scheme Type:": "Art der Anmeldung:", "Security Scheme Type: ": "Art der Anmeldung: ", "HTTP Authorization Scheme:": "HTTP-Verfahren:", "HTTP Authorization Scheme: ": "HTTP-Verfahren: ", "Bearer format:": "Format:", "Required scopes: ": "Nötige Scopes: ", "Required scopes:": "Nötige Scopes:",
    "Authorization URL: ": "Adresse der Freigabe: ", "Token URL: ": "Adresse für Tokens: ", "Refresh URL: ": "Adresse für neue Tokens: ", "Scopes:": "Scopes:", "Flow type: ": "Ablauf: ", "Authentication": "Anmeldung",
    "One of": "Eines von", "Any of": "Mindestens eines von", "Example": "Beispiel", "No sample": "Kein Beispiel", "Search...": "Suchen …", "Menu": "Menü",
  };

  function translate(node) {
    if (node.nodeType === Node.TEXT_NODE) {
      // What the document itself says stays as it is.
      if (Object.hasOwn(words, node.nodeValue) && !node.parentElement.closest(".redoc-markdown, .redoc-json, code, pre")) {
        node.nodeValue = words[node.nodeValue];
      }
      return;
    }
    if (node.placeholder && Object.hasOwn(words, node.placeholder)) { node.placeholder = words[node.placeholder]; }
    node.childNodes.forEach(translate);
  }

  if (german) {
    new MutationObserver(function (changes) {
      for (const change of changes) { change.addedNodes.forEach(translate); }
    }).observe(place, { childList: true, subtree: true });
  }

  function failed() {
    status.hidden = false;
    status.textContent = place.dataset.failed;
  }

  fetch(place.dataset.spec)
    .then(function (answer) {
      if (!answer.ok) { throw new Error("status " + answer.status); }
      return answer.json();
    })
    .then(function (spec) {
      Redoc.init(spec, {
        theme: theme(darkMode.matches ? dark : light), labels: labels, nonce: place.dataset.nonce,
        hideDownloadButtons: true, hideLoading: true, nativeScrollbars: true, sanitize: true,
        sortRequiredPropsFirst: true, jsonSamplesExpandLevel: 4, showExtensions: false,
      }, place, function (err) { if (err) { failed(); } else { status.hidden = true; } });
    })
    .catch(failed);

  darkMode.addEventListener("change", function () { location.reload(); });
})();
