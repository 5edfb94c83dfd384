package webtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"kartei/test/waittest"
)

// Effort counts what a person does. A key with modifiers is one key.
type Effort struct {
	// Keys are keys pressed, Typed the characters of words and numbers.
	Keys, Typed int
	// Clicks are clicks and taps.
	Clicks int
}

// The keys without a character.
const (
	Enter     = kb.Enter
	Tabulator = kb.Tab
	Escape    = kb.Escape
	Down      = kb.ArrowDown
	Up        = kb.ArrowUp
	Home      = kb.Home
	End       = kb.End
)

// asPressed makes a key go down as a keyboard does it. Only then does a script that
// takes the key keep the browser from acting on it too.
func asPressed(p *input.DispatchKeyEventParams) {
	if p.Type == kb.KeyDown {
		p.Type = input.DispatchKeyEventTypeRawKeyDown
	}
}

// Press presses keys, one after the other. They go to the focused element.
func (tab *Tab) Press(keys string) {
	tab.t.Helper()
	tab.Effort.Keys += utf8.RuneCountInString(keys)
	tab.must("keys", func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.KeyEvent(keys, asPressed)) })
}

// Control presses a key together with Control.
func (tab *Tab) Control(key string) {
	tab.t.Helper()
	tab.chord(key, chromedp.ModifierCtrl)
}

// ControlShift presses a key together with Control and Shift.
func (tab *Tab) ControlShift(key string) {
	tab.t.Helper()
	tab.chord(key, chromedp.ModifierCtrl, chromedp.ModifierShift)
}

// ShiftTab goes to the element before the focused one.
func (tab *Tab) ShiftTab() {
	tab.t.Helper()
	tab.chord(Tabulator, chromedp.ModifierShift)
}

func (tab *Tab) chord(key string, modifiers ...chromedp.Modifier) {
	tab.t.Helper()
	tab.Effort.Keys++
	tab.must("keys", func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.KeyEvent(key, asPressed, chromedp.KeyModifiers(modifiers...)))
	})
}

// Type types a text into the focused element.
func (tab *Tab) Type(text string) {
	tab.t.Helper()
	tab.Effort.Typed += utf8.RuneCountInString(text)
	tab.must("type", func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.KeyEvent(text, asPressed)) })
}

// Click clicks the first element that a selector matches, or taps it.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.Effort.Clicks++
	act := chromedp.Click(chromedp.CSS(selector))
	if tab.View.Touch {
		act = chromedp.Tap(chromedp.CSS(selector))
	}
	tab.must("click "+selector, func(ctx context.Context) error {
		for {
			// A page that changes between the search for the element and the press makes
			// the browser forget the element. Nothing was pressed then.
			if err := chromedp.Do(ctx, act); err == nil || !strings.Contains(err.Error(), "Could not find node") {
				return err
			}
		}
	})
}

// Fill puts a text in the place of what a field holds: a click, and typing.
func (tab *Tab) Fill(selector, text string) {
	tab.t.Helper()
	tab.Click(selector)
	before := tab.Effort
	// A line that comes meanwhile may move the field away from under the finger.
	for watch := waittest.New(); !Eval[bool](tab,
		fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, selector)); {
		if watch.IsStuck() {
			tab.t.Fatalf("%s (%s) does not get the focus", selector, tab.View)
		}
		tab.Click(selector)
	}
	tab.Control("a")
	if text == "" {
		tab.Press(kb.Delete)
	}
	tab.Effort = before // a person would write over the text in one go
	tab.Type(text)
}

// Choose gives files to a file field.
func (tab *Tab) Choose(selector string, files ...string) {
	tab.t.Helper()
	tab.must("choose files", func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.SetUploadFiles(chromedp.CSS(selector), files))
	})
}

// pause is the time between two looks at a page.
const pause = 20 * time.Millisecond

// pageText is what a failure says of a page: its address, the address of its document, and
// how the document was loaded. The addresses differ if a script changed the page's address.
const pageText = `(() => {
	const loaded = performance.getEntriesByType("navigation")[0];
	return location.href + " (" + loaded?.type + " of " + loaded?.name + ") " + (document.body?.innerText ?? "");
})()`

// Until waits until an expression is true in the page, also while the page changes
// to another. If nothing changes for a long time, the test fails.
func (tab *Tab) Until(expression string) {
	tab.t.Helper()
	watch := waittest.New()
	for {
		ok, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return
		}
		if tab.ctx.Err() != nil {
			tab.t.Fatalf("%s (%s): %v", expression, tab.View, err)
		}
		now, _ := chromedp.Run(tab.ctx, chromedp.Evaluate[string](pageText))
		select {
		case <-watch.Stuck(now):
			tab.t.Fatalf("never true (%s): %s\nerror: %v\nthe page: %.2000s", tab.View, expression, err, now)
		case <-time.After(pause):
		}
	}
}

// At waits until the tab shows a page whose path is given, and the page is loaded.
func (tab *Tab) At(path string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf(`location.pathname === %q && document.readyState === "complete"`, path))
}

// Says waits until the page shows a text.
func (tab *Tab) Says(text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf(`document.body?.innerText.replaceAll("\u00ad", "").includes(%q)`, text))
}

// Path returns the path of the page.
func (tab *Tab) Path() string {
	tab.t.Helper()
	return Eval[string](tab, "location.pathname")
}

// DoubleClick clicks an element twice, as people do who are used to it.
func (tab *Tab) DoubleClick(selector string) {
	tab.t.Helper()
	tab.Effort.Clicks += 2
	tab.must("double click "+selector, func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.DoubleClick(chromedp.CSS(selector)))
	})
}

// SetCookie gives the tab's person a cookie for the site at url.
func (tab *Tab) SetCookie(url string, c *http.Cookie) {
	tab.t.Helper()
	tab.must("set a cookie", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{
			URL: url, Name: c.Name, Value: c.Value, Path: "/", HTTPOnly: new(true), Secure: &c.Secure,
		})
		return err
	})
}

// focused describes the focused element: its role or tag, and its name.
const focused = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) { return ""; }
	const label = e.getAttribute("aria-label") || e.labels?.[0]?.innerText || e.innerText || e.value || e.name || "";
	return (e.getAttribute("role") || e.tagName.toLowerCase()) + " " + label.replace(/\s+/g, " ").trim().slice(0, 60);
})()`

// Focused describes the focused element by its role and its name. It is empty if
// nothing has the focus.
func (tab *Tab) Focused() string {
	tab.t.Helper()
	return Eval[string](tab, focused)
}

// TabOrder walks through the page with the tabulator until it comes to the
// beginning again, at most so many steps, and returns what had the focus.
func (tab *Tab) TabOrder(limit int) (order []string) {
	tab.t.Helper()
	Eval[any](tab, `document.activeElement?.blur(), getSelection()?.removeAllRanges(), window.scrollTo(0, 0), null`)
	for range limit {
		tab.Press(Tabulator)
		now := tab.Focused()
		if now == "" {
			return order
		}
		order = append(order, now)
	}
	return order
}

// Offline cuts the tab off the network, or connects it again.
func (tab *Tab) Offline(off bool) {
	tab.t.Helper()
	tab.must("cut the line", func(ctx context.Context) error {
		rules := []*network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}}
		if _, err := chromedp.Call(ctx, network.EmulateNetworkConditionsByRule,
			network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: rules}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, network.OverrideNetworkState,
			network.OverrideNetworkStateParams{Offline: off, DownloadThroughput: -1, UploadThroughput: -1})
		return err
	})
}

// Print shows the tab as it is printed, or as on a screen again.
func (tab *Tab) Print(on bool) {
	tab.t.Helper()
	tab.must("print", func(ctx context.Context) error { return tab.media(ctx, map[bool]string{true: "print"}[on]) })
}

// Before runs a script in each page that the tab opens from now on, before the page's
// own scripts.
func (tab *Tab) Before(script string) {
	tab.t.Helper()
	tab.must("add a script", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// Slow makes each answer of the network take longer.
func (tab *Tab) Slow(by time.Duration) {
	tab.t.Helper()
	tab.must("slow the line down", func(ctx context.Context) error {
		rules := []*network.Conditions{{Latency: float64(by.Milliseconds()), DownloadThroughput: -1, UploadThroughput: -1}}
		_, err := chromedp.Call(ctx, network.EmulateNetworkConditionsByRule,
			network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: rules})
		return err
	})
}
