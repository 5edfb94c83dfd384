// Package webtest owns the browser of tests: a Chromium with tabs, forms, and checks for faults of pages.
package webtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"kartei/test/waittest"
)

// View is the kind of screen and browser with which a person looks at a page.
type View struct {
	Width    int
	Dark     bool
	NoScript bool
	// Touch says that the screen is a touch screen.
	Touch bool
	// Language is the preferred language of the browser. The default is English.
	Language string
}

// String describes the view for messages.
func (v View) String() string {
	s := fmt.Sprintf("%d px, light", v.Width)
	if v.Dark {
		s = fmt.Sprintf("%d px, dark", v.Width)
	}
	if v.Touch {
		s += ", touched"
	}
	if v.NoScript {
		s += ", without script"
	}
	return s
}

// Browser is the running Chromium, used by one test.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// Start returns the browser of the test program. The first call starts it, and Stop ends it. If
// Chromium is not installed, Start skips the test, or fails it if CI is true.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := chromium(t)
	running.Lock()
	defer running.Unlock()
	for try := 0; running.ctx == nil; try++ {
		if err := running.start(path); err != nil && try == 2 {
			t.Fatalf("the browser does not start: %v", err)
		}
	}
	return &Browser{t: t, ctx: running.ctx}
}

// Stop ends the browser of the test program, if it runs.
func Stop() {
	running.Lock()
	defer running.Unlock()
	if running.ctx != nil {
		running.stop()
		running.ctx = nil
	}
}

// running is the browser that all tests of a package share. Each test opens tabs for new people,
// which have their own cookies and cache.
var running process

type process struct {
	sync.Mutex
	ctx  context.Context
	stop func()
}

// start starts the browser. A few in a thousand starts hang. Then start ends the browser and
// returns an error, so that the caller can try again.
func (p *process) start(path string) error {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-component-update", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeAll := chromedp.NewContext(allocator)
	tooLong := time.AfterFunc(waittest.Bound, stop) // A deadline of the context would end the browser later.
	err := chromedp.Do(ctx)
	if !tooLong.Stop() && err == nil {
		err = context.DeadlineExceeded
	}
	p.stop = func() {
		closeAll()
		stop()
	}
	if err != nil {
		p.stop()
		return err
	}
	p.ctx = ctx
	return nil
}

// chromium returns the path of the browser. It skips or fails the test if there is none.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "chromium is not installed (Debian: apt-get install chromium)")
	return ""
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// Tab is a tab of the browser, with one view.
type Tab struct {
	t    testing.TB
	ctx  context.Context
	View View
	// Effort is the effort of the tab's person so far.
	Effort Effort

	mu      sync.Mutex
	console []string
	marks   chan string
}

// Tab opens a tab for a new person. It shares no cookies and no cache with other tabs.
func (b *Browser) Tab(v View) *Tab {
	b.t.Helper()
	return open(b.t, b.ctx, v, chromedp.WithNewBrowserContext())
}

// Beside opens another tab for the same person.
func (tab *Tab) Beside(v View) *Tab {
	tab.t.Helper()
	return open(tab.t, tab.ctx, v)
}

func open(t testing.TB, parent context.Context, v View, o ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(parent, o...)
	t.Cleanup(closeTab)
	tab := &Tab{t: t, ctx: ctx, View: v, marks: make(chan string, 1)}
	tooLong := time.AfterFunc(waittest.Bound, closeTab) // A deadline of the context would close the tab later.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab (%s): %v", v, err)
	}
	tooLong.Stop()
	tab.must("open a tab", tab.emulate)
	tab.Before(noteActs)
	messages := chromedp.Console(ctx)
	go tab.listen(messages)
	return tab
}

// Opens clicks an element that opens a window, and returns the tab in the new window.
func (tab *Tab) Opens(selector string) *Tab {
	tab.t.Helper()
	opened := chromedp.WaitNewTarget(tab.ctx, func(i *target.Info) bool { return i.Type == "page" })
	tab.Click(selector)
	watch := waittest.New()
	select {
	case id := <-opened:
		return open(tab.t, tab.ctx, tab.View, chromedp.WithTargetID(id))
	case <-watch.Stuck(selector):
		tab.t.Fatalf("%s opens no window (%s)", selector, tab.View)
	}
	return nil
}

// EmptyCache removes all files from the cache of the browser.
func (tab *Tab) EmptyCache() {
	tab.t.Helper()
	tab.must("empty the cache", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, network.ClearBrowserCache, cdp.Empty{})
		return err
	})
}

// emulate sets the screen, the language and the scripting of the tab as its view says.
func (tab *Tab) emulate(ctx context.Context) error {
	var o []chromedp.EmulateViewportOption
	if tab.View.Touch {
		o = append(o, chromedp.EmulateTouch)
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(int64(tab.View.Width), 900, o...)); err != nil {
		return err
	}
	if err := tab.media(ctx, ""); err != nil {
		return err
	}
	if tab.View.Language != "" {
		if _, err := chromedp.Call(ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
			Headers: network.Headers{"Accept-Language": tab.View.Language},
		}); err != nil {
			return err
		}
	}
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: tab.View.NoScript})
	return err
}

// media sets the CSS media type: print, or empty for a screen.
func (tab *Tab) media(ctx context.Context, kind string) error {
	scheme := "light"
	if tab.View.Dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: kind,
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	return err
}

// endOfPage begins a console message that a tab writes to mark the end of earlier messages.
const endOfPage = "webtest: the end of "

func (tab *Tab) listen(messages func(func(chromedp.ConsoleMessage, error) bool)) {
	for m, err := range messages {
		if err != nil {
			return
		}
		if page, ended := strings.CutPrefix(m.Text, endOfPage); ended {
			tab.marks <- page
			continue
		}
		tab.mu.Lock()
		tab.console = append(tab.console, m.String())
		tab.mu.Unlock()
	}
}

func (tab *Tab) must(what string, f func(ctx context.Context) error) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, waittest.Bound)
	defer cancel()
	if err := f(ctx); err != nil {
		tab.t.Fatalf("%s (%s): %v", what, tab.View, err)
	}
}

// Open loads a page and waits until its scripts have run. It discards changes of a form, so that
// the browser does not ask before it leaves the page.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	Eval[any](tab, `document.querySelectorAll("form[data-started]").forEach((form) => delete form.dataset.started), null`)
	tab.must(url, func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Navigate(url)) })
	if !tab.View.NoScript {
		Eval[any](tab, firstFrame)
	}
}

// firstFrame is a script that waits until the page is drawn. Before that, the browser drops keys. A
// hidden tab draws nothing, so the script waits half a second at most.
const firstFrame = `Promise.race([new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))), new Promise((unseen) => setTimeout(unseen, 500))]).then(() => null)`

// Eval evaluates a script expression in the page and returns its value. The content security policy
// of the page does not apply to the expression.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	var value T
	tab.must(expression[:min(len(expression), 80)], func(ctx context.Context) (err error) {
		value, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
		return err
	})
	return value
}

// Screenshot writes an image of the window, or of the whole page, to a file.
func (tab *Tab) Screenshot(file string, whole bool) {
	tab.t.Helper()
	tab.must(file, func(ctx context.Context) error {
		take := chromedp.CaptureScreenshot()
		if whole {
			take = chromedp.FullScreenshot(100)
		}
		picture, err := chromedp.Run(ctx, take)
		if err != nil {
			return err
		}
		return os.WriteFile(file, picture, 0o644)
	})
}

// Console returns the messages, exceptions and violations of the content security policy on the
// console since the last call.
func (tab *Tab) Console() []string {
	tab.t.Helper()
	Eval[any](tab, fmt.Sprintf("console.debug(%q), null", endOfPage))
	select {
	case <-tab.marks:
	case <-time.After(waittest.Bound):
		tab.t.Fatal("the browser's console says nothing")
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	said := tab.console
	tab.console = nil
	return said
}
