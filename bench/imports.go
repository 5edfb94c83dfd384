package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// importGoal is the time in which 10,000 contacts are imported.
	importGoal = 30 * time.Second
	// besideOthers is the highest time of the calls of others while an import or a
	// hand-over runs, relative to that without one, for 95 of 100.
	besideOthers = 2
	// others are the people who work meanwhile. Each waits between two calls: the
	// processors are not what an office waits for.
	others, otherPause = 4, 20 * time.Millisecond
)

// onImports measures how fast a file of --imports contacts moves in, by the pages of the
// real program, and what the others of the office wait meanwhile.
func (b *bench) onImports(ctx context.Context) error { return b.atWork(ctx, nil, b.moveIn) }

// atWork measures something at an office with --records contacts, where a clerk has signed
// in. If first is not nil, it changes the office before its server starts.
func (b *bench) atWork(
	ctx context.Context, first func(context.Context, *office) error,
	measure func(context.Context, *office, clerk, *visitor) ([]figure, error),
) error {
	root := filepath.Join(b.data, "lookup")
	kept := keptOffice
	if b.postgres {
		k, err := startKept(root)
		if err != nil {
			return err
		}
		defer k.Stop()
		kept = k.office
	}
	o, err := kept(ctx, root, b.records)
	if err != nil {
		return err
	}
	c, err := hired(ctx, o, b.records)
	if err != nil {
		return err
	}
	if first != nil {
		err = first(ctx, o)
	}
	if err != nil {
		return err
	}
	s, err := serve(ctx, b.program, o.dir, o.url, b.profile != "", "--no-metered")
	if err != nil {
		return err
	}
	if b.profile != "" {
		if err := s.profile(filepath.Join(b.profile, "work.pprof")); err != nil {
			return errors.Join(err, s.end())
		}
	}
	v := &visitor{base: "http://" + s.address, client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: others},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	var list []figure
	if err = v.signIn(ctx, c.email, c.password); err == nil {
		list, err = measure(ctx, o, c, v)
	}
	if b.profile != "" {
		err = errors.Join(err, s.profile(""))
	}
	if err = errors.Join(err, s.end()); err != nil {
		return err
	}
	return b.write(os.Stdout, list)
}

// quiet is what the others wait while nothing else happens.
func (b *bench) quiet(ctx context.Context, v *visitor) (map[string]spans, error) {
	return v.work(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(b.time() * time.Duration(b.runs)):
		}
		return nil
	})
}

// importer is a clerk who imports, and the others.
type importer struct {
	*visitor
	path string
}

func (b *bench) moveIn(ctx context.Context, _ *office, _ clerk, v *visitor) ([]figure, error) {
	quiet, err := b.quiet(ctx, v)
	if err != nil {
		return nil, err
	}
	i := &importer{visitor: v}
	var checked, took, undone time.Duration
	busy, err := v.work(ctx, func(ctx context.Context) (err error) {
		if err := i.upload(ctx, b.imports); err != nil {
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
	undoing, err := v.work(ctx, func(ctx context.Context) (err error) {
		undone, err = i.step(ctx, "/undo", "wieder gelöscht", "deleted again")
		return err
	})
	if err != nil {
		return nil, err
	}
	per := 10_000 / float64(b.imports)
	list := []figure{
		{What: fmt.Sprintf("an import of %d contacts, for each 10,000", b.imports),
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

// besides compares what the others wait while something happens with what they wait
// without it.
func besides(quiet, busy map[string]spans, when string) (list []figure, err error) {
	for _, call := range []string{"the list of contacts", "a new contact"} {
		before, meanwhile := quiet[call], busy[call]
		slices.Sort(before)
		slices.Sort(meanwhile)
		if len(before) == 0 || len(meanwhile) == 0 {
			return nil, fmt.Errorf("%s %s: nobody called", call, when)
		}
		ratio := meanwhile.at(0.95) / before.at(0.95)
		list = append(list, figure{What: call + " " + when + ", of that without", Goal: fmt.Sprintf("<= %d x", besideOthers),
			Measured: fmt.Sprintf("%.2f x (%.1f of %.1f ms, 95 of 100)", ratio, meanwhile.at(0.95), before.at(0.95)),
			Value:    ratio, Reached: ratio <= besideOthers})
	}
	return list, nil
}

// work lets the others work until do has ended.
func (v *visitor) work(ctx context.Context, do func(context.Context) error) (taken map[string]spans, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	taken = map[string]spans{}
	var mu sync.Mutex
	var running sync.WaitGroup
	for range others {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name, took, err := v.other(ctx, n)
				if err != nil && ctx.Err() == nil {
					stop(err)
					return
				}
				if err == nil {
					mu.Lock()
					taken[name] = append(taken[name], took)
					mu.Unlock()
				}
				select {
				case <-ctx.Done():
				case <-time.After(otherPause):
				}
			}
		})
	}
	err = do(ctx)
	stop(nil)
	running.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return taken, err
}

// other does one thing that the others of an office do.
func (v *visitor) other(ctx context.Context, n int) (name string, took time.Duration, err error) {
	if n%3 != 0 {
		begin := time.Now()
		answer, _, err := v.request(ctx, "GET", "/contacts", nil, true)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("the list: %s", answer.Status)
		}
		return "the list of contacts", time.Since(begin), err
	}
	_, body, err := v.request(ctx, "GET", "/contacts/new", nil, false)
	if err != nil {
		return "", 0, err
	}
	form := hidden(string(body), "/contacts/new")
	form.Set("lastName", "Nebenher "+strconv.FormatInt(time.Now().UnixNano(), 36))
	begin := time.Now()
	answer, body, err := v.request(ctx, "POST", "/contacts/new", form, false)
	if err == nil && answer.StatusCode != http.StatusSeeOther {
		err = fmt.Errorf("a new contact: %s %.300s", answer.Status, body)
	}
	return "a new contact", time.Since(begin), err
}

// upload sends a table of new contacts, with companies.
func (i *importer) upload(ctx context.Context, entries int) error {
	_, page, err := i.request(ctx, "GET", "/settings/data/new", nil, false)
	if err != nil {
		return err
	}
	p := newPeople([]string{""})
	body := new(bytes.Buffer)
	w := multipart.NewWriter(body)
	for name, values := range hidden(string(page), "/settings/data/new") {
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
		f := p.next()
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
	r, err := http.NewRequestWithContext(ctx, "POST", i.base+"/settings/data/new", body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Cookie", i.cookie)
	answer, err := i.client.Do(r)
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

// await asks for the page of the import until it says one of two texts.
func (i *importer) await(ctx context.Context, texts ...string) (string, error) {
	for {
		answer, page, err := i.request(ctx, "GET", i.path, nil, false)
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

// step sends a form of the page of the import, and returns the time until the
// page shows the result.
func (i *importer) step(ctx context.Context, act string, texts ...string) (time.Duration, error) {
	path := i.path
	if act == "/undo" {
		path += act
	}
	_, page, err := i.request(ctx, "GET", path, nil, false)
	if err != nil {
		return 0, err
	}
	form := hidden(string(page), i.path+act)
	if act == "/columns" {
		form = url.Values{"form-token": form["form-token"], "duplicates": {"skip"}}
		for _, field := range columnTags.FindAllStringSubmatch(string(page), -1) {
			form.Set(field[1], strings.Join(chosenTag.FindStringSubmatch(field[2])[1:], ""))
		}
	}
	begin := time.Now()
	answer, body, err := i.request(ctx, "POST", i.path+act, form, false)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusSeeOther {
		return 0, fmt.Errorf("%s: %s %.300s", act, answer.Status, body)
	}
	_, err = i.await(ctx, texts...)
	return time.Since(begin), err
}
