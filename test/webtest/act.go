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

// Effort counts the acts of a person. A key with modifiers counts as one key.
type Effort struct {
	// Keys is the number of keys pressed, without typed text. Typed is the number of characters in
	// typed text.
	Keys, Typed int
	// Clicks is the number of clicks and taps.
	Clicks int
}

// These constants are keys without a character.
const (
	Enter     = kb.Enter
	Tabulator = kb.Tab
	Escape    = kb.Escape
	Down      = kb.ArrowDown
	Up        = kb.ArrowUp
	Home      = kb.Home
	End       = kb.End
)

// asPressed changes the event of a key to the event of a real keyboard. Only then can a script
// prevent the browser's own reaction to the key.
func asPressed(p *input.DispatchKeyEventParams) {
	if p.Type == kb.KeyDown {
		p.Type = input.DispatchKeyEventTypeRawKeyDown
	}
}

// Press presses keys one after the other, in the focused element.
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

// ShiftTab moves the focus to the previous element.
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

// Click clicks the first element that matches the selector. In a view with Touch, it taps the
// element.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.Effort.Clicks++
	act := chromedp.Click(chromedp.CSS(selector))
	if tab.View.Touch {
		act = chromedp.Tap(chromedp.CSS(selector))
	}
	tab.must("click "+selector, func(ctx context.Context) error {
		for {
			// If the page changes between the search for the element and the click, the browser
			// reports that the element is gone. Then nothing was clicked.
			if err := chromedp.Do(ctx, act); err == nil || !strings.Contains(err.Error(), "Could not find node") {
				return err
			}
		}
	})
}

// Fill replaces the value of a field: it clicks the field and types the text.
func (tab *Tab) Fill(selector, text string) {
	tab.t.Helper()
	tab.Click(selector)
	before := tab.Effort
	// A new line on the page may have moved the field away from the click.
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
	tab.Effort = before // A person would type over the text at once.
	tab.Type(text)
}

// Choose sets the files of a file field.
func (tab *Tab) Choose(selector string, files ...string) {
	tab.t.Helper()
	tab.must("choose files", func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.SetUploadFiles(chromedp.CSS(selector), files))
	})
}

// pause is the time between two checks of a page.
const pause = 20 * time.Millisecond

// pageText is a script that describes the page for failures: its URL, and the URL and the kind of
// the navigation that loaded its document. The two URLs differ if a script has changed the URL.
const pageText = `(() => {
	const loaded = performance.getEntriesByType("navigation")[0];
	return location.href + " (" + loaded?.type + " of " + loaded?.name + ") " + (document.body?.innerText ?? "");
})()`

// Until waits until a script expression is true, even while another page loads. It fails the test
// if nothing on the page changes for waittest.Bound.
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

// At waits until the tab shows the page with this path, and the page is loaded.
func (tab *Tab) At(path string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf(`location.pathname === %q && document.readyState === "complete"`, path))
}

// Says waits until the visible text of the page contains text.
func (tab *Tab) Says(text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf(`document.body?.innerText.replaceAll("\u00ad", "").includes(%q)`, text))
}

// Path returns the path of the page.
func (tab *Tab) Path() string {
	tab.t.Helper()
	return Eval[string](tab, "location.pathname")
}

// DoubleClick clicks an element twice, as people do who are used to double clicks.
func (tab *Tab) DoubleClick(selector string) {
	tab.t.Helper()
	tab.Effort.Clicks += 2
	tab.must("double click "+selector, func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.DoubleClick(chromedp.CSS(selector)))
	})
}

// SetCookie sets a cookie for the site at url.
func (tab *Tab) SetCookie(url string, c *http.Cookie) {
	tab.t.Helper()
	tab.must("set a cookie", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{
			URL: url, Name: c.Name, Value: c.Value, Path: "/", HTTPOnly: new(true), Secure: &c.Secure,
		})
		return err
	})
}

// focused is a script that describes the focused element by its role or tag and its name.
const focused = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) { return ""; }
	const label = e.getAttribute("aria-label") || e.labels?.[0]?.innerText || e.innerText || e.value || e.name || "";
	return (e.getAttribute("role") || e.tagName.toLowerCase()) + " " + label.replace(/\s+/g, " ").trim().slice(0, 60);
})()`

// Focused returns the role or tag of the focused element and its name. It is empty if no element
// has the focus.
func (tab *Tab) Focused() string {
	tab.t.Helper()
	return Eval[string](tab, focused)
}

// TabOrder presses the tab key from the top of the page until the focus leaves the page, at most
// limit times. It returns the focused elements in order.
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

// Offline takes the tab off the network, or connects it again.
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

// Print shows the tab as for printing, or again as for a screen.
func (tab *Tab) Print(on bool) {
	tab.t.Helper()
	tab.must("print", func(ctx context.Context) error { return tab.media(ctx, map[bool]string{true: "print"}[on]) })
}

// Before runs a script before the scripts of each page that the tab opens from now on.
func (tab *Tab) Before(script string) {
	tab.t.Helper()
	tab.must("add a script", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// Slow adds latency to each request of the tab.
func (tab *Tab) Slow(by time.Duration) {
	tab.t.Helper()
	tab.must("slow the line down", func(ctx context.Context) error {
		rules := []*network.Conditions{{Latency: float64(by.Milliseconds()), DownloadThroughput: -1, UploadThroughput: -1}}
		_, err := chromedp.Call(ctx, network.EmulateNetworkConditionsByRule,
			network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: rules})
		return err
	})
}
