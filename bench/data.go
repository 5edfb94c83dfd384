package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/instance/sample"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/progress"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/operator"

	gojson "github.com/go-json-experiment/json"
)

// generation is incremented if people.go changes the contents of a data folder.
const generation = 2

// folderContents describes the contents of a data folder.
type folderContents struct {
	Generation int `json:"generation"`
	Records    int `json:"records"`
}

// office is a data folder and database that a server can use.
type office struct {
	dir string
	url string // of the database
	// records is the number of contacts.
	records int
	// key belongs to a member of the office and has every scope.
	key string
	// ids are the ids of contacts from the whole table.
	ids []string
	// since is a time before the last thousand changes. Only an office that was
	// created over the API has it.
	since string
}

// prepare returns an office with n contacts. It copies a folder kept in root,
// and fills that folder first if necessary.
func prepare(ctx context.Context, root string, n int) (*office, error) {
	if err := ensure(ctx, root, n); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(root, "run-")
	if err != nil {
		return nil, err
	}
	if err := copyFolder(keptIn(root, n), dir); err != nil {
		return nil, err
	}
	o := &office{dir: dir, url: database(dir), records: n}
	return o, o.open(ctx)
}

func keptIn(root string, n int) string { return filepath.Join(root, strconv.Itoa(n)) }

// ensure fills the kept folder for n contacts if it is not filled.
func ensure(ctx context.Context, root string, n int) error {
	kept := keptIn(root, n)
	if isFilled(kept, n) {
		return nil
	}
	say("%s contacts: filling %s", number(float64(n)), kept)
	if _, err := os.Stat(filepath.Join(kept, "bench.json")); err == nil { // of another generation
		if err := os.RemoveAll(kept); err != nil {
			return err
		}
	}
	if err := fill(ctx, database(kept), kept, n); err != nil {
		return fmt.Errorf("fill %s: %w", kept, err)
	}
	return writeState(kept, n)
}

func isFilled(dir string, n int) bool {
	b, err := os.ReadFile(filepath.Join(dir, "bench.json"))
	var f folderContents
	return err == nil && json.Unmarshal(b, &f) == nil && f == folderContents{generation, n}
}

func database(dir string) string { return "sqlite:" + filepath.Join(dir, "kartei.db") }

// fill creates the sample office in a database with its folder, and n contacts in its
// sandbox. It calls the function behind POST /contacts, many times in one transaction. A
// fill that was interrupted goes on where it ended.
func fill(ctx context.Context, url, dir string, n int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	d, f, err := found(ctx, url, db.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer d.Close()
	done, err := f.filledBefore(ctx)
	if err != nil {
		return err
	}
	if err := f.create(ctx, done, n); err != nil {
		return err
	}
	return d.Close()
}

// create creates the contacts from number done to n.
func (f *founder) create(ctx context.Context, done, n int) error {
	services := &op.Services{Families: []op.Family{contact.Contacts.Family}}
	bar := progress.New(os.Stderr)
	defer bar.End()
	p := newPeople(f.office.Users)
	for range done {
		p.next()
	}
	for batch := range batches(p, n) {
		err := f.db.WriteIn(ctx, f.actor.Org(), func(tx db.Tx) error {
			call := &op.Call{Actor: f.actor, Tx: tx, Now: clock.Now(clock.System), Services: services}
			for i := range batch {
				if _, err := contact.Contacts.Create(ctx, call, &batch[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		done += len(batch)
		bar.Tell(int64(done), int64(n))
	}
	return nil
}

// filledBefore returns how many contacts an interrupted fill created. The sample office
// has none before.
func (f *founder) filledBefore(ctx context.Context) (n int, err error) {
	err = f.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from contacts where organization = $1`, f.actor.Org()).Scan(&n)
	})
	return n, err
}

// writeState writes that a folder has n contacts.
func writeState(dir string, n int) error {
	b, err := json.Marshal(folderContents{generation, n})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "bench.json"), b, 0o600)
}

// founder fills an office or queries it.
type founder struct {
	db        db.DB
	directory *access.Directory
	office    sample.Office
	// key is a new key of a member, and actor is that member.
	key   string
	actor *access.Actor
}

// found opens a database and creates the sample office in it if it is missing.
func found(ctx context.Context, url string, opts db.Options) (d db.DB, f founder, err error) {
	if d, err = db.Open(ctx, url, opts); err != nil {
		return nil, f, err
	}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if _, err = schema.Migrate(ctx, d); err != nil {
		return d, f, err
	}
	f.db, f.directory = d, access.NewDirectory(d, clock.System, access.Options{})
	if f.office, err = sample.Ensure(ctx, f.operator()); err != nil {
		return d, f, err
	}
	if f.key, err = memberKey(ctx, f.operator(), f.office.OrganizationID, f.office.Users[1]); err != nil {
		return d, f, err
	}
	f.actor, err = f.directory.Authenticate(ctx, f.key, access.V1, netip.MustParseAddr("127.0.0.1"))
	return d, f, err
}

// batches generates people while the caller stores each batch in one transaction. With
// batches of 250 PostgreSQL takes 2,700 people a second, with 2,000 it took 1,800.
func batches(p *people, n int) <-chan []contact.Fields {
	out := make(chan []contact.Fields, 4)
	go func() {
		defer close(out)
		for p.number < n {
			batch := make([]contact.Fields, 0, 250)
			for len(batch) < cap(batch) && p.number < n {
				batch = append(batch, p.next())
			}
			out <- batch
		}
	}()
	return out
}

// operator administers the database.
func (f *founder) operator() *operator.Operator {
	return operator.New(f.db, clock.System, f.directory, release.Names(release.Versions)...)
}

func memberKey(ctx context.Context, d *operator.Operator, organization, user string) (string, error) {
	key, err := d.CreateKey(ctx, key.New{
		Organization: organization, Principal: user, Environment: access.Test, Name: "bench",
		Scopes: access.AllScopes(), Networks: sample.Loopback, ExpiresIn: 24 * time.Hour,
	})
	return key.Key, err
}

// open creates a key for the office and picks contacts.
func (o *office) open(ctx context.Context) error {
	d, f, err := found(ctx, o.url, db.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	o.key = f.key
	return d.Read(ctx, func(tx db.Tx) error {
		const shared = ` from contacts where organization = $1 and audience = '' and deleted = false`
		var first, last int64
		if err := tx.QueryRow(ctx, `select min(updated_at), max(updated_at)`+shared, f.actor.Org()).Scan(&first,
			&last); err != nil {
			return err
		}
		// Contacts at evenly spaced times come from the whole table.
		for i := range int64(maxPicked) {
			var id string
			at := first + (last-first)/maxPicked*i
			err := tx.QueryRow(ctx, `select id`+shared+` and updated_at >= $2 order by updated_at limit 1`, f.actor.Org(),
				at).Scan(&id)
			if err != nil {
				return err
			}
			if i == 0 || id != o.ids[len(o.ids)-1] {
				o.ids = append(o.ids, id)
			}
		}
		return nil
	})
}

// maxPicked is the maximum number of contacts that are read by id.
const maxPicked = 20_000

// warm reads the database once, so that no run pays for cold pages.
func (o *office) warm() error {
	file, err := os.Open(filepath.Join(o.dir, "kartei.db"))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(io.Discard, file)
	return err
}

// copyFolder copies regular files and syncs them to disk. Otherwise they might
// be written back during a measurement.
func copyFolder(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}

// bodies returns contacts as JSON in the form that clients send.
func bodies(n int) ([]string, error) {
	p := newPeople([]string{""})
	list := make([]string, n)
	for i := range list {
		f := p.next()
		f.DisplayName = nil
		b, err := gojson.Marshal(&f)
		if err != nil {
			return nil, err
		}
		var members map[string]any
		if err := json.Unmarshal(b, &members); err != nil {
			return nil, err
		}
		for name, v := range members {
			if v == nil || v == "" {
				delete(members, name)
			}
		}
		members["externalId"] = fresh
		if b, err = json.Marshal(members); err != nil {
			return nil, err
		}
		list[i] = string(b)
	}
	return list, nil
}
