package acts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/bench/browser"
	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
)

const (
	// importGoal is the maximum time for an import of 10,000 contacts.
	importGoal = 30 * time.Second
	// others is the number of people who work meanwhile. otherPause is the time that each waits
	// between two calls, so that the processors are not fully used.
	others, otherPause = 4, 20 * time.Millisecond
)

// MeasureImport measures how long the import of a file with --imports contacts takes in the web
// application of the real program. It also measures how long the others of the office wait
// meanwhile.
func MeasureImport(ctx context.Context, b *measure.Bench) error { return atWork(ctx, b, nil, moveIn) }

// importer is the browser of a person who imports a file. path is the page of the import.
type importer struct {
	*browser.Visitor
	path string
}

func moveIn(
	ctx context.Context, b *measure.Bench, _ *data.Office, _ data.Clerk, v *browser.Visitor,
) ([]report.Figure, error) {
	quiet, err := quiet(ctx, b, v)
	if err != nil {
		return nil, err
	}
	i := &importer{Visitor: v}
	var checked, took, undone time.Duration
	busy, err := work(ctx, v, func(ctx context.Context) (err error) {
		if err := i.upload(ctx, b.Imports); err != nil {
			return err
		}
		if checked, err = i.step(ctx, "/columns", "Jetzt importieren", "Import now"); err != nil {
			return err
		}
		took, err = i.step(ctx, "/run", "/undo", "/undo")
		return err
	})
	if err != nil {
		return nil, err
	}
	undoing, err := work(ctx, v, func(ctx context.Context) (err error) {
		undone, err = i.step(ctx, "/undo", "wieder gelöscht", "deleted again")
		return err
	})
	if err != nil {
		return nil, err
	}
	per := 10_000 / float64(b.Imports)
	list := []report.Figure{
		{What: fmt.Sprintf("an import of %d contacts, for each 10,000", b.Imports),
			Goal:     fmt.Sprintf("< %.0f s", importGoal.Seconds()),
			Measured: fmt.Sprintf("%.1f s", took.Seconds()*per), Value: took.Seconds() * per,
			Reached: took.Seconds()*per < importGoal.Seconds()},
		{
			What: "its dry run, for each 10,000", Measured: fmt.Sprintf("%.1f s", checked.Seconds()*per),
			Value: checked.Seconds() * per, Reached: true,
		},
		{
			What: "undoing it, for each 10,000", Measured: fmt.Sprintf("%.1f s", undone.Seconds()*per),
			Value: undone.Seconds() * per, Reached: true,
		},
	}
	during, err := besides(quiet, busy, "during an import")
	if err != nil {
		return nil, err
	}
	meanwhile, err := besides(quiet, undoing, "while it is undone")
	return slices.Concat(list, during, meanwhile), err
}

// upload uploads a CSV file of new contacts with companies, and waits until its columns were read.
func (i *importer) upload(ctx context.Context, entries int) error {
	_, page, err := i.Request(ctx, "GET", "/settings/data/new", nil, false)
	if err != nil {
		return err
	}
	p := data.NewPeople([]string{""})
	body := new(bytes.Buffer)
	w := multipart.NewWriter(body)
	for name, values := range browser.Hidden(string(page), "/settings/data/new") {
		_ = w.WriteField(name, values[0])
	}
	file, err := w.CreateFormFile("file", "bench.csv")
	if err != nil {
		return err
	}
	mark := strconv.FormatInt(time.Now().UnixNano(), 36)
	fmt.Fprintln(file, "Nachname;Vorname;Firma;E-Mail;Telefon;Mobil;PLZ;Ort;Mandantennummer")
	cell := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	for n := range entries {
		f := p.Next()
		city, code := "", ""
		if f.Address != nil {
			city, code = cell(f.Address.City), cell(f.Address.PostalCode)
		}
		fmt.Fprintf(file, "%s;%s;Firma %s %d;%s;%s;%s;%s;%s;%s-%d\n", cell(f.LastName), cell(f.FirstName), mark, n/20,
			cell(f.Email), cell(f.Phone), cell(f.Mobile), code, city, mark, n)
	}
	if err := w.Close(); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", i.Base+"/settings/data/new", body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Cookie", i.Cookie)
	answer, err := i.Client.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if i.path = answer.Header.Get("Location"); err != nil || answer.StatusCode != http.StatusSeeOther {
		return fmt.Errorf("the file: %s %v %.300s", answer.Status, err, text)
	}
	_, err = i.await(ctx, i.path+"/columns", i.path+"/columns")
	return err
}

// await requests the page of the import until the page contains one of the texts. It returns the
// page.
func (i *importer) await(ctx context.Context, texts ...string) (string, error) {
	for {
		answer, page, err := i.Request(ctx, "GET", i.path, nil, false)
		if err != nil {
			return "", err
		}
		if answer.StatusCode != http.StatusOK {
			return "", fmt.Errorf("the import: %s", answer.Status)
		}
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(string(page), t) }) {
			return string(page), nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

var (
	columnTags = regexp.MustCompile(`(?s)<select[^>]*name="(target\.\d+)"[^>]*>(.*?)</select>`)
	chosenTag  = regexp.MustCompile(`value="([^"]*)" selected`)
)

// step sends a form of the import's page. It returns the time until the page contains one of the
// texts.
func (i *importer) step(ctx context.Context, act string, texts ...string) (time.Duration, error) {
	path := i.path
	if act == "/undo" {
		path += act
	}
	_, page, err := i.Request(ctx, "GET", path, nil, false)
	if err != nil {
		return 0, err
	}
	form := browser.Hidden(string(page), i.path+act)
	if act == "/columns" {
		form = url.Values{"form-token": form["form-token"], "duplicates": {"skip"}}
		for _, field := range columnTags.FindAllStringSubmatch(string(page), -1) {
			form.Set(field[1], strings.Join(chosenTag.FindStringSubmatch(field[2])[1:], ""))
		}
	}
	begin := time.Now()
	answer, body, err := i.Request(ctx, "POST", i.path+act, form, false)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusSeeOther {
		return 0, fmt.Errorf("%s: %s %.300s", act, answer.Status, body)
	}
	_, err = i.await(ctx, texts...)
	return time.Since(begin), err
}
