package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/people/organization"
	"kartei/record/document"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/store/schema"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// erasable is an Eraser with two organizations that have rows in all tables. The tests erase gone,
// and keep stays.
type erasable struct {
	*testing.T
	*Eraser
	now         *clock.Fake
	operator    *operator.Operator
	tables      []schema.Table
	gone, stays access.OrganizationInfo
}

func newErasable(t *testing.T, d db.DB) *erasable {
	t.Helper()
	now := clock.NewFake(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))
	store, err := blob.NewLocal(t.TempDir(), blob.LocalOptions{
		Keys:    masterkey.Ring{Current: masterkey.New()},
		BaseURL: "https://kartei.example",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	e := &erasable{T: t, now: now}
	e.Eraser = &Eraser{DB: d, Store: store, Clock: now, Logger: slog.New(slog.DiscardHandler),
		Directory: access.NewDirectory(d, now, access.Options{})}
	e.operator = operator.New(d, now, e.Directory)
	if e.tables, err = schema.Tables(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	e.gone, e.stays = e.organization("Kanzlei Abendroth"), e.organization("Kanzlei Morgenstern")
	return e
}

// organization creates an organization with a sandbox. Both have a row in each table, and files.
func (e *erasable) organization(name string) access.OrganizationInfo {
	e.Helper()
	o, err := e.operator.CreateOrganization(e.Context(), organization.New{Name: name})
	if err != nil {
		e.Fatal(err)
	}
	for _, number := range []int64{o.Number, o.Number + 1} {
		account := fmt.Sprintf("account-%d", number)
		e.exec(`insert into accounts (id, email, email_folded, created_at) values ($1, $1, $1, 1)`, account)
		for _, t := range e.tables {
			if t.Spread() && t.Name != "clocks" {
				e.fill(t, number)
			}
		}
		for _, folder := range []string{blob.Staged, blob.Kept} {
			at := fmt.Sprintf("%s%d/%s", folder, number, id.New(id.Document))
			if _, err := e.Store.Put(e.Context(), at, strings.NewReader("Geheim"), blob.Expectation{Size: 6}); err != nil {
				e.Fatal(err)
			}
		}
	}
	return o
}

// fill inserts a row of an organization into a table.
func (e *erasable) fill(t schema.Table, number int64) {
	e.Helper()
	special := map[string]any{
		"organization": number, "kind": "user", "role": "admin", "environment": "test", "rights": "{}",
		"principal_id": fmt.Sprintf("principals-id-%d", number), "account_id": fmt.Sprintf("account-%d", number),
		"audience": "v1", "client_id": fmt.Sprintf("oauth_clients-id-%d", number),
		"grant_id": fmt.Sprintf("oauth_grants-id-%d", number),
	}
	switch t.Name {
	case "oauth_clients":
		special["kind"] = "registered"
	case "oauth_tokens":
		special["kind"] = "code"
	}
	var names, places []string
	var args []any
	for _, c := range t.Columns {
		v, is := special[c.Name]
		switch {
		case is:
		case c.Type == "text":
			v = fmt.Sprintf("%s-%s-%d", t.Name, c.Name, number)
		case c.Type == "boolean":
			v = false
		default:
			v = int64(1)
		}
		names, places, args = append(names, c.Name), append(places, fmt.Sprintf("$%d", len(args)+1)), append(args, v)
	}
	e.exec("insert into "+t.Name+" ("+strings.Join(names, ", ")+") values ("+strings.Join(places, ", ")+")", args...)
}

func (e *erasable) exec(query string, args ...any) {
	e.Helper()
	err := e.DB.Write(context.Background(), func(tx db.Tx) error {
		_, err := tx.Exec(context.Background(), query, args...)
		return err
	})
	if err != nil {
		e.Fatalf("%s: %v", query, err)
	}
}

// left returns what is left of an organization and its sandbox: the names of tables with rows, and
// the names of files.
func (e *erasable) left(o access.OrganizationInfo) (names []string) {
	e.Helper()
	for _, number := range []int64{o.Number, o.Number + 1} {
		for _, t := range e.tables {
			if !t.Spread() {
				continue
			}
			err := e.DB.Read(e.Context(), func(tx db.Tx) error {
				var n int
				err := tx.QueryRow(e.Context(), "select count(*) from "+t.Name+" where organization = $1", number).Scan(&n)
				if n > 0 {
					names = append(names, t.Name)
				}
				return err
			})
			if err != nil {
				e.Fatal(err)
			}
		}
		for info, err := range e.Store.List(e.Context(), "") {
			if err != nil {
				e.Fatal(err)
			}
			if strings.Contains(info.Name, fmt.Sprintf("/%d/", number)) {
				names = append(names, info.Name)
			}
		}
	}
	return names
}

func (e *erasable) set(state access.State) access.OrganizationInfo {
	e.Helper()
	o, err := e.operator.SetOrganization(e.Context(), organization.Change{ID: e.gone.ID, State: &state})
	if err != nil {
		e.Fatal(err)
	}
	return o
}

func (e *erasable) look() {
	e.Helper()
	ended := make(chan error, 1)
	next := e.now.Waited()
	go func() { ended <- e.due(context.Background()) }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				e.Fatal(err)
			}
			return
		case <-next:
			next = e.now.Waited() // created before the step that waits again
			e.now.Advance(pause)
		}
	}
}

// TestEveryTableIsErased compares organizationRows with the schema. Then it erases an organization
// with a row in each table, and checks that another organization keeps all its rows.
func TestEveryTableIsErased(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		e := newErasable(t, d)
		for _, table := range e.tables {
			if !table.Spread() {
				continue
			}
			i := slices.IndexFunc(organizationRows, func(r struct{ table, key string }) bool { return r.table == table.Name })
			if i < 0 {
				t.Errorf("the rows of %s are not erased with their organization: add it to organizationRows in instance/erasure/erasure.go", table.Name)
				continue
			}
			key := strings.Join(slices.DeleteFunc(slices.Clone(table.Key),
				func(c string) bool { return c == "organization" }), ", ")
			if organizationRows[i].key != key {
				t.Errorf("the key of %s is (%s), not (%s)", table.Name, key, organizationRows[i].key)
			}
		}
		if t.Failed() {
			return // the following checks would fail for the same reason
		}
		before := e.left(e.stays)
		e.set(access.Deleting)
		if _, err := e.operator.EraseOrganization(t.Context(), op.ByID{ID: e.gone.ID}); err != nil {
			t.Fatal(err)
		}
		e.look()
		if left := e.left(e.gone); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		err := d.Read(t.Context(), func(tx db.Tx) error {
			accounts, err := db.Values[string](t.Context(), tx, "select id from accounts order by id")
			if want := fmt.Sprintf("[account-%d account-%d]", e.stays.Number, e.stays.Number+1); fmt.Sprint(accounts) != want {
				t.Errorf("accounts %v, want %s", accounts, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if after := e.left(e.stays); !slices.Equal(before, after) {
			t.Errorf("of another organization there were %v and are %v", before, after)
		}
		err = d.Read(t.Context(), func(tx db.Tx) error {
			names, err := db.Values[string](t.Context(), tx, "select name from organizations where number in ($1, $2)",
				e.gone.Number, e.gone.Number+1)
			if len(names) != 2 || names[0]+names[1] != "" {
				t.Errorf("the names that are left: %q", names)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.operator.GetOrganization(t.Context(), op.ByID{ID: e.gone.ID}); !fault.Is(err, fault.NotFound) {
			t.Errorf("it is shown: %v", err)
		}
		if o := e.organization("Neu"); o.Number <= e.stays.Number {
			t.Errorf("a new one has the number %d", o.Number)
		}
		// Rows that a running call adds later are erased by the next run.
		e.fill(e.tables[slices.IndexFunc(e.tables, func(t schema.Table) bool { return t.Name == "request_log" })],
			e.gone.Number)
		e.look()
		if left := e.left(e.gone); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// TestOrganizationIsErasedOnItsDate checks that an organization is not erased before its date, or
// if it was reopened.
func TestOrganizationIsErasedOnItsDate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		e := newErasable(t, d)
		all := e.left(e.gone)
		if _, err := e.operator.EraseOrganization(t.Context(), op.ByID{ID: e.gone.ID}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("an open organization: %v", err)
		}
		month := 30 * 24 * time.Hour
		o := e.set(access.Deleting)
		if o.EraseAt == nil || o.EraseAt.Time() != e.now.Now().Add(month) {
			t.Errorf("the date is %v", o.EraseAt)
		}
		e.now.Advance(month - time.Second)
		if again := e.set(access.Deleting); *again.EraseAt != *o.EraseAt {
			t.Errorf("the date moves to %v", again.EraseAt)
		}
		e.look()
		if o := e.set(access.Closed); o.EraseAt != nil {
			t.Errorf("a closed one has the date %v", o.EraseAt)
		}
		e.now.Advance(2 * month)
		e.look()
		if left := e.left(e.gone); !slices.Equal(all, left) {
			t.Errorf("there were %v and are %v", all, left)
		}
		e.set(access.Deleting)
		e.now.Advance(month)
		e.look()
		if left := e.left(e.gone); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestInterruptedErasureContinues checks that a run that is interrupted after each step continues
// until nothing is left. After the first step, the organization accepts no changes.
func TestInterruptedErasureContinues(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		e := newErasable(t, d)
		e.set(access.Deleting)
		if _, err := e.operator.EraseOrganization(t.Context(), op.ByID{ID: e.gone.ID}); err != nil {
			t.Fatal(err)
		}
		o, err := e.Directory.Due(t.Context(), e.gone.ID)
		if err != nil {
			t.Fatal(err)
		}
		step := func() bool {
			done, err := e.eraseWhile(t.Context(), o, func(Output) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		step()
		err = d.WriteIn(t.Context(), o.Sandbox, func(tx db.Tx) error {
			_, err := tx.Tick(t.Context(), o.Sandbox, clock.Now(e.now))
			return err
		})
		if !errors.Is(err, db.ErrNoRows) {
			t.Errorf("a change although its organization is being erased: %v", err)
		}
		open := access.Open
		if _, err := e.operator.SetOrganization(t.Context(),
			organization.Change{ID: e.gone.ID, State: &open}); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("it is opened although it is being erased: %v", err)
		}
		steps := 1
		for ; !step(); steps++ {
			if steps > 1000 {
				t.Fatal("it does not end")
			}
		}
		if left := e.left(e.gone); len(left) > 0 || steps < len(organizationRows) {
			t.Errorf("after %d steps there are %v", steps, left)
		}
	})
}

// hold stops the removal of files for ten minutes, as a backup does. It returns the end of this
// time.
func (e *erasable) hold() (until clock.Micros) {
	e.Helper()
	until = clock.Now(e.now).Add(10 * time.Minute)
	if err := e.DB.Write(e.Context(), func(tx db.Tx) error { return document.Hold(e.Context(), tx, until) }); err != nil {
		e.Fatal(err)
	}
	return until
}

// fileNames returns the names of the files of the organization gone.
func (e *erasable) fileNames() []string {
	e.Helper()
	return slices.DeleteFunc(e.left(e.gone), func(name string) bool { return !strings.Contains(name, "/") })
}

// TestErasureWithoutFiles checks that the erasure of an organization without files does not wait
// for a backup.
func TestErasureWithoutFiles(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		e := newErasable(t, d)
		for _, name := range e.fileNames() {
			if err := e.Store.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		e.hold()
		e.set(access.Deleting)
		if _, err := e.operator.EraseOrganization(t.Context(), op.ByID{ID: e.gone.ID}); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			out, err := e.Erase(t.Context(), op.ByID{ID: e.gone.ID})
			if err != nil || out.HeldUntil > 0 {
				t.Fatalf("%+v, %v", out, err)
			}
			if out.Done {
				return
			}
		}
		t.Error("it does not end")
	})
}

// TestErasureWaitsForABackup checks that files stay while a backup copies files. Rows are erased
// meanwhile.
func TestErasureWaitsForABackup(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		e := newErasable(t, d)
		files, until := e.fileNames(), e.hold()
		e.set(access.Deleting)
		if _, err := e.operator.EraseOrganization(t.Context(), op.ByID{ID: e.gone.ID}); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			out, err := e.Erase(t.Context(), op.ByID{ID: e.gone.ID})
			if err != nil || out.Done {
				t.Fatalf("%+v, %v", out, err)
			}
			if out.HeldUntil == until {
				break
			}
		}
		if left := e.left(e.gone); len(files) != 4 || !slices.Equal(left, files) {
			t.Errorf("of %v there are %v", files, left)
		}
		if err := e.due(t.Context()); err == nil || !strings.HasPrefix(err.Error(), job.Later(10*time.Minute).Error()) {
			t.Errorf("the job ends with %v", err)
		}
		e.now.Advance(10 * time.Minute)
		if out, err := e.Erase(t.Context(), op.ByID{ID: e.gone.ID}); err != nil || !out.Done || out.Files != 4 {
			t.Errorf("%+v, %v", out, err)
		}
		if left := e.left(e.gone); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}
