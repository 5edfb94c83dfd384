package imports_test

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d, apitest.Replicas(1), apitest.Repeated())) })
}

// desk is a person with a session in the web application, who works in the sandbox.
type desk struct {
	*apitest.Client
	cookie string
}

func sit(o *apitest.Office, role access.Role) desk {
	c := o.As(role)
	return desk{c, o.Session(c.Principal)}
}

// send calls an operation and returns the response.
func (d desk) send(row string, in any) *api.Response {
	d.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		d.Fatal(err)
	}
	return d.API.Do(d.Context(), &api.Request{
		Operation: api.ByID(row), Door: api.Web, Credential: api.Cookie(d.cookie, true),
		Address: netip.MustParseAddr("192.0.2.7"),
		Header:  map[string][]string{"Accept-Language": {"de"}}, HasBody: true,
		Body: func() ([]byte, error) { return body, nil },
	}, nil)
}

// ask calls an operation that must succeed, and returns its result.
func ask[T any](d desk, row string, in any) (out T) {
	d.Helper()
	got := d.send(row, in)
	if got.Fault != nil {
		d.Fatalf("%s: %d %s", row, got.Status, got.Body)
	}
	if len(got.Body) > 0 {
		if err := json.Unmarshal(got.Body, &out); err != nil {
			d.Fatal(err)
		}
	}
	return out
}

// get returns an import.
func (d desk) get(id string) imports.Import {
	d.Helper()
	return ask[imports.Import](d, "imports.get", op.ByID{ID: id})
}

// upload sends a file to a new import, and waits until the file is read.
func (d desk) upload(name, file string) imports.Import {
	d.Helper()
	made := ask[imports.Import](d, "imports.create", imports.CreateInput{FileName: name, Size: int64(len(file))})
	pieces := int64(0)
	for rest := file; rest != ""; pieces++ {
		n := min(len(rest), imports.MaxPiece)
		ask[imports.AppendOutput](d, "imports.append", imports.AppendInput{
			Reference: imports.Reference{ID: made.ID},
			Number:    pieces,
			Content:   []byte(rest[:n]),
		})
		rest = rest[n:]
	}
	ask[imports.Import](d, "imports.complete", imports.CompleteInput{Reference: imports.Reference{ID: made.ID}, Pieces: pieces})
	d.Recover()
	return d.get(made.ID)
}

// targets returns the guessed targets of the columns.
func targets(x imports.Import) (list []string) {
	for _, c := range x.Columns {
		list = append(list, c.Target)
	}
	return list
}

// check runs the dry run with the guessed targets.
func (d desk) check(x imports.Import, how mapping.Duplicates, tags ...string) imports.Import {
	d.Helper()
	ask[imports.Import](d, "imports.map", imports.MapInput{
		Reference: imports.Reference{ID: x.ID},
		Targets:   targets(x),
		Options:   mapping.Options{Duplicates: how, Tags: tags},
	})
	d.Recover()
	return d.get(x.ID)
}

// run runs a checked import.
func (d desk) run(x imports.Import) imports.Import {
	d.Helper()
	ask[imports.Import](d, "imports.run", op.ByID{ID: x.ID})
	d.Recover()
	return d.get(x.ID)
}

// undo undoes an import.
func (d desk) undo(x imports.Import) imports.Import {
	d.Helper()
	ask[imports.Import](d, "imports.undo", op.ByID{ID: x.ID})
	d.Recover()
	return d.get(x.ID)
}

// lines returns the lines of the report.
func (d desk) lines(x imports.Import) []imports.Line {
	d.Helper()
	return ask[imports.Lines](d, "imports.lines", imports.LinesInput{Reference: imports.Reference{ID: x.ID}}).Data
}

// contacts returns the contacts that a search finds.
func (d desk) contacts(q string) []map[string]any {
	d.Helper()
	return d.Do("GET", "/contacts?limit=100&q="+url.QueryEscape(q), nil).Want(200).Data()
}

// wantState fails the test unless an import is in the state.
func wantState(t *testing.T, x imports.Import, want imports.State) {
	t.Helper()
	if x.State != want {
		t.Fatalf("the import is %s (%s), want %s: %+v", x.State, x.Reason, want, x)
	}
}

// windows returns a text in the encoding and with the line ends of Excel in Western Europe.
func windows(t *testing.T, text string) string {
	t.Helper()
	b, err := charmap.Windows1252.NewEncoder().String(strings.ReplaceAll(text, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// number returns the number that a query finds.
func number(t *testing.T, o *apitest.Office, query string) (n int64) {
	t.Helper()
	if err := o.DB.Read(t.Context(), func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), query).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// count returns the number of rows in a table.
func count(t *testing.T, o *apitest.Office, table string) int64 {
	t.Helper()
	return number(t, o, "select count(*) from "+table)
}

// texts returns the texts that a query finds.
func texts(t *testing.T, o *apitest.Office, query string) (list []string) {
	t.Helper()
	err := o.DB.Read(t.Context(), func(tx db.Tx) (err error) {
		list, err = db.Values[string](t.Context(), tx, query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// set runs a statement that changes the database.
func set(t *testing.T, o *apitest.Office, statement string) {
	t.Helper()
	err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
