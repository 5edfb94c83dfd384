package sample

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/extract"
	"kartei/extract/filetype"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// TestMain makes the test program serve as the child process that reads texts too.
func TestMain(m *testing.M) {
	extract.Child(os.Args)
	dbtest.Main(m)
}

// TestDocuments shares one extractor between its subtests. For PDFs the extractor needs seconds to
// start, unless another package has filled the cache.
func TestDocuments(t *testing.T) {
	extractor, err := extract.New(extract.Options{Cache: "../../.cache/extract"})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("papers", func(t *testing.T) { testPapers(t, extractor) })
	t.Run("office", func(t *testing.T) { testFile(t, extractor) })
}

// testPapers checks that each paper has the declared type and a readable text.
func testPapers(t *testing.T, extractor *extract.Extractor) {
	// Each of these words occurs in only one paper.
	words := map[string]string{
		"Nebenkostenabrechnung": "Einwendungsfrist", "Klageschrift": "Betriebsrat", "Einspruch": "Handwerkerleistungen",
		"Nachlassverzeichnis":  "Münzsammlung",
		"Unterhaltsberechnung": "Düsseldorfer", "Schadensmeldung": "Kotflügel", "Lohnjournal": "Kurzarbeitergeld",
		"Unterlagen":  "Rückstellungen",
		"Mietvertrag": "Indexklausel", "Vollmacht": "Willenserklärungen", "Gesprächsnotiz": "Kostenrisiko",
		"Kostenrechnung": "Geschäftsgebühr", "Terminbestätigung": "Personalausweis",
	}
	m := &matter{
		task: &task.Fields{}, client: &contact.Fields{FirstName: text("Jörg"), LastName: text("Süß")},
		day: time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC),
	}
	for _, p := range papers {
		first, _, _ := strings.Cut(p.name, " ")
		kind, file := p.write(m)
		if v, err := filetype.Allow().Sniff(bytes.NewReader(file), int64(len(file)), kind); err != nil ||
			v.Refusal != "" || v.Type != kind {
			t.Errorf("%s: %+v, %v", first, v, err)
		}
		got, err := extractor.Extract(context.Background(), 1, bytes.NewReader(file), kind)
		if err != nil || got.Reason != extract.Complete || words[first] == "" || !strings.Contains(got.Body, words[first]) {
			t.Errorf("%s: %s %v, want %q in %q", first, got.Reason, err, words[first], got.Body)
		}
	}
}

// testFile checks that the documents of an office are created once and belong to its tasks. They
// are created as by a client.
func testFile(t *testing.T, extractor *extract.Extractor) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx := context.Background()
		dir := access.NewDirectory(d, clock.System, access.Options{})
		by := operator.New(d, clock.System, dir)
		o, err := Ensure(ctx, by)
		if err != nil {
			t.Fatal(err)
		}
		both := []string{o.OrganizationID, o.SandboxID}
		store, err := blob.NewLocal(t.TempDir(), blob.LocalOptions{
			Keys:    masterkey.Ring{Current: masterkey.New()},
			BaseURL: "https://kartei.example",
		})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		files := upload.Files{Store: store, MaxSize: 1 << 20, MaxStaged: 1 << 30, Declared: filetype.Allow().Declared}
		for range 2 { // in the second run, the records and documents exist already
			for _, organization := range both {
				if err := o.Fill(ctx, d, clock.System, organization, Size); err != nil {
					t.Fatal(err)
				}
				if err := o.File(ctx, d, clock.System, files, organization); err != nil {
					t.Fatal(err)
				}
			}
			work(t, d, files.Store, extractor)
		}
		count := func(query string) (n int) {
			t.Helper()
			if err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, query).Scan(&n) }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := count(`select count(*) from documents where contact_id is not null and task_id is not null`); n != 2*len(papers) {
			t.Errorf("%d documents of %d papers in each organization", n, len(papers))
		}
		if n := count(`select count(*) from operations where status = 'succeeded'`); n != 2*len(papers) {
			t.Errorf("%d operations of %d papers in each organization succeeded", n, len(papers))
		}
		for _, organization := range both {
			n := count(`select count(*) from contacts c join organizations o on o.number = c.organization where o.id = '` +
				organization + `'`)
			if n != Size {
				t.Errorf("%s has %d contacts", organization, n)
			}
		}
		if n := count(`select count(*) from documents where company_id is not null`); n == 0 {
			t.Error("no document is a company's")
		}
	})
}

// work runs the jobs that create documents until none is left.
func work(t *testing.T, d db.DB, store blob.Store, extractor *extract.Extractor) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	m := &document.Maker{
		Clock: clock.System, Store: store, Types: filetype.Allow(), Extractor: extractor, Families: families,
		Logger: logger,
	}
	ends := make(chan string, 100)
	r := job.NewRunner(d, clock.System, m.Handlers(), job.Options{
		Logger: logger, Observe: func(_, outcome string, _ time.Duration) { ends <- outcome },
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	left := func() (n int) {
		if err := d.Read(ctx, func(tx db.Tx) error {
			return tx.QueryRow(ctx, `select count(*) from jobs where kind = $1`, document.MakeKind).Scan(&n)
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for left() > 0 {
		if outcome := <-ends; outcome != job.Finished {
			t.Fatalf("a job ended: %s", outcome)
		}
	}
	stop()
	<-ended
}
