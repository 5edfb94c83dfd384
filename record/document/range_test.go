package document_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"

	"pgregory.net/rapid"
)

// numbered returns bytes in which no two ranges are equal.
func numbered(size int) []byte {
	b := make([]byte, 0, size+8)
	for i := 0; len(b) < size; i += 8 {
		b = fmt.Appendf(b, "%07d\n", i)
	}
	return b[:size]
}

// checkRange compares a response to a range request with the file.
func checkRange(t interface {
	Helper()
	Fatalf(string, ...any)
}, asked string, a *apitest.Answer, file []byte) {
	t.Helper()
	fail := func(format string, args ...any) { t.Helper(); t.Fatalf(asked+": "+format, args...) }
	part := func(said string, got []byte) {
		t.Helper()
		var start, end, size int
		if n, err := fmt.Sscanf(said, "bytes %d-%d/%d", &start, &end, &size); n != 3 || err != nil || size != len(file) ||
			start > end || end >= size {
			fail("Content-Range %q", said)
		}
		if !bytes.Equal(got, file[start:end+1]) {
			fail("%q are %d other bytes", said, len(got))
		}
	}
	if a.Header.Get("Etag") == "" && a.Status != 416 || a.Header.Get("Accept-Ranges") != "bytes" && a.Status != 416 ||
		a.Header.Get("Cache-Control") != "private, no-cache" {
		fail("%d %v", a.Status, a.Header)
	}
	switch a.Status {
	case 200:
		if !bytes.Equal(a.Body, file) || a.Header.Get("Content-Range") != "" {
			fail("%d bytes, %v", len(a.Body), a.Header)
		}
	case 206:
		kind, parameters, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
		if kind != "multipart/byteranges" {
			part(a.Header.Get("Content-Range"), a.Body)
			break
		}
		parts := multipart.NewReader(bytes.NewReader(a.Body), parameters["boundary"])
		for n := 0; ; n++ {
			p, err := parts.NextRawPart()
			if err == io.EOF && n > 0 {
				break
			}
			if err != nil {
				fail("part %d: %v", n, err)
			}
			got, _ := io.ReadAll(p)
			part(p.Header.Get("Content-Range"), got)
		}
	case 416:
		if a.Text("code") != "RANGE_NOT_SATISFIABLE" || a.Header.Get("Content-Disposition") != "" ||
			a.Header.Get("Repr-Digest") != "" || a.Header.Get("Content-Range") != fmt.Sprint("bytes */", len(file)) {
			fail("%v %s", a.Header, a.Body)
		}
	default:
		fail("%d %s", a.Status, a.Body)
	}
	if n := a.Header.Get("Content-Length"); n != strconv.Itoa(len(a.Body)) {
		fail("Content-Length %s of %d bytes", n, len(a.Body))
	}
}

// TestAnyRange checks that a range request returns exactly the requested range of the file. HEAD
// always describes the whole file.
func TestAnyRange(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c := o.As(access.Member)
		file := numbered(200_000) // a little more than three segments
		id := c.Document("zahlen.txt", "text/plain", file)
		seed.Check(t, func(t *rapid.T) {
			place := rapid.OneOf(rapid.IntRange(0, len(file)+10),
				rapid.SampledFrom([]int{0, 1, 65535, 65536, 65537, 131072, len(file) - 1, len(file)}))
			var ranges []string
			for range rapid.IntRange(1, 4).Draw(t, "ranges") {
				switch rapid.IntRange(0, 2).Draw(t, "form") {
				case 0:
					ranges = append(ranges, fmt.Sprintf("%d-%d", place.Draw(t, "start"), place.Draw(t, "end")))
				case 1:
					ranges = append(ranges, fmt.Sprintf("%d-", place.Draw(t, "start")))
				default:
					ranges = append(ranges, fmt.Sprintf("-%d", place.Draw(t, "suffix")))
				}
			}
			asked := "bytes=" + strings.Join(ranges, rapid.SampledFrom([]string{",", ", ", " , "}).Draw(t, "comma"))
			a := download(c, id, "Range", asked)
			checkRange(t, asked, a, file)
			if len(ranges) == 1 { // for a single range, the expected response is known
				start, end, found := strings.Cut(ranges[0], "-")
				from, _ := strconv.Atoi(start)
				to := len(file) - 1
				if n, err := strconv.Atoi(end); err == nil && start != "" {
					to = min(n, to)
					found = found && n >= from
				} else if err == nil {
					from = max(0, len(file)-n)
					found = n > 0
				}
				if want := found && from < len(file); want != (a.Status == 206) || want && !bytes.Equal(a.Body, file[from:to+1]) {
					t.Fatalf("%s: %d, %d bytes", asked, a.Status, len(a.Body))
				}
			}
			head := c.Send(c.Request("HEAD", "/documents/"+id+"/content", nil, "Range", asked))
			if head.Status != 200 || len(head.Body) != 0 || head.Header.Get("Content-Length") != strconv.Itoa(len(file)) ||
				head.Header.Get("Content-Range") != "" {
				t.Fatalf("HEAD %s: %d %v %q", asked, head.Status, head.Header, head.Body)
			}
		})
	})
}

// TestManyRanges checks that many small ranges do not cost more than the file. The response is
// then the whole file.
func TestManyRanges(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		file := numbered(200_000)
		id := c.Document("zahlen.txt", "text/plain", file)
		asked := func(n int) string {
			var b strings.Builder
			b.WriteString("bytes=0-0")
			for i := range n - 1 {
				fmt.Fprintf(&b, ",%d-%d", i%2*70_000, i%2*70_000)
			}
			return b.String()
		}
		for n, status := range map[int]int{1: 206, 2: 206, 32: 206, 33: 200, 5000: 200} {
			a := download(c, id, "Range", asked(n))
			if a.Status != status {
				t.Errorf("%d parts: %d", n, a.Status)
			}
			checkRange(t, fmt.Sprint(n, " parts"), a, file)
		}
	})
}

// TestRangeForms checks unusual forms of the headers in RFC 9110.
func TestRangeForms(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		file := numbered(100)
		id := c.Document("zahlen.txt", "text/plain", file)
		for asked, want := range map[string]string{
			"items=0-1":                    "200 100", // section 14.2: other units are ignored
			"garbage":                      "200 100",
			"bytes=":                       "200 100",
			"bytes=,":                      "200 100",
			"BYTES=0-3":                    "206 4", // section 14.1: units are not case-sensitive
			"bytes=0-3,":                   "206 4",
			"bytes=0-99999999999999999999": "206 100", // section 14.1.2: numbers may be large
			"bytes=-99999999999999999999":  "206 100",
			"bytes=00000000000000000000009-0000000010":  "206 2",
			"bytes=99999999999999999999-":               "416",
			"bytes=0-1,99999999999999999999-":           "206 2",
			"bytes=99999999999999999999-99999999999999": "416",
			"bytes=100-":    "416",
			"bytes=-0":      "416",
			"bytes=5-2":     "416",
			"bytes=0-1,5-2": "416",
			"bytes=-":       "416",
			"bytes=+1-2":    "416",
			"bytes=1--2":    "416",
			"bytes=0x1-2":   "416",
			"bytes=1":       "416",
			"bytes =1-2":    "200 100", // not a valid unit
		} {
			a := download(c, id, "Range", asked)
			got := strconv.Itoa(a.Status)
			if a.Status != 416 {
				got += " " + strconv.Itoa(len(a.Body))
			}
			if got != want {
				t.Errorf("%s: %s, want %s", asked, got, want)
			}
			checkRange(t, asked, a, file)
		}
	})
}

// FuzzRange checks that no Range or If-Range header leads to a wrong response.
func FuzzRange(f *testing.F) {
	for _, seed := range []string{
		"bytes=0-0", "bytes=-1", "bytes=5-1", "bytes=0-,0-", "bytes=,", "bytes= 1 - 2 ",
		"bytes=18446744073709551616-", "bytes=-9223372036854775808", "bytes=--1", "x=0-1", "bytes",
		"bytes=0-0,,1-1", "bytes=0x0-1", "bytes=+1-2", "Bytes=0-1",
	} {
		f.Add(seed, "")
		f.Add(seed, `"x"`)
		f.Add(seed, "W/\"")
		f.Add(seed, "Sun, 06 Nov 1994 08:49:37 GMT")
	}
	o := apitest.New(f, dbtest.SQLite(f))
	c := o.As(access.Member)
	file := numbered(70_000)
	id := c.Document("zahlen.txt", "text/plain", file)
	f.Fuzz(func(t *testing.T, asked, ifRange string) {
		for _, s := range []string{asked, ifRange} {
			if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Skip() // not a valid header
			}
		}
		headers := []string{"Range", asked}
		if ifRange != "" {
			headers = append(headers, "If-Range", ifRange)
		}
		office := *o
		office.TB = t
		c := &apitest.Client{Office: &office, Principal: c.Principal, Key: c.Key}
		checkRange(t, fmt.Sprintf("%q, If-Range %q", asked, ifRange), download(c, id, headers...), file)
	})
}

// TestDamagedContent checks that changed bytes of a file are never sent. The response ends before
// the first changed byte, and the log has an error for the operator.
func TestDamagedContent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1)) // each replica has a log of its own
		c, server := o.As(access.Member), o.Listen()
		file := numbered(300_000)
		id := c.Document("zahlen.txt", "text/plain", file)
		var path string
		filepath.WalkDir(o.Folder, func(at string, d os.DirEntry, err error) error {
			if err == nil && strings.Contains(at, id) {
				path = at
			}
			return err
		})
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		get := func(headers ...string) (status int, body []byte, broke error) {
			r, _ := http.NewRequest("GET", server.URL+"/v1/documents/"+id+"/content", nil)
			r.Header.Set("Authorization", "Bearer "+c.Key)
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			body, broke = io.ReadAll(a.Body)
			return a.StatusCode, body, broke
		}
		for _, at := range []int{0, 600, 5000, len(whole) / 2, len(whole) - 20_000, len(whole) - 1} {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			status, body, broke := get()
			switch {
			case status == 200 && broke == nil && bytes.Equal(body, file) && at < 1024: // an unused part of the file header
				continue
			case status == 200 && (broke == nil || !bytes.HasPrefix(file, body) || len(body) >= len(file)):
				t.Errorf("byte %d: %d bytes came, then %v", at, len(body), broke)
			case status == 500 && !strings.Contains(string(body), `"code":"INTERNAL"`):
				t.Errorf("byte %d: %s", at, body)
			case status != 200 && status != 500:
				t.Errorf("byte %d: %d %s", at, status, body)
			}
			if status, body, broke := get("Range", "bytes=100-200000"); status == 206 && !bytes.HasPrefix(file[100:], body) {
				t.Errorf("byte %d: a part is wrong, %v", at, broke)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if status, body, _ := get(); status != 500 {
			t.Errorf("without a file: %d %s", status, body)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if status, body, broke := get(); status != 200 || broke != nil || !bytes.Equal(body, file) {
			t.Errorf("whole again: %d, %d bytes, %v", status, len(body), broke)
		}
		logged := o.Logged.String()
		for _, said := range []string{"file not sent completely", "internal error", "damaged", "there are no such bytes"} {
			if !strings.Contains(logged, said) {
				t.Errorf("the log does not have %q: %s", said, logged)
			}
		}
	})
}

// TestContentInRequestLog checks that the request log has the final status of each download.
func TestContentInRequestLog(t *testing.T) {
	apitest.Alone(t)
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		id := c.Document("a.txt", "text/plain", []byte("Guten Tag\n"))
		for _, headers := range [][]string{nil, {"Range", "bytes=0-1"}, {"Range", "bytes=99-"}, {"If-None-Match", "*"}} {
			download(c, id, headers...)
		}
		c.Send(c.Request("HEAD", "/documents/"+id+"/content", nil))
		if err := o.Log.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := o.DB.Read(t.Context(), func(tx db.Tx) error {
			rows, err := tx.Query(t.Context(), "select status, code from request_log where operation = 'documents.content'")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var status int64
				var code string
				if err := rows.Scan(&status, &code); err != nil {
					return err
				}
				got = append(got, strings.TrimSpace(fmt.Sprint(status, " ", code)))
			}
			return rows.Err()
		})
		slices.Sort(got)
		if want := "200, 200, 206, 304, 416 RANGE_NOT_SATISFIABLE"; err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%q, %v, want %s", got, err, want)
		}
	})
}
