// Package webtest owns the browser of tests: one Chromium, a tab for each size and colour scheme.
package webtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// patience is the time that a page and its checks may take on a busy machine.
const patience = 2 * time.Minute

// View is how a reader looks at a page.
type View struct {
	Width    int
	Dark     bool
	NoScript bool
}

// String names the view in messages.
func (v View) String() string {
	s := fmt.Sprintf("%d px, light", v.Width)
	if v.Dark {
		s = fmt.Sprintf("%d px, dark", v.Width)
	}
	if v.NoScript {
		s += ", without script"
	}
	return s
}

// Browser is a running Chromium.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// Start starts a browser, which ends with the test. If none is installed, the
// test is skipped, or fails with CI=true.
func Start(t testing.TB) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeAll := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		closeAll()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	return &Browser{t: t, ctx: ctx}
}

// chromium returns the browser's path.
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

// Axe returns the source of axe-core, which ci/setup.sh installs. root is the
// folder of the repository.
func Axe(t testing.TB, root string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, ".cache/axe-4.14.1/node_modules/axe-core/axe.min.js"))
	if err != nil {
		missing(t, "axe-core is not installed: ci/setup.sh npm axe")
	}
	return string(source)
}

// Tab is a tab of the browser, in one view.
type Tab struct {
	t    testing.TB
	ctx  context.Context
	View View

	mu      sync.Mutex
	console []string
	marks   chan string
}

// Tab opens a tab.
func (b *Browser) Tab(v View) *Tab {
	b.t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	b.t.Cleanup(closeTab)
	tab := &Tab{t: b.t, ctx: ctx, View: v, marks: make(chan string, 1)}
	if err := chromedp.Do(ctx); err != nil { // with this context: otherwise the tab closes at the end of its first call's context
		b.t.Fatalf("open a tab (%s): %v", v, err)
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	tab.must("open a tab", func(ctx context.Context) error {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(int64(v.Width), 900)); err != nil {
			return err
		}
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})
		return err
	})
	messages := chromedp.Console(ctx)
	go tab.listen(messages)
	return tab
}

// endOfPage is a line that a tab writes to its console to mark the end of
// earlier output.
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
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := f(ctx); err != nil {
		tab.t.Fatalf("%s (%s): %v", what, tab.View, err)
	}
}

// Open loads a page and waits until its scripts have run.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	tab.must(url, func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Navigate(url)) })
}

// Eval evaluates an expression in the page. The page's content security policy
// does not apply to it.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	var value T
	tab.must(expression[:min(len(expression), 80)], func(ctx context.Context) (err error) {
		value, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
		return err
	})
	return value
}

// Press presses keys, which go to the focused element.
func (tab *Tab) Press(keys string) {
	tab.t.Helper()
	tab.must("keys", func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.KeyEvent(keys)) })
}

// Click clicks the first element that a selector matches.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.must("click "+selector, func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector))) })
}

// Screenshot writes a picture of the window, or of the whole page.
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

// Console returns the browser's console since the last call: messages,
// exceptions, and violations of the content security policy.
func (tab *Tab) Console() []string {
	tab.t.Helper()
	Eval[any](tab, fmt.Sprintf("console.debug(%q), null", endOfPage))
	select {
	case <-tab.marks:
	case <-time.After(patience):
		tab.t.Fatal("the browser's console says nothing")
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	said := tab.console
	tab.console = nil
	return said
}
