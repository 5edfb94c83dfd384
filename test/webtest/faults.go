package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Axe returns the source of axe-core, which ci/setup.sh installs. root is the path of the
// repository. If axe-core is not installed, Axe skips the test, or fails it if CI is true.
func Axe(t testing.TB, root string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, ".cache/axe-4.14.1/node_modules/axe-core/axe.min.js"))
	if err != nil {
		missing(t, "axe-core is not installed: ci/setup.sh npm axe")
	}
	return string(source)
}

// look is a script that inspects a page. It opens all details elements first.
const look = `(() => {
	for (const folded of document.querySelectorAll("details")) { folded.open = true; }
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	const wide = [...document.querySelectorAll("body *")].filter((e) => {
		const style = getComputedStyle(e), box = e.getBoundingClientRect();
		if (e.matches("input, textarea, select")) { return false; }
		return box.width > 0 && style.overflowX !== "visible" && style.overflowX !== "hidden" && e.scrollWidth > e.clientWidth + 1;
	}).map((e) => e.tagName + "." + e.className);
	return {
		headings: document.querySelectorAll("h1").length,
		title: document.title,
		language: document.documentElement.lang,
		twice: ids.filter((id, i) => ids.indexOf(id) !== i),
		sideways: Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth,
		wide: wide,
	};
})()`

// lookResult is the result of look.
type lookResult struct {
	Headings, Sideways int
	Title, Language    string
	Twice, Wide        []string
}

// checkAxe is a script that runs the checks of axe-core and returns the violations. Bars that stay at
// an edge of the window go back into the page meanwhile: axe-core does not scroll, and takes a field
// that is half below a bar for too small.
const checkAxe = `(() => {
	const bars = [...document.querySelectorAll("body *")].filter((e) =>
		["sticky", "fixed"].includes(getComputedStyle(e).position) && !e.closest("dialog, [popover]"));
	const styles = bars.map((e) => e.style.position);
	bars.forEach((e) => { e.style.position = "static"; });
	return axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((r) => {
		bars.forEach((e, i) => {
			e.style.position = styles[i];
			if (!e.getAttribute("style")) e.removeAttribute("style"); // the page's policy forbids to copy it
		});
		return r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary));
	});
})()`

// noteActs is a script that records in which spans of time a person changes the page. A span begins
// with a key or click, or with the response to a request that a key or click has caused. It lasts
// thirty frames, which is half a second on an idle machine. A busy machine draws fewer frames in
// that time, but needs as many to show the change. Requests that begin within a span, such as the
// load of a new dialog, belong to the person too.
const noteActs = `(() => {
	const spans = window.acts = [], asked = new WeakSet();
	const begin = () => {
		const span = {from: performance.now() - 50, to: Infinity};
		spans.push(span);
		let left = 30;
		const count = (at) => { if (--left > 0) { requestAnimationFrame(count); } else { span.to = at; } };
		requestAnimationFrame(count);
	};
	for (const kind of ["keydown", "pointerdown", "click"]) {
		document.addEventListener(kind, (e) => { if (e.isTrusted) { begin(); } }, true);
	}
	document.addEventListener("htmx:before:request", (e) => { if (spans.some((s) => s.to === Infinity)) { asked.add(e.detail.ctx); } }, true);
	document.addEventListener("htmx:after:swap", (e) => { if (asked.has(e.detail.ctx)) { begin(); } }, true);
})()`

// shifts is a script that returns the layout shifts of the page. It leaves out shifts that a key or
// click has caused. It also leaves out shifts below a thousandth of the window, which people do not
// see. A busy machine may draw a line before it hyphenates the line.
const shifts = `new Promise((resolve) => {
	const excused = (e) => e.hadRecentInput || (window.acts ?? []).some((act) => act.from <= e.startTime && e.startTime <= act.to);
	const seen = [], place = (r) => [r.x, r.y, r.width, r.height].map(Math.round).join(",");
	const add = (list) => {
		for (const e of list) {
			if (!excused(e) && e.value >= 0.001) { seen.push(e.value.toFixed(4) + " " + e.sources.map((s) => place(s.previousRect) + " to " + place(s.currentRect) + " " + (s.node?.outerHTML?.slice(0, 120) ?? "")).join(" | ")); }
		}
	};
	const observer = new PerformanceObserver((list) => add(list.getEntries()));
	observer.observe({type: "layout-shift", buffered: true});
	setTimeout(() => { add(observer.takeRecords()); observer.disconnect(); resolve(seen); }, 50);
})`

// Shifts returns the layout shifts of the page so far: their size and the moved elements.
func (tab *Tab) Shifts() []string {
	tab.t.Helper()
	if tab.View.NoScript {
		return nil
	}
	return Eval[[]string](tab, shifts)
}

// PageFaults returns the faults of a page that was just opened. If the page has a layout shift, it
// opens the page again and returns the faults of the second time. A busy browser may paint the
// beginning of a page before the end has arrived.
func (tab *Tab) PageFaults(axe string) []string {
	tab.t.Helper()
	found := tab.Faults(axe)
	if slices.ContainsFunc(found, func(fault string) bool { return strings.HasPrefix(fault, shifted) }) {
		tab.Open(Eval[string](tab, "location.href"))
		found = tab.Faults(axe)
	}
	return found
}

// shifted is the prefix of faults about layout shifts.
const shifted = "layout shift: "

// Faults returns the faults that any page may have. These are layout shifts, wrong headings,
// duplicate ids, sideways scrolling, violations from axe-core, and messages on the console. It
// opens all details elements. axe is the source of axe-core. If axe is empty, its checks are
// skipped.
func (tab *Tab) Faults(axe string) (list []string) {
	tab.t.Helper()
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, moved := range tab.Shifts() {
		add(shifted+"%s", moved)
	}
	page := Eval[lookResult](tab, look)
	if page.Headings != 1 || page.Title == "" || page.Language == "" {
		add("%d h1, title %q, language %q", page.Headings, page.Title, page.Language)
	}
	if len(page.Twice) > 0 {
		add("ids twice: %v", page.Twice)
	}
	if page.Sideways > 0 || len(page.Wide) > 0 {
		add("%d px are beside the window, and these scroll sideways: %v", page.Sideways, page.Wide)
	}
	if axe != "" && !tab.View.NoScript {
		Eval[any](tab, axe+"; null")
		list = append(list, Eval[[]string](tab, checkAxe)...)
	}
	for _, said := range tab.Console() {
		add("the console says %s", said)
	}
	return list
}

// Transfer is a file that the page has loaded.
type Transfer struct {
	// Name is the URL of the file. Kind is the cause of the request: navigation for the page
	// itself, or else link, script, img, fetch and others.
	Name, Kind string
	// Bytes is the compressed size without headers. It is zero for a file from the browser's cache.
	Bytes int
}

const transfers = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].map((e) => ({
	name: e.name, kind: e.entryType === "navigation" ? "navigation" : e.initiatorType, bytes: e.transferSize === 0 ? 0 : e.encodedBodySize}))`

// Transfers returns the files that the page has loaded so far.
func (tab *Tab) Transfers() []Transfer {
	tab.t.Helper()
	return Eval[[]Transfer](tab, transfers)
}

// Status returns the status of the response with the page.
func (tab *Tab) Status() int {
	tab.t.Helper()
	return Eval[int](tab, `performance.getEntriesByType("navigation")[0].responseStatus`)
}
