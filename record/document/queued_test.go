//go:build unix

package document_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"kartei/access"
	"kartei/extract"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// TestFillingCacheBlocksNoQueue checks that filling the cache of the PDF reader does not block
// the queue. It begins one PDF for each worker of the organization while the cache is empty.
// Compiling the reader takes many seconds on a busy machine. Other operations must end meanwhile.
func TestFillingCacheBlocksNoQueue(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dir := t.TempDir()
		begun, free, cache := filepath.Join(dir, "begun"), filepath.Join(dir, "free"), filepath.Join(dir, "cache")
		for _, name := range []string{begun, free} {
			if err := syscall.Mkfifo(name, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// The program that fills the cache waits for the test. It returns no text.
		program := filepath.Join(dir, "reader")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n[ \"$2\" = warm ] && { echo > "+begun+"; read x < "+free+
			"; mkdir "+cache+"; echo > "+cache+"/pdf; }\ncat > /dev/null\nexit 0\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		extractor, err := extract.New(extract.Options{Program: program, Cache: cache, Parallel: 2})
		if err != nil {
			t.Fatal(err)
		}
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
			w.Maker.Extractor, w.Options.Workers, w.Options.PerOrganization = extractor, 8, 3
		}))
		c := o.As(access.Member)
		var pdfs []*apitest.Answer
		for i := range 3 {
			pdfs = append(pdfs, c.Do("POST", "/documents", map[string]any{
				"uploadId": c.Upload(strconv.Itoa(i)+".pdf", "application/pdf", []byte(smallPDF)),
			}).Want(202))
		}
		if _, err := os.ReadFile(begun); err != nil { // one of the jobs now fills the cache
			t.Fatal(err)
		}
		c.Document("a.txt", "text/plain", []byte("Guten Tag\n"))
		for _, accepted := range pdfs {
			if got := c.Do("GET", "/operations/"+accepted.Text("id"), nil).Want(200).Text("status"); got == "succeeded" ||
				got == "failed" {
				t.Errorf("a PDF %s without its reader", got)
			}
		}
		if err := os.WriteFile(free, []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
		for watch := waittest.New(); ; {
			ended := o.Ended()
			o.Clock.Advance(time.Second) // the postponed jobs try again
			left := 0
			for _, accepted := range pdfs {
				if c.Do("GET", "/operations/"+accepted.Text("id"), nil).Want(200).Text("status") != "succeeded" {
					left++
				}
			}
			if left == 0 {
				return
			}
			select {
			case <-ended:
			case <-watch.Stuck(left):
				t.Fatalf("%d PDFs are not read once their reader is there", left)
			}
		}
	})
}
