package acts

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"kartei/bench/browser"
	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
)

// MeasureWholeList measures how long it takes to add a tag to all contacts of an office, and to
// remove it again. It uses the web application of the real program. It also measures how long other
// people of the office wait meanwhile.
func MeasureWholeList(ctx context.Context, b *measure.Bench) error {
	return atWork(ctx, b, nil, tagAll)
}

// tagAll adds a tag to all contacts and undoes the change, since the office stays for later runs.
func tagAll(
	ctx context.Context, b *measure.Bench, _ *data.Office, _ data.Clerk, v *browser.Visitor,
) ([]report.Figure, error) {
	quiet, err := quiet(ctx, b, v)
	if err != nil {
		return nil, err
	}
	w := &wholeList{Visitor: v}
	var took, undone time.Duration
	busy, err := work(ctx, v, func(ctx context.Context) (err error) {
		took, err = w.step(ctx, "/sandbox/contacts", "/sandbox/bulk/contacts/tag")
		return err
	})
	if err != nil {
		return nil, err
	}
	undoing, err := work(ctx, v, func(ctx context.Context) (err error) {
		undone, err = w.step(ctx, w.path, w.path+"/undo")
		return err
	})
	if err != nil {
		return nil, err
	}
	per := 10_000 / float64(b.Records)
	list := []report.Figure{
		{
			What:     fmt.Sprintf("a tag for %d contacts, for each 10,000", b.Records),
			Measured: fmt.Sprintf("%.1f s", took.Seconds()*per), Value: took.Seconds() * per, Reached: true,
		},
		{
			What: "taken back, for each 10,000", Measured: fmt.Sprintf("%.1f s", undone.Seconds()*per),
			Value: undone.Seconds() * per, Reached: true,
		},
	}
	during, err := besides(quiet, busy, "during a change of a whole list")
	if err != nil {
		return nil, err
	}
	after, err := besides(quiet, undoing, "while it is taken back")
	return append(append(list, during...), after...), err
}

// wholeList is the browser of a person who changes a whole list. path is the page of the change.
type wholeList struct {
	*browser.Visitor
	path string
}

// step sends a form of a page, and returns the time until the background job has ended.
func (w *wholeList) step(ctx context.Context, page, action string) (time.Duration, error) {
	_, shown, err := w.Request(ctx, "GET", page, nil, false)
	if err != nil {
		return 0, err
	}
	form := browser.Hidden(string(shown), action)
	form.Set("whole", "1")
	form.Set("tag", "Lasttest")
	begin := time.Now()
	answer, said, err := w.Request(ctx, "POST", action, form, false)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusSeeOther {
		return 0, fmt.Errorf("%s: %s %.500s", action, answer.Status, said)
	}
	w.path = answer.Header.Get("Location")
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second / 2):
		}
		_, shown, err := w.Request(ctx, "GET", w.path, nil, false)
		if err != nil {
			return 0, err
		}
		if !strings.Contains(string(shown), "data-underway") {
			return time.Since(begin), nil
		}
	}
}
