package developer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/cmd/kartei/command"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/linetest"
)

// caller runs kartei api against one instance.
type caller struct {
	testing.TB
	environ map[string]string
}

func newCaller(t testing.TB, url, key string) caller {
	return caller{t, map[string]string{"KARTEI_URL": url, "KARTEI_KEY": key}}
}

// do runs a call and returns its output. It fails the test unless the exit status is the given one.
func (c caller) do(status int, args ...string) (out, errs string) {
	c.Helper()
	got, out, errs := linetest.Run(context.Background(), new(line), c.environ, append([]string{"api"}, args...)...)
	if got != status {
		c.Fatalf("%v: status %d, want %d; out %q, err %q", args, got, status, out, errs)
	}
	if strings.Contains(out+errs, c.environ["KARTEI_KEY"]) {
		c.Fatalf("%v tells the key: %q %q", args, out, errs)
	}
	return out, errs
}

// object returns the JSON response of a call that must succeed.
func (c caller) object(args ...string) map[string]any {
	c.Helper()
	out, errs := c.do(0, args...)
	if errs != "" {
		c.Fatalf("%v says %q", args, errs)
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		c.Fatalf("%v: %v in %q", args, err, out)
	}
	return o
}

// TestAPICalls creates, reads, changes and deletes a record. The calls use every form of the
// command line.
func TestAPICalls(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c := newCaller(t, o.Listen().URL, o.As(access.Member).Key)
		made := c.object("contacts.create", "-f", "firstName=Anna", "-f", "address.city=Köln", "-f", "address.country=DE",
			"-f", "tags[]=Mandant", "-f", "tags[]=a,b", "-f", "externalId=7", "-F", "note=null",
			"-f", "additionalPhones[].phone=0221 555", "-f", "additionalPhones[].label=fax", "-f", "additionalPhones[].phone=0221 556")
		id := made["id"].(string)
		if made["address"].(map[string]any)["city"] != "Köln" || len(made["tags"].([]any)) != 2 || made["externalId"] != "7" ||
			fmt.Sprint(made["additionalPhones"]) != "[map[label:fax phone:0221 555] map[label:<nil> phone:0221 556]]" {
			t.Errorf("made %v", made)
		}
		note := filepath.Join(t.TempDir(), "note.txt")
		if err := os.WriteFile(note, []byte("two\nlines"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			args []string
			want map[string]any
		}{
			{[]string{"contacts.get", "-f", "id=" + id}, map[string]any{"id": id}},
			{[]string{"/contacts/" + id}, map[string]any{"id": id}},
			{[]string{"get", "/v1/contacts/{id}", "-f", "id=" + id}, map[string]any{"id": id}},
			{
				[]string{"contacts.update", "-f", "id=" + id, "--revision", "1", "-F", "note=@" + note},
				map[string]any{"note": "two\nlines"},
			},
			{[]string{"PATCH", "/contacts/" + id, "--if-match", `"r2"`, "-F", `tags=["x"]`, "-f", "firstName=true"},
				map[string]any{"firstName": "true", "revision": 3.0}},
			{[]string{"contacts.count", "-f", "q=koeln"}, map[string]any{"count": 1.0}},
			{[]string{"/contacts/count?q=koeln"}, map[string]any{"count": 1.0}},
			{[]string{"me.get", "-H", "Accept-Language: de"}, map[string]any{"authMethod": "apiKey"}},
		} {
			got := c.object(step.args...)
			for name, want := range step.want {
				if got[name] != want {
					t.Errorf("%v: %s is %v, want %v", step.args, name, got[name], want)
				}
			}
		}
		out, _ := c.do(0, "contacts.delete", "-f", "id="+id, "--revision", "3", "-i")
		if !strings.HasPrefix(out, "HTTP/1.1 204 No Content\n") || !strings.Contains(out, "\nRequest-Id: req_") {
			t.Errorf("a deletion with its head prints %q", out)
		}
		body := filepath.Join(t.TempDir(), "body.json")
		if err := os.WriteFile(body, []byte(`{"lastName":"Berg"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		first := c.object("POST", "/contacts", "--input", body, "--idempotency-key", "once")
		if again := c.object("POST", "/contacts", "--input", body, "--idempotency-key",
			"once"); again["id"] != first["id"] || first["lastName"] != "Berg" {
			t.Errorf("a repeat with the same key made %v beside %v", again, first)
		}
	})
}

// TestAPIPaginate checks that --paginate prints all records in order, with one record on each line,
// and nothing else.
func TestAPIPaginate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		as := o.As(access.Member)
		c := newCaller(t, o.Listen().URL, as.Key)
		var want []string
		for n := range 25 {
			want = append(want, as.Do("POST", "/contacts", map[string]any{
				"lastName": fmt.Sprint("Berg", n), "note": "two\nlines",
			}).Want(201).Text("id"))
		}
		slices.Reverse(want)
		for _, more := range [][]string{{"-f", "limit=7"}, {"-F", "limit=25"}, nil, {"-f", "q=berg", "-f", "limit=4"}} {
			out, errs := c.do(0, append([]string{"contacts.list", "--paginate"}, more...)...)
			var got []string
			for line := range strings.Lines(out) {
				var r struct{ ID string }
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				got = append(got, r.ID)
			}
			if len(more) == 4 { // sorted by relevance, which is equal for all
				slices.Sort(got)
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) || errs != "" {
				t.Errorf("%v: %d records, %q; want %d in their order", more, len(got), errs, len(want))
			}
		}
		// The last page of the event feed also has a cursor, but the command must end there.
		if out, _ := c.do(0, "/events", "-f", "sort=createdAt", "--paginate"); strings.Count(out, "\n") != 25 {
			t.Errorf("the feed has %d lines, want 25", strings.Count(out, "\n"))
		}
	})
}

// TestAPISaves checks that a file is saved completely, and that only its owner can read it. After
// an interrupted or damaged download, the old file is unchanged.
func TestAPISaves(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	as := o.As(access.Member)
	c := newCaller(t, o.Listen().URL, as.Key)
	content := bytes.Repeat([]byte("Klage wegen Mietminderung.\n"), 20_000)
	id := as.Document("Klage.txt", "text/plain", content)
	target := filepath.Join(t.TempDir(), "klage.txt")
	if out, errs := c.do(0, "documents.content", "-f", "id="+id, "-o", target); out+errs != "" {
		t.Errorf("saving prints %q %q", out, errs)
	}
	if saved, err := os.ReadFile(target); err != nil || !bytes.Equal(saved, content) {
		t.Errorf("saved %d bytes, %v; want %d", len(saved), err, len(content))
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	if out, _ := c.do(0, "documents.content", "-f", "id="+id, "-H", "Range: bytes=0-4"); out != "Klage" {
		t.Errorf("a part is %q", out)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"broken off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "half")
		},
		"damaged": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Repr-Digest", "sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:")
			fmt.Fprint(w, "another")
		},
	} {
		liar := httptest.NewServer(answer)
		defer liar.Close()
		_, errs := newCaller(t, liar.URL, "kart_test_secret").do(command.ExitNoAnswer, "documents.content", "-f", "id="+id, "-o",
			target)
		if saved, err := os.ReadFile(target); err != nil || !bytes.Equal(saved, content) || errs == "" {
			t.Errorf("%s: the file is another one now; %q", name, errs)
		}
		if left, _ := os.ReadDir(filepath.Dir(target)); len(left) != 1 {
			t.Errorf("%s: beside the file is left %v", name, left)
		}
	}
	if out, _ := c.do(command.ExitClientError, "documents.content", "-f", "id=doc_none", "-o",
		target); !strings.Contains(out, `"NOT_FOUND"`) {
		t.Errorf("an error prints %q", out)
	}
}

// TestAPIErrors checks the exit status of each class of errors. The problem is on standard output,
// and its text on standard error.
func TestAPIErrors(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		server := o.Listen()
		c := newCaller(t, server.URL, o.As(access.Member).Key)
		reader := newCaller(t, server.URL, o.As(access.Member, "contacts:read").Key)
		stranger := newCaller(t, server.URL, "kart_test_nobody")
		for _, step := range []struct {
			caller
			status int
			args   []string
			want   []string
		}{
			{stranger, command.ExitForbidden, []string{"me.get"}, []string{"the key is not accepted"}},
			{reader, command.ExitForbidden, []string{"contacts.create", "-f", "lastName=Berg"}, []string{"FORBIDDEN", "contacts:write"}},
			{c, command.ExitClientError, []string{"contacts.get", "-f", "id=con_none"}, []string{"NOT_FOUND", "req_"}},
			{c, command.ExitClientError, []string{"contacts.create", "-f", "email=no"}, []string{"VALIDATION_FAILED", "email: "}},
			{
				c,
				command.ExitClientError,
				[]string{"contacts.create", "-f", "email=no", "--lang", "de"},
				[]string{"VALIDATION_FAILED", "E-Mail"},
			},
			{c, command.ExitClientError, []string{"PUT", "/contacts"}, []string{"METHOD_NOT_ALLOWED"}},
			{c, command.ExitClientError, []string{"GET", "/nothing"}, []string{"NOT_FOUND"}},
			{c, command.ExitClientError, []string{"contacts.list", "-f", "colour=red"}, []string{"UNKNOWN_PARAMETER"}},
		} {
			out, errs := step.do(step.status, step.args...)
			if !json.Valid([]byte(out)) || !strings.Contains(out, `"code"`) {
				t.Errorf("%v prints %q, want the problem", step.args, out)
			}
			for _, want := range step.want {
				if !strings.Contains(errs, want) {
					t.Errorf("%v says %q, which does not tell of %q", step.args, errs, want)
				}
			}
		}
	})
}

// TestAPIOfAWrongServer checks the errors for a server that is not Kartei or sends wrong responses.
func TestAPIOfAWrongServer(t *testing.T) {
	answer := func(status int, head, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if name, value, found := strings.Cut(head, ":"); found {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	pages := 0
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		status int
		args   []string
		out    string
		want   string
	}{
		"quota": {
			answer(429, "Retry-After:3600", `{"code":"QUOTA_EXHAUSTED","title":"No"}`),
			command.ExitLimit,
			[]string{"me.get"},
			`{"code":"QUOTA_EXHAUSTED","title":"No"}`,
			"again in 1h0m0s",
		},
		"1e9 s": {
			answer(429, "Retry-After:1000000000", `{"code":"RATE_LIMITED","title":"No"}`),
			command.ExitLimit,
			[]string{"me.get"},
			`{"code":"RATE_LIMITED","title":"No"}`,
			"RATE_LIMITED",
		},
		"inside": {
			answer(500, "", `{"code":"INTERNAL","title":"No"}`),
			command.ExitServerError,
			[]string{"contacts.create", "--idempotency-key", "k1"},
			`{"code":"INTERNAL","title":"No"}`,
			"--idempotency-key k1",
		},
		"no Kartei": {
			answer(404, "", `<html>`),
			command.ExitServerError,
			[]string{"me.get"},
			`<html>`,
			"not an instance of Kartei",
		},
		"a proxy": {
			answer(502, "", `no`),
			command.ExitServerError,
			[]string{"batch.run", "--idempotency-key", "k"},
			`no`,
			"Read the record before",
		},
		"no If-Match": {
			answer(428, "", `{"code":"PRECONDITION_REQUIRED","title":"No"}`),
			command.ExitClientError,
			[]string{"contacts.update", "-f", "id=con_1"},
			`{"code":"PRECONDITION_REQUIRED","title":"No"}`,
			"--revision N",
		},
		"other If-Match": {
			answer(412, "", `{"code":"PRECONDITION_FAILED","title":"No"}`),
			command.ExitClientError,
			[]string{"contacts.update", "-f", "id=con_1", "--revision", "1"},
			`{"code":"PRECONDITION_FAILED","title":"No"}`,
			"--revision N",
		},
		"an escape": {
			answer(400, "", `{"code":"X","title":"\u001b[2J"}`),
			command.ExitClientError,
			[]string{"me.get"},
			`{"code":"X","title":"\u001b[2J"}`,
			"X: \ufffd[2J",
		},
		"lost": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, command.ExitNoAnswer,
			[]string{"contacts.update", "-f", "id=con_1", "--revision", "1"}, "", "Read the record before"},
		"a loop": {func(w http.ResponseWriter, _ *http.Request) {
			pages++
			fmt.Fprintf(w, `{"data":[{"n": %d}],"hasMore":true,"nextCursor":"c"}`, pages)
		}, command.ExitServerError, []string{"contacts.list", "--paginate"}, "{\"n\":1}\n{\"n\":2}\n", "already"},
		"half a list": {func(w http.ResponseWriter, r *http.Request) {
			if !r.URL.Query().Has("cursor") {
				fmt.Fprint(w, `{"data":[1],"hasMore":true,"nextCursor":"c"}`)
				return
			}
			answer(400, "", `{"code":"CURSOR_MISMATCH","title":"No"}`)(w, r)
		}, command.ExitClientError, []string{"contacts.list", "--paginate"}, "1\n", "CURSOR_MISMATCH"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			out, errs := newCaller(t, server.URL, "kart_test_secret").do(c.status, c.args...)
			if out != c.out || !strings.Contains(errs, c.want) {
				t.Errorf("prints %q and says %q, want %q and %q", out, errs, c.out, c.want)
			}
		})
	}
}

// full is an output that accepts one record and then fails.
type full struct{ bytes.Buffer }

var errFull = errors.New("no space left on device")

func (f *full) Write(b []byte) (int, error) {
	if f.Len() > 0 {
		return 0, errFull
	}
	return f.Buffer.Write(b)
}

// TestAPIStopsAtAFullDisk checks that --paginate stops reading a list when the output fails.
func TestAPIStopsAtAFullDisk(t *testing.T) {
	pages := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		fmt.Fprintf(w, `{"data":[1],"hasMore":true,"nextCursor":"c%d"}`, pages)
	}))
	defer server.Close()
	environ := map[string]string{"KARTEI_URL": server.URL, "KARTEI_KEY": "k"}
	status, errs := linetest.RunTo(context.Background(), &full{}, new(line), environ, "api", "/contacts", "--paginate")
	if status != 1 || !strings.Contains(errs, errFull.Error()) || pages != 2 {
		t.Errorf("status %d after %d pages, %q", status, pages, errs)
	}
}

// TestAPIInterrupted checks the message after an interrupt. It says how to find out whether a write
// was carried out.
func TestAPIInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // lets the server notice the end of the connection
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	environ := map[string]string{"KARTEI_URL": server.URL, "KARTEI_KEY": "k"}
	status, errs := linetest.RunTo(ctx, io.Discard, new(line), environ, "api", "contacts.create", "-f", "lastName=Berg",
		"--idempotency-key", "k1")
	if status != command.ExitInterrupted || !strings.Contains(errs, "--idempotency-key k1") ||
		!strings.Contains(errs, "interrupted") {
		t.Errorf("status %d, says %q", status, errs)
	}
}

// TestAPIWrongCommandLines checks that a contradictory command line is refused before any call.
func TestAPIWrongCommandLines(t *testing.T) {
	c := newCaller(t, "http://127.0.0.1:1", "kart_test_secret")
	for _, step := range []struct {
		want string
		args []string
	}{
		{"GET /contacts", nil},
		{"--list", []string{"contacts.fetch"}},
		{"--url", []string{"GET", "https://kartei.example.com/v1/contacts"}},
		{"--url", []string{"GET", "//kartei.example.com/contacts"}},
		{"--url", []string{"https://kartei.example.com/v1/contacts"}},
		{"begins with a slash: /contacts\n", []string{"GET", "contacts"}},
		{"begins with a slash: /contacts\n", []string{"contacts"}},
		{"begins with a slash: /contacts?limit=1\n", []string{"GET", "contacts?limit=1"}},
		{"kartei api contacts.list\n", []string{"GET", "contacts.list"}},
		{"not a path such as /contacts\n", []string{"GET", "C:/Git/contacts"}},
		{"-f id=", []string{"contacts.get"}},
		{"NAME=VALUE", []string{"contacts.list", "-f", "limit"}},
		{"twice", []string{"contacts.create", "-f", "note=a", "-f", "note=b"}},
		{"cannot have fields", []string{"contacts.create", "-f", "address=a", "-f", "address.city=b"}},
		{"not an array", []string{"contacts.create", "-f", "tags=a", "-f", "tags[]=b"}},
		{"KARTEI_KEY", []string{"me.get", "-H", "authorization: Bearer x"}},
		{"NAME:VALUE", []string{"me.get", "-H", "X-A: b\r\nX-C: d"}},
		{"--paginate", []string{"contacts.create", "--paginate"}},
		{"--paginate", []string{"contacts.list", "--paginate", "-i"}},
		{"--input", []string{"contacts.list", "--input", "-"}},
		{"--revision", []string{"contacts.delete", "-f", "id=con_1", "--revision", "1", "--if-match", "*"}},
		{"--idempotency-key", []string{"contacts.list", "--idempotency-key", "k"}},
		{"--lang", []string{"me.get", "--lang", "fr"}},
	} {
		if _, errs := c.do(command.ExitUsage, step.args...); !strings.Contains(errs, step.want) {
			t.Errorf("%v says %q, want %q", step.args, errs, step.want)
		}
	}
	if out, _ := c.do(0, "--list"); strings.Count(out, "\n") != len(api.Operations) {
		t.Errorf("--list prints %q", out)
	}
	c.environ["KARTEI_KEY"] = ""
	if status, _, errs := linetest.Run(context.Background(), new(line), nil, "api",
		"me.get"); status != command.ExitUsage || !strings.Contains(errs, "KARTEI_KEY") {
		t.Errorf("without a key: %d, %q", status, errs)
	}
}
