// Uploads. Files are dropped on the page, or chosen by a button or the key u. Three are sent at the
// same time. After a lost connection, an upload is tried again. No document is created twice: each
// file has its own number, which is part of its idempotency keys.
"use strict";

(function () {
  const { say, toast, isOurs, isOursXHR, isBarred } = window.kartei;
  const atOnce = 3, most = 50, pauses = [1, 2, 4, 8];
  const lang = document.documentElement.lang;
  const me = document.documentElement.dataset.me || "", headers = { "Kartei-Person": me };
  const root = document.documentElement.dataset.root || "";
  const items = [];
  let number = 0, panel, list, title;

  const target = () => document.querySelector("[data-drop]");
  const sleep = (s) => new Promise((done) => setTimeout(done, 1000 * s));
  function size(bytes) {
    const units = [[say("bytes"), 1], ["KB", 1e3], ["MB", 1e6], ["GB", 1e9]], [unit, by] = units.findLast(([, n]) => bytes >= n) || units[0];
    return (bytes / by).toLocaleString(lang, { maximumFractionDigits: by < 1e6 ? 0 : 1 }) + " " + unit;
  }
  function make(tag, name, text) {
    const e = document.createElement(tag);
    if (name) { e.className = name; }
    if (text) { e.textContent = text; }
    return e;
  }
  function button(text, act) {
    const b = make("button", "button quiet", text);
    b.type = "button";
    b.addEventListener("click", act);
    return b;
  }

  function draw() {
    if (panel) { return; }
    panel = make("section", "queue");
    const head = make("div", "queue-head");
    title = make("h2", "", "");
    title.id = "queue-title";
    panel.setAttribute("aria-labelledby", title.id);
    list = make("ul");
    const close = button(say("Close"), () => {
      items.splice(0).forEach((i) => i.row.remove());
      panel.remove();
      panel = null;
    });
    head.append(title, close);
    panel.close = close;
    panel.append(head, list);
    document.body.append(panel);
  }
  const open = (i) => ["waiting", "sending", "broken", "signin"].includes(i.state);
  function update() {
    const left = items.filter((i) => i.state !== "done" && i.state !== "refused").length, refused = items.filter((i) => i.state === "refused").length;
    if (!panel) { return; }
    const ended = items.length - refused;
    title.textContent = left === 1 ? say("Filing %s file", left) : left ? say("Filing %s files", left)
      : !refused ? say("Filed") : ended ? say("%s filed, %s refused", ended, refused) : say("%s refused", refused);
    panel.close.hidden = left > 0;
  }

  function add(files, about) {
    const config = target();
    if (!config || !files.length) { return; }
    draw();
    for (const file of files) {
      if (items.filter((i) => i.state !== "done" && i.state !== "refused").length >= most) {
        toast(say("At most %s files at a time. Please add the others afterwards.", most));
        break;
      }
      const i = { file, about, n: ++number, token: config.dataset.drop, state: "waiting", row: make("li") };
      const line = make("div", "queue-line");
      i.name = make("input");
      i.name.value = file.name;
      i.name.maxLength = 200;
      i.name.setAttribute("aria-label", say("Name of the document"));
      i.cancel = button(say("Cancel"), () => cancel(i));
      i.bar = document.createElement("progress");
      i.bar.max = file.size || 1;
      i.bar.value = 0;
      i.bar.setAttribute("aria-label", file.name);
      i.says = make("div", "queue-says");
      i.says.setAttribute("role", "status");
      i.flow = make("p", "note", size(file.size) + " · " + say("waiting"));
      line.append(i.name, i.cancel);
      i.row.append(line, i.bar, i.flow, i.says);
      list.append(i.row);
      items.push(i);
    }
    update();
    next();
  }

  function next() {
    for (const i of items) {
      if (items.filter((x) => x.state === "sending").length >= atOnce) { break; }
      if (i.state === "waiting") { run(i); }
    }
    update();
  }
  function cancel(i) {
    i.state = "refused";
    if (i.xhr) { i.xhr.abort(); }
    i.row.remove();
    items.splice(items.indexOf(i), 1);
    next();
  }
  function tell(i, text, ...more) {
    i.says.replaceChildren(...(text ? [make("span", "", text)] : []), ...more);
  }

  // Broken is an error after which a retry may help: a lost connection or a busy instance. wait is
  // in seconds. text is the server's own message, if there is one.
  class Broken extends Error { constructor(wait, text) { super("broken"); this.wait = wait; this.text = text; } }
  class Refused extends Error {}
  class SignIn extends Error {}
  function judge(status, ours, text, wait) {
    if (!ours) { stopped(status); }
    if (status === 401) { throw new SignIn(); }
    if (status === 0 || status === 408 || status === 409 || status === 429 || status >= 500) { throw new Broken(Number(wait) || 0, status >= 500 && !text.startsWith("<") && text); }
    if (status >= 400) { throw new Refused(text.startsWith("<") ? say("The file was not accepted.") : text); }
    return text;
  }
  // stopped throws the error for a foreign response, or for a missing response with status 0.
  function stopped(status) {
    if (status === 413) { throw new Refused(say("The file is larger than the proxy before Kartei lets through.")); }
    const text = say("Kartei cannot be reached at the moment.");
    throw new Broken(0, status && (isBarred(status) ? say("A proxy before Kartei has stopped this (%s).", status) : text));
  }
  async function post(path, fields) {
    let answer;
    try { answer = await fetch(root + path, { method: "POST", headers, body: new URLSearchParams(fields), redirect: "manual" }); } catch { throw new Broken(0); }
    return judge(answer.status, isOurs(answer.headers), await answer.text().catch(() => { throw new Broken(0); }), answer.headers.get("Retry-After"));
  }
  function put(i, id) {
    return new Promise(function (resolve, reject) {
      const xhr = i.xhr = new XMLHttpRequest(), begun = performance.now();
      xhr.open("PUT", root + "/documents/upload/" + id);
      xhr.setRequestHeader("Content-Type", "application/octet-stream");
      xhr.setRequestHeader("Kartei-Person", me);
      xhr.upload.addEventListener("progress", function (event) {
        const past = (performance.now() - begun) / 1000, rate = event.loaded / Math.max(past, .1), left = Math.ceil((i.file.size - event.loaded) / Math.max(rate, 1));
        i.bar.value = Math.min(event.loaded, i.file.size);
        i.flow.textContent = say("%s of %s · %s/s · left: %s s", size(Math.min(event.loaded, i.file.size)), size(i.file.size), size(rate), left);
      });
      const end = () => { try { resolve(judge(xhr.status, xhr.status > 0 && isOursXHR(xhr), xhr.responseText, xhr.getResponseHeader("Retry-After"))); } catch (e) { reject(e); } };
      for (const name of ["load", "error", "abort", "timeout"]) { xhr.addEventListener(name, end); }
      xhr.send(i.file);
    });
  }

  // run uploads a file and creates the document. Repeating a step has no effect, since each step
  // has an idempotency key.
  async function run(i) {
    i.state = "sending";
    tell(i, "");
    for (let tried = 0; ; tried++) {
      try {
        const id = await post("/documents/upload", { "form-token": i.token, n: i.n, name: i.file.name, type: i.file.type, size: i.file.size });
        if (i.sent !== id) { await put(i, id); i.sent = id; }
        i.name.readOnly = true;
        i.operation = await post("/documents/new", { ...i.about, "form-token": i.token, n: i.n, uploadId: id, name: i.named = i.named || i.name.value.trim() || i.file.name, part: "line" });
        i.state = "checking";
        i.cancel.remove();
        i.bar.remove();
        i.flow.textContent = size(i.file.size);
        next();
        return watch(i);
      } catch (why) {
        if (!items.includes(i)) { return; }
        if (why instanceof SignIn) { askToSignIn(i); return; }
        if (why instanceof Refused) {
          i.state = "refused";
          i.bar.remove();
          i.cancel.textContent = say("Remove");
          i.row.classList.add("failed");
          i.flow.textContent = size(i.file.size);
          tell(i, say("Refused: %s", why.message));
          next();
          return;
        }
        if (!(why instanceof Broken)) { throw why; }
        if (tried >= pauses.length) {
          i.state = "broken";
          tell(i, why.text || say("The connection was lost."), button(say("Try again [upload]"), () => { i.state = "waiting"; next(); }));
          next();
          return;
        }
        const wait = Math.max(why.wait, pauses[tried]);
        tell(i, say("Interrupted. Trying again in %s s …", wait));
        await sleep(wait);
        if (!items.includes(i)) { return; }
        tell(i, "");
      }
    }
  }
  function askToSignIn(i) {
    i.state = "signin";
    const link = make("a", "", say("Sign in"));
    link.href = root + "/signin?next=" + encodeURIComponent(location.pathname);
    link.target = "_blank";
    tell(i, say("Your sign-in has ended. The file is waiting.") + " ", link, button(say("Continue"), again));
    next();
  }
  function again() {
    for (const i of items) { if (i.state === "signin") { i.state = "waiting"; } }
    next();
  }
  window.addEventListener("focus", again);

  // watch shows the progress of the operation, as text from the server, until the operation ends.
  async function watch(i) {
    for (const pause of function* () { yield* [.3, .7, 1, 2, 3]; while (true) { yield 5; } }()) {
      await sleep(pause);
      if (!i.row.isConnected) { return; }
      try { await window.htmx.ajax("GET", root + "/operations/" + i.operation + "?part=line", { source: i.says, target: i.says, swap: "innerHTML" }); } catch { continue; }
      const ended = i.says.querySelector("[data-ended]");
      if (!ended) { continue; }
      i.state = ended.classList.contains("failed") ? "refused" : "done";
      i.row.classList.add(i.state === "done" ? "done" : "failed");
      update();
      if (!items.some((x) => open(x) || x.state === "checking")) { refresh(); }
      return;
    }
  }
  // refresh reloads the list of documents to show the new ones, unless a person is typing.
  function refresh() {
    const config = target();
    if (config && "refresh" in config.dataset && !document.querySelector("main form:focus-within, main form.inline")) {
      window.htmx.ajax("GET", location.pathname + location.search, { source: "#main", target: "#main", select: "#main", swap: "outerMorph" });
    }
  }

  // --- The ways to add files.
  function aboutOf(config) {
    const fields = {};
    for (const name of ["contactId", "companyId", "taskId"]) {
      const value = config.dataset[name.toLowerCase()] || (config.elements && config.elements[name] && config.elements[name].value);
      if (value) { fields[name] = value; }
    }
    return fields;
  }
  function picker() {
    const field = make("input", "unseen");
    field.type = "file";
    field.multiple = true;
    field.tabIndex = -1;
    field.setAttribute("aria-hidden", "true");
    field.addEventListener("change", () => { add([...field.files], aboutOf(target())); field.remove(); });
    field.id = "queue-files";
    document.getElementById(field.id)?.remove();
    document.body.append(field);
    field.click();
  }
  document.addEventListener("click", function (event) {
    const link = event.target.closest && event.target.closest("a[data-pick]");
    if (link && target() && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      picker();
    }
  });
  document.addEventListener("submit", function (event) {
    const form = event.target, field = form.matches("form.upload") && form.querySelector('input[type="file"]');
    if (!field || !field.files.length) { return; }
    event.preventDefault();
    add([...field.files], aboutOf(form));
    field.value = "";
  });
  for (const field of document.querySelectorAll("form.upload input[type=file]")) { field.multiple = true; }

  let over = 0;
  const withFiles = (event) => target() && event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  const light = function (by) {
    over = Math.max(over + by, 0);
    document.body.dataset.dropSays = target()?.dataset.dropSays || "";
    document.body.classList.toggle("dropping", over > 0);
  };
  document.addEventListener("dragenter", (event) => { if (withFiles(event)) { event.preventDefault(); light(1); } });
  document.addEventListener("dragleave", (event) => { if (withFiles(event)) { light(-1); } });
  document.addEventListener("dragover", (event) => { if (withFiles(event)) { event.preventDefault(); event.dataTransfer.dropEffect = "copy"; } });
  document.addEventListener("drop", function (event) {
    if (!withFiles(event)) { return; }
    event.preventDefault();
    over = 0;
    light(0);
    const folder = (f, k) => { const e = event.dataTransfer.items[k]?.webkitGetAsEntry?.(); return e && e.isDirectory; };
    const files = [...event.dataTransfer.files].filter((f, k) => !folder(f, k));
    if (files.length < event.dataTransfer.files.length) { toast(say("Only files are accepted, not folders.")); }
    add(files, aboutOf(target()));
  });
  window.addEventListener("beforeunload", (event) => { if (items.some(open)) { event.preventDefault(); } });
})();
