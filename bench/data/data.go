// Package data owns the offices that are measured: filled once, kept between runs, or copied for one.
package data

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/bench/load"
	"kartei/bench/report"
	"kartei/instance/sample"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/progress"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
	"kartei/test/operator"

	gojson "github.com/go-json-experiment/json"
)

// generation identifies the contents of a data folder. It must be incremented when people.go
// changes them.
const generation = 2

// folderContents is the content of the file bench.json in a data folder.
type folderContents struct {
	Generation int `json:"generation"`
	Size
}

// Size is how much a kept office contains.
type Size struct {
	Records int `json:"records"` // the number of contacts or documents
	// Additional is the number of additional emails, and of additional telephone numbers, of each
	// contact.
	Additional int `json:"additional,omitempty"`
}

// Office is a data folder and database that a server can use.
type Office struct {
	Dir string
	URL string // of the database
	// Records is the number of contacts.
	Records int
	// Key belongs to a member of the office and has every scope.
	Key string
	// IDs are the ids of contacts, spread over the whole table.
	IDs []string
	// Since is a time before the last thousand changes. It is empty unless the office was created
	// over the API.
	Since string
}

// Prepare returns an office of a size for one run. It copies the kept folder in root, and fills
// that folder first if necessary.
func Prepare(ctx context.Context, root string, size Size) (*Office, error) {
	if err := Fill(ctx, root, size); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(root, "run-")
	if err != nil {
		return nil, err
	}
	if err := copyFolder(size.keptIn(root), dir); err != nil {
		return nil, err
	}
	o := &Office{Dir: dir, URL: Database(dir), Records: size.Records}
	return o, o.open(ctx)
}

// keptIn returns the folder of a kept office.
func (s Size) keptIn(root string) string {
	name := strconv.Itoa(s.Records)
	if s.Additional > 0 {
		name += fmt.Sprintf("-additional-%d", s.Additional)
	}
	return filepath.Join(root, name)
}

// Fill fills the folder of an office in root, unless it is filled.
func Fill(ctx context.Context, root string, size Size) error {
	kept := size.keptIn(root)
	if isFilled(kept, size) {
		return nil
	}
	report.Say("%s contacts: filling %s", report.Number(float64(size.Records)), kept)
	if _, err := os.Stat(filepath.Join(kept, "bench.json")); err == nil { // the folder is of another generation
		if err := os.RemoveAll(kept); err != nil {
			return err
		}
	}
	if err := fill(ctx, Database(kept), kept, size); err != nil {
		return fmt.Errorf("fill %s: %w", kept, err)
	}
	return writeState(kept, size)
}

func isFilled(dir string, size Size) bool {
	b, err := os.ReadFile(filepath.Join(dir, "bench.json"))
	var f folderContents
	return err == nil && json.Unmarshal(b, &f) == nil && f == folderContents{generation, size}
}

// Database returns the URL of the SQLite database in a folder.
func Database(dir string) string { return "sqlite:" + filepath.Join(dir, "kartei.db") }

// fill creates the sample office in a database, and contacts in its sandbox. It calls the
// function behind POST /contacts many times in each transaction. If a fill was interrupted, the
// next fill continues.
func fill(ctx context.Context, url, dir string, size Size) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	d, f, err := Found(ctx, url, db.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer d.Close()
	done, err := f.filledBefore(ctx)
	if err != nil {
		return err
	}
	if err := f.Create(ctx, done, size); err != nil {
		return err
	}
	return d.Close()
}

// Create creates the contacts of an office whose numbers are not below done.
func (f *Founder) Create(ctx context.Context, done int, size Size) error {
	services := &op.Services{Families: []op.Family{contact.Contacts.Family}}
	bar := progress.New(os.Stderr)
	defer bar.End()
	p := NewPeople(f.Office.Users)
	p.Additional = size.Additional
	for range done {
		p.Next()
	}
	for batch := range Batches(p, size.Records) {
		err := f.db.WriteIn(ctx, f.Actor.Org(), func(tx db.Tx) error {
			call := &op.Call{Actor: f.Actor, Tx: tx, Now: clock.Now(clock.System), Services: services}
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
		bar.Tell(int64(done), int64(size.Records))
	}
	return nil
}

// filledBefore returns how many contacts an interrupted fill has created. The sample office has no
// contacts at first.
func (f *Founder) filledBefore(ctx context.Context) (n int, err error) {
	err = f.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from contacts where organization = $1`, f.Actor.Org()).Scan(&n)
	})
	return n, err
}

// writeState stores in a folder how much it contains.
func writeState(dir string, size Size) error {
	b, err := json.Marshal(folderContents{generation, size})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "bench.json"), b, 0o600)
}

// Founder fills an office or queries it.
type Founder struct {
	db        db.DB
	Directory *access.Directory
	Office    sample.Office
	// Key is a new API key of a member, and Actor is this member.
	Key   string
	Actor *access.Actor
}

// Found opens a database and creates the sample office in it, unless the office exists.
func Found(ctx context.Context, url string, opts db.Options) (d db.DB, f Founder, err error) {
	if d, err = open.Database(ctx, url, opts); err != nil {
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
	f.db, f.Directory = d, access.NewDirectory(d, clock.System, access.Options{})
	if f.Office, err = sample.Ensure(ctx, f.Operator()); err != nil {
		return d, f, err
	}
	if f.Key, err = memberKey(ctx, f.Operator(), f.Office.OrganizationID, f.Office.Users[1]); err != nil {
		return d, f, err
	}
	f.Actor, err = f.Directory.Authenticate(ctx, f.Key, access.V1, netip.MustParseAddr("127.0.0.1"))
	return d, f, err
}

// Batches returns a channel of batches of the people up to number n. It generates people while the
// caller stores a batch. With batches of 250, PostgreSQL stores 2,700 people a second. With batches
// of 2,000 it stored 1,800.
func Batches(p *People, n int) <-chan []contact.Fields {
	out := make(chan []contact.Fields, 4)
	go func() {
		defer close(out)
		for p.number < n {
			batch := make([]contact.Fields, 0, 250)
			for len(batch) < cap(batch) && p.number < n {
				batch = append(batch, p.Next())
			}
			out <- batch
		}
	}()
	return out
}

// Operator returns an Operator that administers the database.
func (f *Founder) Operator() *operator.Operator {
	return operator.New(f.db, clock.System, f.Directory, release.Names(release.Versions)...)
}

func memberKey(ctx context.Context, d *operator.Operator, organization, user string) (string, error) {
	key, err := d.CreateKey(ctx, key.New{
		Organization: organization, Principal: user, Environment: access.Test, Name: "bench",
		Scopes: access.AllScopes(), Networks: sample.Loopback, ExpiresIn: 24 * time.Hour,
	})
	return key.Key, err
}

// open creates an API key for the office and selects contacts for IDs.
func (o *Office) open(ctx context.Context) error {
	d, f, err := Found(ctx, o.URL, db.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	o.Key = f.Key
	return d.Read(ctx, func(tx db.Tx) error {
		const shared = ` from contacts where organization = $1 and audience = '' and deleted = false`
		var first, last int64
		if err := tx.QueryRow(ctx, `select min(updated_at), max(updated_at)`+shared, f.Actor.Org()).Scan(&first,
			&last); err != nil {
			return err
		}
		// Contacts that were changed at evenly spaced times are spread over the whole table.
		for i := range int64(maxPicked) {
			var id string
			at := first + (last-first)/maxPicked*i
			err := tx.QueryRow(ctx, `select id`+shared+` and updated_at >= $2 order by updated_at limit 1`, f.Actor.Org(),
				at).Scan(&id)
			if err != nil {
				return err
			}
			if i == 0 || id != o.IDs[len(o.IDs)-1] {
				o.IDs = append(o.IDs, id)
			}
		}
		return nil
	})
}

// maxPicked is the maximum number of ids in IDs.
const maxPicked = 20_000

// Warm reads the database file once. Later runs then find its pages in the cache of the system.
func (o *Office) Warm() error {
	file, err := os.Open(filepath.Join(o.Dir, "kartei.db"))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(io.Discard, file)
	return err
}

// copyFolder copies the regular files of a folder and syncs them to disk. Without the sync, the
// system might write them during a measurement.
func copyFolder(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if err := CopyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// CopyFile copies a file and syncs the copy to disk. It returns an error if the copy exists
// already.
func CopyFile(from, to string) (err error) {
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

// Bodies returns the JSON of contacts as clients send it.
func Bodies(size Size) ([]string, error) {
	p := NewPeople([]string{""})
	p.Additional = size.Additional
	list := make([]string, size.Records)
	for i := range list {
		f := p.Next()
		f.DisplayName = nil
		b, err := gojson.Marshal(&f)
		if err != nil {
			return nil, err
		}
		var members map[string]any
		if err := json.Unmarshal(b, &members); err != nil {
			return nil, err
		}
		maps.DeleteFunc(members, func(_ string, v any) bool {
			return v == nil || slices.Contains([]string{"", "[]", "map[]"}, fmt.Sprint(v))
		})
		members["externalId"] = load.Fresh
		if b, err = json.Marshal(members); err != nil {
			return nil, err
		}
		list[i] = string(b)
	}
	return list, nil
}

// Kept returns the office in SQLite that stays for later runs. It fills the office first if
// necessary.
func Kept(ctx context.Context, root string, n int) (*Office, error) {
	size := Size{Records: n}
	if err := Fill(ctx, root, size); err != nil {
		return nil, err
	}
	dir := size.keptIn(root)
	o := &Office{Dir: dir, URL: Database(dir), Records: n}
	return o, o.open(ctx)
}

// Tidy deletes the request log of earlier runs.
func (o *Office) Tidy(ctx context.Context) error {
	d, err := open.Database(ctx, o.URL, db.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Write(ctx, func(tx db.Tx) error {
		tx.Queue("delete from request_log")
		return nil
	})
}

// NewOffice creates an organization with a member and an API key. It returns the organization's id
// and the office with the key.
func NewOffice(ctx context.Context, op *operator.Operator, n int) (name string, o *Office, err error) {
	organization, err := op.CreateOrganization(ctx, organization.New{
		Name: fmt.Sprint("Kanzlei ", n), Module: "on", Secrecy: "declared", Level: access.On,
	})
	if err != nil {
		return "", nil, err
	}
	user, err := op.CreateUser(ctx, principal.New{
		Organization: organization.ID, Name: "Anna Berg", Email: fmt.Sprintf("anna%d@example.com", n),
		Role: access.Member,
	})
	if err != nil {
		return "", nil, err
	}
	key, err := memberKey(ctx, op, organization.ID, user.ID)
	return organization.ID, &Office{Key: key}, err
}
