// Whose answer it is. Every answer of the web application carries a header. A proxy,
// a captive portal or a full server answers without it: nothing of that is shown in a
// page, since it would take the place of what a person has typed.
"use strict";

(function () {
  const header = "Kartei-Answer";
  Object.assign(window.kartei, {
    isOurs: (headers) => headers.has(header),
    isOursXHR: (xhr) => xhr.getResponseHeader(header) !== null,
    // isBarred reports whether a foreign answer will be the same if the request is sent again.
    isBarred: (status) => status >= 400 && status < 500 && ![408, 425, 429].includes(status),
  });
})();
