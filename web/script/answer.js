// Each response of the web application has the header Kartei-Answer. A response without it comes
// from a proxy, a captive portal or an overloaded server. Such a response is not shown in the page,
// since it would replace what a person has typed.
"use strict";

(function () {
  const header = "Kartei-Answer";
  Object.assign(window.kartei, {
    isOurs: (headers) => headers.has(header),
    isOursXHR: (xhr) => xhr.getResponseHeader(header) !== null,
    // isBarred reports whether a foreign response with this status would be the same after a retry.
    isBarred: (status) => status >= 400 && status < 500 && ![408, 425, 429].includes(status),
  });
})();
