package duplicates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"kartei/api/op"
	"kartei/bench/data"
	"kartei/bench/report"
	"kartei/kit/clock"
	"kartei/record"
	"kartei/record/contact"
	"kartei/record/duplicate"
	"kartei/store/db"
)

// spacing is the number of contacts for each duplicate: 5,000 of 100,000.
const spacing = 20

// Measure makes an office with contacts and duplicates of every twentieth on SQLite, lets the finder
// compare all of them, and writes figures: the time for 1,000 records, the pairs, the bytes of the new
// tables, and how long creates wait meanwhile.
func Measure(ctx context.Context, w io.Writer, contacts int) (err error) {
	dir, err := os.MkdirTemp("", "kartei-duplicates-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d, f, err := data.Found(ctx, data.Database(dir), db.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	report.Say("%s contacts: filling %s", report.Number(float64(contacts)), dir)
	if err := f.Create(ctx, 0, data.Size{Records: contacts}); err != nil {
		return err
	}
	o := &office{ctx: ctx, w: w, db: d, founder: f, records: contacts + contacts/spacing}
	made, err := o.copies(contacts)
	if err != nil {
		return err
	}
	if err := o.measureFinder(); err != nil {
		return err
	}
	if err := o.measurePairs(made); err != nil {
		return err
	}
	return o.measureOthers()
}

// office is the measured office.
type office struct {
	ctx     context.Context
	w       io.Writer
	db      db.DB
	founder data.Founder
	records int
}

// call runs f in one transaction of the office.
func (o *office) call(f func(c *op.Call) error) error {
	services := &op.Services{Families: []op.Family{contact.Contacts.Family}}
	return o.db.WriteIn(o.ctx, o.founder.Actor.Org(), func(tx db.Tx) error {
		return f(&op.Call{Actor: o.founder.Actor, Tx: tx, Now: clock.Now(clock.System), Services: services})
	})
}

// copies creates a duplicate of every twentieth contact, and returns their names.
func (o *office) copies(contacts int) (made int, err error) {
	p := data.NewPeople(o.founder.Office.Users)
	var list []contact.Fields
	for i := range contacts {
		if f := p.Next(); i%spacing == 0 && f.FirstName != nil && f.LastName != nil {
			list = append(list, vary(&maker{rand.New(rand.NewPCG(uint64(i), 5))}, f))
		}
	}
	for batch := range slices.Chunk(list, 200) {
		err := o.call(func(c *op.Call) error {
			for i := range batch {
				f := batch[i]
				if _, err := contact.Contacts.Create(o.ctx, c, &f); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return made, err
		}
		made += len(batch)
	}
	return made, nil
}

// copied marks a duplicate, so that its pairs can be counted.
const copied = "dublette"

// vary returns a duplicate of a contact as somebody types it a second time.
func vary(m *maker, f contact.Fields) contact.Fields {
	f.ExternalID, f.Note, f.Visibility = nil, nil, record.Organization
	f.Tags = []string{copied}
	switch m.IntN(5) {
	case 0:
		f.LastName = new(m.mistype(*f.LastName))
	case 1:
		f.FirstName = new(m.mistype(*f.FirstName))
	case 2:
		f.FirstName, f.LastName = f.LastName, f.FirstName
	case 3:
		m.renotate(&f)
	}
	m.forget(&f)
	return f
}

// timeless is a clock whose waits end at once.
type timeless struct{ clock.Clock }

func (timeless) After(time.Duration) <-chan time.Time { return clock.System.After(0) }

func (o *office) measureFinder() error {
	before, err := o.bytes()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := duplicate.NewFinder(o.db, timeless{clock.System}).Once(o.ctx); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := o.bytes()
	fmt.Fprintf(o.w, "%-44s %10s\n", "records", report.Number(float64(o.records)))
	fmt.Fprintf(o.w, "%-44s %10.1f\n", "work for 1,000 records, in milliseconds",
		took.Seconds()*1000/float64(o.records)*1000)
	fmt.Fprintf(o.w, "%-44s %10.0f\n", "bytes of the new tables for each record",
		float64(after-before)/float64(o.records))
	return err
}

// bytes returns the used size of the database.
func (o *office) bytes() (n int64, err error) {
	err = o.db.Read(o.ctx, func(tx db.Tx) error {
		return tx.QueryRow(o.ctx, `select (page_count - freelist_count) * page_size
			from pragma_page_count, pragma_page_size, pragma_freelist_count`).Scan(&n)
	})
	return n, err
}

func (o *office) measurePairs(made int) error {
	counts := map[duplicate.Strength]int{}
	found := map[string]bool{}
	err := o.db.Read(o.ctx, func(tx db.Tx) error {
		list, err := duplicate.List(o.ctx, tx, o.founder.Actor.Org(), contact.Contacts.Plural, false, nil, 10_000_000)
		if err != nil {
			return err
		}
		ids, err := db.Values[string](o.ctx, tx,
			`select id from contacts where organization = $1 and content like '%"`+copied+`"%'`,
			o.founder.Actor.Org())
		if err != nil {
			return err
		}
		for _, p := range list {
			counts[p.Strength]++
			if p.Strength == duplicate.Possible {
				continue
			}
			for _, id := range []string{p.First, p.Second} {
				if _, is := slices.BinarySearch(ids, id); is {
					found[id] = true
				}
			}
		}
		return nil
	})
	for _, s := range []duplicate.Strength{duplicate.Sure, duplicate.Likely, duplicate.Possible} {
		fmt.Fprintf(o.w, "%-44s %10s\n", "pairs, "+string(s), report.Number(float64(counts[s])))
	}
	fmt.Fprintf(o.w, "%-44s %6d of %d\n", "made duplicates in a likely or sure pair", len(found), made)
	return err
}

// measureOthers measures creates without and with a finder that begins anew.
func (o *office) measureOthers() error {
	quiet, err := o.creates(3 * time.Second)
	if err != nil {
		return err
	}
	if err := o.db.Write(o.ctx, func(tx db.Tx) error {
		_, err := tx.Exec(o.ctx, `update duplicate_progress set version = -1 where organization = $1`,
			o.founder.Actor.Org())
		return err
	}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(o.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		duplicate.NewFinder(o.db, clock.System).Run(ctx)
	}()
	busy, err := o.creates(6 * time.Second)
	stop()
	<-ended
	for _, x := range []struct {
		name string
		list []time.Duration
	}{{"a create, without the finder", quiet}, {"a create, beside the finder", busy}} {
		slices.Sort(x.list)
		fmt.Fprintf(o.w, "%-44s %8.2f ms, p95 %.2f ms\n", x.name, millis(x.list[len(x.list)/2]),
			millis(x.list[len(x.list)*95/100]))
	}
	return err
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// creates creates contacts one after the other, and returns how long each took.
func (o *office) creates(d time.Duration) (list []time.Duration, err error) {
	m := &maker{rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))}
	for end := time.Now().Add(d); time.Now().Before(end); {
		began := time.Now()
		err := o.call(func(c *op.Call) error {
			f := m.person()
			_, err := contact.Contacts.Create(o.ctx, c, &f)
			return err
		})
		if err != nil {
			return list, err
		}
		list = append(list, time.Since(began))
		time.Sleep(2 * time.Millisecond) // a client thinks too
	}
	return list, nil
}
