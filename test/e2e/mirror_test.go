package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
)

// TestMirror runs mirrors of an office by updatedSince and by the event feed, with many writers and
// a server that is killed repeatedly. In the end each mirror equals the source. No event may be
// missing or come twice.
func TestMirror(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, h *cluster) {
		ctx, cancel := h.going()
		defer cancel()
		done := make(chan struct{}) // closed when all writers have ended
		var following sync.WaitGroup
		follow := func(f func(ctx context.Context, done <-chan struct{}) error) {
			following.Go(func() {
				if err := f(ctx, done); err != nil {
					t.Error(err)
				}
			})
		}
		mirrors := []*mirror{h.mirror(3, false), h.mirror(100, false), h.mirror(7, true)}
		for _, m := range mirrors {
			follow(m.follow)
		}
		feeds := []*feed{h.feed(2), h.feed(100)}
		for _, f := range feeds {
			follow(f.follow)
		}
		writers := h.write(6, func(ctx context.Context) { h.storm(ctx, times("KARTEI_KILLS", 3)) })
		close(done)
		following.Wait()
		h.close()

		data := h.settle()
		h.known(data, writers)
		for _, m := range mirrors {
			m.equals(data)
		}
		for _, f := range feeds {
			f.equals(data)
		}
	})
}

// mirror is a copy of the office's contacts that uses updatedSince, as in the guide.
type mirror struct {
	*cluster
	as     *httpClient
	limit  int
	paging bool // whether a pass uses cursors and not only updatedSince
	seen   string
	copy   map[string]contact
	passes int
}

func (h *cluster) mirror(limit int, paging bool) *mirror {
	return &mirror{
		cluster: h,
		as:      newHTTPClient(h.office.Key),
		limit:   limit,
		paging:  paging,
		seen:    "2020-01-01T00:00:00.000000Z",
		copy:    map[string]contact{},
	}
}

// follow reads changes until the writers have ended and there are no more changes.
func (m *mirror) follow(ctx context.Context, done <-chan struct{}) error {
	return m.poll(ctx, done, func() (int, error) {
		since, cursor, n := m.seen, "", 0
		for {
			path := fmt.Sprintf("/contacts?sort=updatedAt&includeDeleted=true&limit=%d&updatedSince=%s%s", m.limit, since,
				cursor)
			page, err := list[contact](ctx, m.cluster, m.as, path)
			if err != nil {
				return n, err
			}
			m.passes++
			for _, c := range page.Data {
				if c.tick() <= m.seen {
					return n, fmt.Errorf("mirror by %d: %+v came after %s had been seen", m.limit, c, m.seen)
				}
				m.seen, m.copy[c.ID] = c.tick(), c
				n++
			}
			if !page.HasMore || !m.paging {
				return n, nil
			}
			cursor = "&cursor=" + page.NextCursor
		}
	})
}

// equals compares the mirror with the source.
func (m *mirror) equals(s storedData) {
	m.Helper()
	m.Logf("mirror by %d (cursors: %t): %d contacts after %d pages", m.limit, m.paging, len(m.copy), m.passes)
	for id, want := range s.contacts {
		got, ok := m.copy[id]
		if !ok || got.Deleted != want.Deleted || got.tick() != want.tick() ||
			!want.Deleted && (got.LastName != want.LastName || got.Revision != want.Revision) {
			m.Errorf("mirror by %d has %+v, the source %+v", m.limit, got, want)
		}
	}
	if len(m.copy) != len(s.contacts) {
		m.Errorf("mirror by %d has %d contacts, the source %d", m.limit, len(m.copy), len(s.contacts))
	}
}

// feed reads the event feed by cursors, from the beginning.
type feed struct {
	*cluster
	as     *httpClient
	limit  int
	cursor string
	events []feedEntry
}

func (h *cluster) feed(limit int) *feed {
	return &feed{cluster: h, as: newHTTPClient(h.office.Key), limit: limit}
}

// follow reads the feed until the writers have ended and there are no more events.
func (f *feed) follow(ctx context.Context, done <-chan struct{}) error {
	return f.poll(ctx, done, func() (int, error) {
		page, err := list[feedEntry](ctx, f.cluster, f.as,
			fmt.Sprintf("/events?sort=createdAt&limit=%d%s", f.limit, f.cursor))
		if err != nil {
			return 0, err
		}
		if page.NextCursor == "" {
			return 0, fmt.Errorf("feed by %d: a page without nextCursor", f.limit)
		}
		f.cursor = "&cursor=" + page.NextCursor
		f.events = append(f.events, page.Data...)
		return len(page.Data), nil
	})
}

// equals compares the events in f with the events of the source, one by one.
func (f *feed) equals(s storedData) {
	f.Helper()
	f.Logf("feed by %d: %d events", f.limit, len(f.events))
	for i := range max(len(f.events), len(s.events)) {
		if i >= len(f.events) || i >= len(s.events) || f.events[i] != s.events[i] {
			f.Errorf("feed by %d has %d events, the source %d; they differ from number %d on", f.limit, len(f.events),
				len(s.events), i)
			return
		}
	}
}

// poll calls read until it finds nothing after done is closed. If it finds nothing earlier, poll
// waits for a write.
func (h *cluster) poll(ctx context.Context, done <-chan struct{}, read func() (int, error)) error {
	for {
		ended := false
		select {
		case <-done:
			ended = true
		default:
		}
		before := h.writes.Load()
		n, err := read()
		h.moves.Add(int64(n))
		switch {
		case err != nil:
			return err
		case n > 0:
			continue
		case ended:
			return nil
		}
		if err := h.written(ctx, before+1, done); err != nil {
			return err
		}
	}
}

// page is one page of a list.
type page[T any] struct {
	Data       []T
	HasMore    bool
	NextCursor string
}

// list reads a page of a list. It retries as often as needed.
func list[T any](ctx context.Context, h *cluster, as *httpClient, path string) (p page[T], err error) {
	a, err := h.insist(ctx, as, "GET", path, "")
	if err != nil {
		return p, err
	}
	if a.Status != 200 {
		return p, fmt.Errorf("GET %s: %d %s", path, a.Status, a.Body)
	}
	return p, json.Unmarshal(a.Body, &p)
}
