package document_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/png"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/extract"
	"kartei/kit/fault"
	"kartei/people/principal"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/filetest"
	"kartei/test/waittest"
)

// cache is the folder of the compiled PDF reader. All tests and all runs share it.
const cache = "../../.cache/extract"

// looking returns an office that reads PDFs with the cached PDF reader.
func looking(t *testing.T, d db.DB) *apitest.Office {
	return apitest.New(t, d, apitest.Texts(extract.Options{Cache: cache}), apitest.Replicas(1))
}

// look calls an operation in the sandbox as a person with a session. On a busy machine, rendering
// a page may take longer than the call waits. So look repeats the call like the web application.
func look[Out any](t testing.TB, o *apitest.Office, principal, row string, in any) (out Out, response *api.Response) {
	t.Helper()
	for watch := waittest.New(); ; {
		out, response = lookOnce[Out](t, o, principal, row, in)
		if response.Fault == nil || response.Fault.Code != fault.Overloaded || watch.IsStuck() {
			return out, response
		}
	}
}

// lookOnce calls the operation once. The response may be the fault for a busy viewer.
func lookOnce[Out any](
	t testing.TB, o *apitest.Office, principal, row string, in any,
) (out Out, response *api.Response) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	response = o.API.Do(t.Context(), &api.Request{
		Operation: api.ByID(row), Door: api.Web, Credential: api.Cookie(o.Session(principal), true),
		Address: netip.MustParseAddr("192.0.2.7"),
		HasBody: true, Body: func() ([]byte, error) { return body, nil },
	}, nil)
	if response.Fault == nil {
		if err := json.Unmarshal(response.Body, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out, response
}

// page is the response of documents.page, as a door decodes it.
type page struct {
	Page, Pages, Width, Height int
	ContentType, Text, Reason  string
	Image                      []byte
	Hits                       []struct {
		Span  [2]int
		Boxes []struct{ X, Y, Width, Height int }
	}
}

// marked returns the parts of the text that are hits.
func (p *page) marked() (list []string) {
	for _, h := range p.Hits {
		list = append(list, p.Text[h.Span[0]:h.Span[1]])
	}
	return list
}

// TestPage checks that a page has an image, and that its hits are at the places of the search
// words. The words match with the folding of the index.
func TestPage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := looking(t, d)
		c := o.As(access.Member)
		id := c.Document("Vertrag.pdf", "application/pdf", filetest.PDF(
			"Frau M\374ller, Kaltmiete 950\nMueller und Muellerei, Tel. +49 221 98765", "Zweite Seite"))
		got, _ := look[page](t, o, c.Principal, "documents.page", map[string]any{"id": id, "q": "mueller"})
		if got.Page != 1 || got.Pages != 2 || got.Width != 794 || got.Height != 1123 || got.ContentType != "image/png" ||
			!strings.HasPrefix(got.Text, "Frau Müller, Kaltmiete") {
			t.Fatalf("%+v", got)
		}
		config, format, err := image.DecodeConfig(bytes.NewReader(got.Image))
		if err != nil || format != "png" || config.Width != got.Width || config.Height != got.Height {
			t.Errorf("the picture: %s %+v, %v", format, config, err)
		}
		if words := got.marked(); len(words) != 3 || words[0] != "Müller" || words[1] != "Mueller" {
			t.Errorf("marked are %q", words)
		}
		// Müller stands behind 'Frau ', which begins 72 points from the left. The line is at 720
		// points, and the font has 12 points.
		if b := got.Hits[0].Boxes; len(b) != 1 || b[0].X < 130 || b[0].X > 142 || b[0].Width < 45 || b[0].Width > 55 ||
			b[0].Y < 143 || b[0].Y+b[0].Height > 170 || b[0].Height < 12 {
			t.Errorf("Müller is at %+v", b)
		}
		if b := got.Hits[1].Boxes; len(b) != 1 || b[0].X > 98 || b[0].Y < got.Hits[0].Boxes[0].Y+28 {
			t.Errorf("Mueller is at %+v", b)
		}
		second, _ := look[page](t, o, c.Principal, "documents.page", map[string]any{
			"id": id, "page": 2, "dpi": 144, "withoutImage": true,
		})
		if second.Text != "Zweite Seite" || second.Width != 1190 || second.Image != nil || len(second.Hits) != 0 {
			t.Errorf("%+v", second)
		}
	})
}

// TestLookingNeedsTheRight checks that only callers who see a document get its pages and its
// text. Wrong input is refused with the reason.
func TestLookingNeedsTheRight(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := looking(t, d)
		c := o.As(access.Member)
		private := c.Document("privat.txt", "text/plain", []byte("Kaltmiete"), map[string]any{"visibility": "private"})
		shared := c.Document("alle.txt", "text/plain", []byte("Kaltmiete"))
		foreign, _ := o.Organization("Andere")
		for _, row := range []string{"documents.page", "documents.text"} {
			for who, principal := range map[string]string{
				"owner": c.Principal, "colleague": o.User(access.Member), "admin": o.User(access.Admin),
				"stranger": o.User(access.Admin, foreign),
			} {
				for id, sees := range map[string]bool{private: who == "owner" || who == "admin", shared: who != "stranger"} {
					if _, got := look[page](t, o, principal, row, map[string]any{"id": id}); (got.Status == 200) != sees ||
						!sees && got.Status != 404 {
						t.Errorf("%s as %s of %s: %d %s", row, who, id, got.Status, got.Body)
					}
				}
			}
			for _, in := range []map[string]any{
				{"id": shared, "page": -1, "part": -1},
				{"id": shared, "page": 1 << 40, "part": 2},
			} {
				delete(in, map[string]string{"documents.page": "part", "documents.text": "page"}[row])
				if _, got := look[page](t, o, c.Principal, row, in); got.Status != 422 {
					t.Errorf("%s %v: %d %s", row, in, got.Status, got.Body)
				}
			}
		}
		if _, got := look[page](t, o, c.Principal, "documents.page",
			map[string]any{"id": shared, "dpi": 300}); got.Status != 422 || !strings.Contains(string(got.Body), `"dpi"`) {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		without := o.User(access.Member)
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{
			ID:     without,
			Rights: access.Rights{"documents": access.NoRight},
		}); err != nil {
			t.Fatal(err)
		}
		for _, row := range []string{"documents.page", "documents.text"} {
			if _, got := look[page](t, o, without, row, map[string]any{"id": shared}); got.Status != 403 {
				t.Errorf("%s without the right to read documents: %d %s", row, got.Status, got.Body)
			}
		}
		c.Do("DELETE", "/documents/"+shared, nil, "If-Match", "*").Want(204)
		if _, got := look[page](t, o, c.Principal, "documents.text", map[string]any{"id": shared}); got.Status != 404 {
			t.Errorf("a deleted document: %d %s", got.Status, got.Body)
		}
	})
}

// text is the response of documents.text, as a door decodes it.
type text struct {
	Part, Parts int
	Paged       bool
	Text        string
	Marks       [][2]int
	Found       []struct{ Part, Hits int }
	Reason      string
}

// TestText checks that the text of a document is divided into parts, and that the first part with
// a hit is the default.
func TestText(t *testing.T) {
	o := looking(t, dbtest.SQLite(t))
	c := o.As(access.Member)
	long := strings.Repeat("Ein Absatz ohne Belang, der eine Zeile lang ist.\n\n", 1000) +
		"Frau Müller zahlt die Kaltmiete.\n"
	letter := c.Document("a.txt", "text/plain", []byte(long))
	paper := c.Document("b.pdf", "application/pdf", filetest.PDF("Eins", "", "Frau M\374ller\nMueller"))
	got, _ := look[text](t, o, c.Principal, "documents.text", map[string]any{"id": letter, "q": "mueller kaltm"})
	if got.Part != got.Parts || got.Parts < 4 || got.Paged || len(got.Found) != 1 || got.Found[0].Part != got.Part ||
		got.Found[0].Hits != 2 {
		t.Errorf("%d of %d, %+v", got.Part, got.Parts, got.Found)
	}
	if len(got.Marks) != 2 || got.Text[got.Marks[0][0]:got.Marks[0][1]] != "Müller" ||
		!strings.HasPrefix(got.Text[got.Marks[1][0]:], "Kaltm") {
		t.Errorf("%v in %q", got.Marks, got.Text)
	}
	all := ""
	for part := range got.Parts {
		one, _ := look[text](t, o, c.Principal, "documents.text", map[string]any{"id": letter, "part": part + 1})
		all += one.Text + "\n\n"
	}
	if strings.TrimSpace(all) != strings.TrimSpace(long) {
		t.Errorf("the parts are not the whole: %d and %d bytes", len(all), len(long))
	}
	got, _ = look[text](t, o, c.Principal, "documents.text", map[string]any{"id": paper, "q": "Müller"})
	if !got.Paged || got.Part != 3 || got.Parts != 3 || got.Text != "Frau Müller\nMueller" || len(got.Marks) != 2 ||
		fmt.Sprint(got.Found) != "[{3 2}]" {
		t.Errorf("%+v", got)
	}
}

// countingStore is a store that counts how often a file is opened. Open fails if fails is set.
type countingStore struct {
	blob.Store
	opens *atomic.Int64
	fails *atomic.Value // a value of type failure
}

type failure struct{ error }

func (s countingStore) Open(ctx context.Context, name string) (blob.Reader, error) {
	s.opens.Add(1)
	if f, _ := s.fails.Load().(failure); f.error != nil {
		return nil, f.error
	}
	return s.Store.Open(ctx, name)
}

// TestFiftyPeople checks that a page is rendered once if fifty people request it at the same
// time. The rights of each of them are checked. A failure of the store is not stored as a failure
// of the document.
func TestFiftyPeople(t *testing.T) {
	var opens atomic.Int64
	var fails atomic.Value
	o := apitest.New(t, dbtest.SQLite(t), apitest.Texts(extract.Options{Cache: cache}), apitest.Replicas(1),
		apitest.Stored(func(s blob.Store) blob.Store { return countingStore{s, &opens, &fails} }))
	c := o.As(access.Member)
	id := c.Document("Vertrag.pdf", "application/pdf", filetest.PDF("Kaltmiete 950"))
	foreign, _ := o.Organization("Andere")
	before := opens.Load()
	var people, strangers []string
	for range 50 {
		people = append(people, o.User(access.Member))
	}
	for range 5 {
		strangers = append(strangers, o.User(access.Admin, foreign))
	}
	in := map[string]any{"id": id, "q": "kalt"}
	var wg sync.WaitGroup
	for _, person := range people {
		wg.Go(func() {
			got, answer := look[page](t, o, person, "documents.page", in)
			if len(got.Image) == 0 || len(got.Hits) != 1 {
				t.Errorf("%d %.200s", answer.Status, answer.Body)
			}
		})
	}
	for _, person := range strangers {
		wg.Go(func() {
			if _, answer := look[page](t, o, person, "documents.page", in); answer.Status != 404 {
				t.Errorf("a stranger: %d", answer.Status)
			}
		})
	}
	wg.Wait()
	if n := opens.Load() - before; n != 1 {
		t.Errorf("it was drawn %d times", n)
	}
	for want, err := range map[int]error{429: extract.ErrBusy, 502: errors.New("away"), 500: blob.ErrDamaged} {
		fails.Store(failure{err})
		_, answer := lookOnce[page](t, o, c.Principal, "documents.page", map[string]any{"id": id, "dpi": 144})
		if want == 500 && !strings.Contains(string(answer.Body), "lässt sich im Speicher des Servers nicht mehr lesen") {
			t.Errorf("%v: %s", err, answer.Body)
		}
		if answer.Status != want || (answer.Header["Retry-After"] == nil) != (want == 500) {
			t.Errorf("%v: %d %v", err, answer.Status, answer.Header["Retry-After"])
		}
	}
}

// TestMarksOnPages checks that a telephone number is marked in every notation. A word that is
// broken over two lines has one box on each line.
func TestMarksOnPages(t *testing.T) {
	o := looking(t, dbtest.SQLite(t))
	c := o.As(access.Member)
	id := c.Document("a.pdf", "application/pdf",
		filetest.PDF("Tel. +49 \\(221\\) 98765-0\nAnruf unter 0221\n98765-0 erbeten, a.berg@example.com"))
	for q, want := range map[string]string{
		"0221 98": "[+49 (221) 98 0221\n98]", "022198765": "[+49 (221) 98765 0221\n98765]", "berg": "[berg]",
		"a.berg@example.com": "[a.berg@example.com]",
		"nichts":             "[]", "": "[]", "erbeten tel": "[Tel erbeten]",
	} {
		got, _ := look[page](t, o, c.Principal, "documents.page", map[string]any{"id": id, "q": q})
		if words := fmt.Sprint(got.marked()); words != want {
			t.Errorf("%q marks %s, want %s", q, words, want)
		}
		for _, h := range got.Hits {
			if lines := 1 + strings.Count(got.Text[h.Span[0]:h.Span[1]], "\n"); len(h.Boxes) != lines {
				t.Errorf("%q has %d boxes for %d lines: %+v", q, len(h.Boxes), lines, h.Boxes)
			}
		}
	}
}
