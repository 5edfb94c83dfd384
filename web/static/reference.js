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
          success: { color: c.good, backgroundColor: c.raised, tabTextColor: dark.good },
          error: { color: c.bad, backgroundColor: c.raised, tabTextColor: dark.bad },
          redirect: { color: c.muted, backgroundColor: c.raised, tabTextColor: dark.muted },
          info: { color: c.muted, backgroundColor: c.raised, tabTextColor: dark.muted },
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
      rightPanel: {
        backgroundColor: "#1f2126", textColor: "#ece9e3",
        servers: { overlay: { backgroundColor: c.raised, textColor: c.text }, url: { backgroundColor: c.ground } },
      },
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
    "Authorizations:": "Anmeldung:", "Request Body schema:": "Body der Anfrage:",
    "Response Schema:": "Body der Antwort:", "Response Headers": "Header der Antwort", "required": "erforderlich",
    "additional property": "weitere Angabe", "property name*": "beliebiger Name*", "read-only": "nur lesbar", "write-only": "nur schreibbar",
    "Content type": "Inhaltstyp", "Copy": "Kopieren", "Copied": "Kopiert", "Expand all": "Alles aufklappen", "Collapse all": "Alles zuklappen",
    "License:": "Lizenz:", "API docs by Redocly": "Darstellung: Redoc von Redocly", "Payload": "Body",
    "Show pattern": "Muster zeigen", "Hide pattern": "Muster verbergen", "Authentication": "Anmeldung",
    "Security Scheme Type:": "Art der Anmeldung:", "HTTP Authorization Scheme:": "HTTP-Verfahren:", "Bearer format:": "Format:",
    "Flow type:": "Ablauf:", "Authorization URL:": "Adresse der Freigabe:", "Token URL:": "Adresse für Tokens:", "Refresh URL:": "Adresse für neue Tokens:",
    "Required scopes:": "Nötige Scopes:", "One of": "Eines von", "Any of": "Mindestens eines von", "Example": "Beispiel", "No sample": "Kein Beispiel",
    "Search...": "Suchen …", "Menu": "Menü", "See more": "Mehr zeigen", "Show less": "Weniger zeigen", "or": "oder", "and": "und",
  };

  // The parts of a heading such as "query Parameters".
  const heading = { "query": "Query", "path": "Pfad", "header": "Header", "cookie": "Cookie", " Parameters": "-Parameter" };

  // word returns text in German where it is one of the words, with the white
  // space around it.
  function word(text) {
    const bare = text.trim();
    return Object.hasOwn(words, bare) ? text.replace(bare, words[bare]) : text;
  }

  // translate leaves what the document itself says as it is: its prose, its
  // examples, and its names, which Redoc sets in the typewriter face.
  function translate(node) {
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.parentElement.tagName === "H5" && Object.hasOwn(heading, node.nodeValue)) {
        node.nodeValue = heading[node.nodeValue];
        return;
      }
      const text = word(node.nodeValue);
      if (text !== node.nodeValue && !node.parentElement.closest(".redoc-markdown, .redoc-json, code, pre, .property-name")) {
        node.nodeValue = text;
      }
      return;
    }
    if (node.placeholder) { node.placeholder = word(node.placeholder); }
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
