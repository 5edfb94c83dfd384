package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/open"
)

// storedData is the content of the database while no server runs.
type storedData struct {
	contacts map[string]contact
	events   []feedEntry // ordered by tick
	keys     int         // the number of stored responses
}

// contact is a contact in the form of the API, or its deletion marker.
type contact struct {
	ID        string
	LastName  string
	Revision  int64
	CreatedAt string
	UpdatedAt string
	Deleted   bool
	DeletedAt string
}

// tick returns the time of the last change.
func (c contact) tick() string {
	if c.Deleted {
		return c.DeletedAt
	}
	return c.UpdatedAt
}

// feedEntry is an event in the feed.
type feedEntry struct {
	ID, Type, CreatedAt string
	Data                struct{ Object, ID string }
}

// settle reads all data from the database. No server may run. It fails the test unless changes,
// events, stored responses, the clock and the search index are consistent.
func (h *cluster) settle() storedData {
	h.Helper()
	ctx := context.Background()
	d, err := open.Database(ctx, h.database, db.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Readers: 2})
	if err != nil {
		h.Fatal(err)
	}
	defer d.Close()
	s := storedData{contacts: map[string]contact{}}
	err = d.Read(ctx, func(tx db.Tx) error {
		if err := tx.Snapshot(ctx); err != nil { // Statements that a killed server has sent may still take effect.
			return err
		}
		for _, look := range []func(context.Context, db.Tx, *storedData) error{
			h.whole, h.readContacts, h.readEvents, h.readKeys, h.readRest,
		} {
			if err := look(ctx, tx, &s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
	h.eventsBelong(&s)
	return s
}

// whole checks the integrity of a SQLite file.
func (h *cluster) whole(ctx context.Context, tx db.Tx, _ *storedData) error {
	if tx.Dialect().Name != "sqlite" {
		return nil
	}
	var verdict string
	err := tx.QueryRow(ctx, "pragma integrity_check").Scan(&verdict)
	if verdict != "ok" {
		h.Errorf("integrity_check: %s", verdict)
	}
	return err
}

// each calls f for each row of a query.
func each(ctx context.Context, tx db.Tx, query string, f func(db.Rows) error) error {
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (h *cluster) readContacts(ctx context.Context, tx db.Tx, s *storedData) error {
	return each(ctx, tx, "select id, revision, created_at, updated_at, deleted, content from contacts",
		func(r db.Rows) error {
			var c contact
			var created, updated clock.Micros
			var content []byte
			if err := r.Scan(&c.ID, &c.Revision, &created, &updated, &c.Deleted, &content); err != nil {
				return err
			}
			c.CreatedAt, c.UpdatedAt = created.String(), updated.String()
			if c.Deleted {
				c.DeletedAt = c.UpdatedAt
			}
			s.contacts[c.ID] = c
			var members struct{ LastName string }
			if err := json.Unmarshal(content, &members); err != nil {
				return err
			}
			c.LastName = members.LastName
			s.contacts[c.ID] = c
			return nil
		})
}

func (h *cluster) readEvents(ctx context.Context, tx db.Tx, s *storedData) error {
	return each(ctx, tx, "select id, type, tick, object, record_id from events order by tick", func(r db.Rows) error {
		var e feedEntry
		var tick clock.Micros
		if err := r.Scan(&e.ID, &e.Type, &tick, &e.Data.Object, &e.Data.ID); err != nil {
			return err
		}
		e.CreatedAt = tick.String()
		s.events = append(s.events, e)
		return nil
	})
}

// readKeys compares the stored responses with the contacts. Each contact was created with an
// idempotency key, so each has exactly one stored response.
func (h *cluster) readKeys(ctx context.Context, tx db.Tx, s *storedData) error {
	made := map[string]bool{}
	err := each(ctx, tx, "select key, status, record from idempotency", func(r db.Rows) error {
		var key, record string
		var status int
		if err := r.Scan(&key, &status, &record); err != nil {
			return err
		}
		s.keys++
		if there, ok := s.contacts[record]; !ok || status != 201 || made[record] {
			h.Errorf("the stored answer of %s is %d about %s; the contact is %+v", key, status, record, there)
		}
		made[record] = true
		return nil
	})
	for id := range s.contacts {
		if !made[id] {
			h.Errorf("contact %s has no stored answer", id)
		}
	}
	return err
}

// readRest compares the clock and the search index with the changes.
func (h *cluster) readRest(ctx context.Context, tx db.Tx, s *storedData) error {
	living := 0
	for _, c := range s.contacts {
		if !c.Deleted {
			living++
		}
	}
	var found int
	if err := tx.QueryRow(ctx, "select count(*) from search_documents").Scan(&found); err != nil {
		return err
	}
	if found != living {
		h.Errorf("%d contacts in the search index, %d in all", found, living)
	}
	var now clock.Micros
	if err := tx.QueryRow(ctx, "select max(tick) from clocks").Scan(&now); err != nil {
		return err
	}
	// The clock may be later than the last event, because merging the index moves it too.
	if len(s.events) > 0 && now.String() < s.events[len(s.events)-1].CreatedAt {
		h.Errorf("the clock stands at %s, the last event at %s", now, s.events[len(s.events)-1].CreatedAt)
	}
	return nil
}

// eventsBelong compares the events of each contact with its changes. The creation comes first, the
// deletion last, and each revision has one event.
func (h *cluster) eventsBelong(s *storedData) {
	h.Helper()
	histories := map[string][]feedEntry{}
	for _, e := range s.events {
		histories[e.Data.ID] = append(histories[e.Data.ID], e)
		if _, ok := s.contacts[e.Data.ID]; !ok {
			h.Errorf("event %+v without its contact", e)
		}
	}
	for id, c := range s.contacts {
		var types []string
		for _, e := range histories[id] {
			types = append(types, strings.TrimPrefix(e.Type, "contact."))
		}
		want := []string{"created"}
		for range c.Revision - 1 {
			want = append(want, "updated")
		}
		if c.Deleted {
			want[len(want)-1] = "deleted"
		}
		if fmt.Sprint(types) != fmt.Sprint(want) {
			h.Errorf("contact %+v has the events %v, want %v", c, types, want)
			continue
		}
		if first, last := histories[id][0], histories[id][len(want)-1]; first.CreatedAt != c.CreatedAt ||
			last.CreatedAt != c.UpdatedAt {
			h.Errorf("contact %+v has its events from %s to %s", c, first.CreatedAt, last.CreatedAt)
		}
	}
}
