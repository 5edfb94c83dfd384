// Package main owns the example of the guide: a program that keeps a copy of the records in SQLite.
//
// Three sources work together, each for its own purpose:
//
//   - Lists with updatedSince have the changed and the deleted records. Only these lists change the copy.
//   - Webhooks wake the program at once. A lost, repeated or late webhook does no harm.
//   - The feed has the events of webhooks that did not arrive.
//
// Some changes have no event, such as a new name of a document or a record that became private. For these, the program
// reads every list from time to time.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	_ "modernc.org/sqlite"
)

// listOf maps the member data.object of an event to the list of its record.
var listOf = map[string]string{"company": "companies", "contact": "contacts", "task": "tasks", "document": "documents"}

// tables are the tables of the copy: the records, the position in each list and in the feed, and
// the ids of known events. Each list has its own position. With one position for all lists, a
// change in one list could be missed while another list is read.
const tables = `
	create table if not exists records (id text primary key, list text not null, revision integer not null, updatedAt text not null, body text not null);
	create table if not exists positions (source text primary key, since text not null);
	create table if not exists heard (id text primary key, at integer not null);`

// beginning is a time before the first change.
const beginning = "1970-01-01T00:00:00Z"

// mirror is a copy and the work that is due for it.
type mirror struct {
	base, key string
	client    *http.Client
	lists     []string // in the order in which they are read
	secrets   []*standardwebhooks.Webhook
	db        *sql.DB
	feed      url.Values // the next query of the feed, nil after a start

	mu   sync.Mutex
	due  map[string]bool // lists with changes
	wake chan struct{}   // has an element when a list becomes due
}

func main() {
	base := flag.String("base", cmp.Or(os.Getenv("KARTEI_URL"), "http://127.0.0.1:8080"), "address of the instance")
	lists := flag.String("lists", "companies,contacts,tasks,documents", "what to copy, as far as the key may read it")
	file := flag.String("file", "mirror.db", "where the copy is kept")
	listen := flag.String("listen", "127.0.0.1:3000", "where webhooks are taken, when the variable SECRET holds their secret")
	feed := flag.Duration("feed", time.Minute, "how often the feed is asked for webhooks that did not come")
	all := flag.Duration("all", 10*time.Minute, "how often every list is asked")
	once := flag.Bool("once", false, "stop when the copy is complete")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	m, err := open(*file, *base, os.Getenv("KARTEI_KEY"), strings.Split(*lists, ","), os.Getenv("SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	defer m.db.Close()
	if *once {
		if err := m.copyAll(ctx); err != nil {
			log.Fatal(err)
		}
		return
	}
	if len(m.secrets) > 0 {
		listener, err := net.Listen("tcp", *listen)
		if err != nil {
			log.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(m.receive), ReadTimeout: 10 * time.Second}
		go func() { log.Fatal(server.Serve(listener)) }()
	}
	hooks := "no SECRET, so no webhooks"
	if len(m.secrets) > 0 {
		hooks = "webhooks at " + *listen
	}
	fmt.Printf("following every %s; %s\n", *feed, hooks)
	m.follow(ctx, *feed, *all)
}

// open opens the copy, or creates a new one. secrets are webhook secrets, separated by commas.
// During a rotation there are two.
func open(file, base, key string, lists []string, secrets string) (*mirror, error) {
	if key == "" {
		return nil, errors.New("KARTEI_KEY is empty")
	}
	client := &http.Client{Timeout: 2 * time.Minute} // the instance ends a slow call before this timeout
	m := &mirror{base: base + "/v1", key: key, client: client, lists: lists, due: map[string]bool{}, wake: make(chan struct{}, 1)}
	for secret := range strings.FieldsFuncSeq(secrets, func(r rune) bool { return r == ',' }) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < 24 { // the library accepts an empty secret, with which anybody can sign
			return nil, errors.New("SECRET: not a webhook secret (whsec_...)")
		}
		w, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return nil, err
		}
		m.secrets = append(m.secrets, w)
	}
	// Only the owner of the file may read the copy. SQLite would create a file that all users of
	// the machine can read.
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if m.db, err = sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(5000)"); err != nil {
		return nil, err
	}
	_, err = m.db.Exec(tables)
	return m, err
}

// follow keeps the copy up to date until ctx ends. It repeats failed work.
func (m *mirror) follow(ctx context.Context, feed, all time.Duration) {
	nextFeed, nextAll := time.Tick(feed), time.Tick(all)
	for err := m.copyAll(ctx); ctx.Err() == nil; {
		again := make(<-chan time.Time)
		if err != nil {
			log.Print(err)
			again = time.After(5*time.Second + rand.N(time.Second))
		}
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
			err = m.copyDue(ctx)
		case <-again:
			err = m.copyDue(ctx)
		case <-nextFeed:
			err = errors.Join(m.readFeed(ctx), m.copyDue(ctx))
		case <-nextAll:
			err = m.copyAll(ctx)
		}
	}
}

// receive is the handler of webhooks. It sends the response before it copies, because the sender
// waits for only 10 s. If this process ends in between, nothing is lost, because its next start
// reads every list.
func (m *mirror) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10)) // unchanged: the signature covers these bytes
	if err != nil {
		http.Error(w, "no body", http.StatusBadRequest)
		return
	}
	if !slices.ContainsFunc(m.secrets, func(s *standardwebhooks.Webhook) bool { return s.Verify(body, r.Header) == nil }) {
		http.Error(w, "not signed with our secret within the last 5 minutes", http.StatusUnauthorized)
		return
	}
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		http.Error(w, "no event", http.StatusBadRequest)
		return
	}
	if err := m.hear(e); err != nil {
		log.Print(err)
		http.Error(w, "not now", http.StatusServiceUnavailable) // the instance sends the event again
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// event has the members of an event that the mirror needs. ID is also the header webhook-id.
type event struct {
	ID        string
	CreatedAt string
	Data      struct{ Object string }
}

// hear makes the list of an event due, unless the event is known. It ignores events about other
// kinds of records.
func (m *mirror) hear(e event) error {
	list, known := listOf[e.Data.Object]
	if !known || !slices.Contains(m.lists, list) {
		return nil
	}
	result, err := m.db.Exec(`insert into heard (id, at) values (?, ?) on conflict do nothing`, e.ID, time.Now().Unix())
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	m.mark(list)
	return nil
}

// note makes lists due.
func (m *mirror) note(lists ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, list := range lists {
		m.due[list] = true
	}
}

// mark notes that the lists are due for reading, and wakes the goroutine that runs follow.
func (m *mirror) mark(lists ...string) {
	m.note(lists...)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// readFeed reads the events since the last read. A cursor is valid for 24 hours. After that, and
// after a start, the query begins at the largest createdAt.
func (m *mirror) readFeed(ctx context.Context) error {
	for {
		if m.feed == nil {
			since, err := m.position("events")
			if err != nil {
				return err
			}
			m.feed = url.Values{"sort": {"createdAt"}, "limit": {"100"}, "createdSince": {since}}
		}
		p, err := get[event](ctx, m, "/events?"+m.feed.Encode())
		if refused := new(refusal); errors.As(err, &refused) && refused.Code == "CURSOR_MISMATCH" {
			m.feed = nil
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range p.Data {
			if err := m.hear(e); err != nil {
				return err
			}
		}
		if len(p.Data) > 0 {
			if err := advance(ctx, m.db, "events", p.Data[len(p.Data)-1].CreatedAt); err != nil {
				return err
			}
		}
		if m.feed.Set("cursor", p.NextCursor); !p.HasMore {
			// The sender retries a delivery for about three days, so older ids are not needed. If
			// such an event came again, its list of records would be read once more.
			_, err := m.db.ExecContext(ctx, `delete from heard where at < ?`, time.Now().Add(-4*24*time.Hour).Unix())
			return err
		}
	}
}

// copyAll reads every list. The first time, it stores the end of the feed before that, because
// earlier events are not needed.
func (m *mirror) copyAll(ctx context.Context) error {
	since, err := m.position("events")
	if err == nil && since == beginning {
		var newest *page[event]
		if newest, err = get[event](ctx, m, "/events?limit=1"); err == nil && len(newest.Data) > 0 {
			err = advance(ctx, m.db, "events", newest.Data[0].CreatedAt)
		}
	}
	m.note(m.lists...)
	return errors.Join(err, m.copyDue(ctx))
}

// copyDue reads the lists that are due.
func (m *mirror) copyDue(ctx context.Context) error {
	total := 0
	for _, list := range m.lists {
		m.mu.Lock()
		due := m.due[list]
		delete(m.due, list) // before the read, so that later changes make it due again
		m.mu.Unlock()
		if !due {
			continue
		}
		n, err := m.copyList(ctx, list)
		if total += n; err != nil {
			m.note(list) // follow waits before the next try
			return err
		}
	}
	if total > 0 {
		what := "changes"
		if total == 1 {
			what = "change"
		}
		fmt.Printf("%s  %d %s\n", time.Now().Format(time.TimeOnly), total, what)
	}
	return nil
}

// copyList reads all changes of a list since the last read, in the order of their times. Times are
// kept as text with all their digits. A program that cuts them to milliseconds would read the last
// change again and again. Within 24 hours, the cursor of the last page would work too.
func (m *mirror) copyList(ctx context.Context, list string) (changed int, err error) {
	since, err := m.position(list)
	if err != nil {
		return 0, err
	}
	query := url.Values{"updatedSince": {since}, "includeDeleted": {"true"}, "sort": {"updatedAt"}, "limit": {"100"}}
	for {
		p, err := get[json.RawMessage](ctx, m, "/"+list+"?"+query.Encode())
		if err != nil {
			return changed, err
		}
		if err := m.apply(ctx, list, p.Data); err != nil {
			return changed, err
		}
		if changed += len(p.Data); !p.HasMore {
			return changed, nil
		}
		query.Set("cursor", p.NextCursor)
	}
}

// apply stores the records of a page and the position after it in one transaction. A program that
// was stopped continues from there. A record with the same or a later revision is not replaced, so
// a page may be applied twice.
func (m *mirror) apply(ctx context.Context, list string, data []json.RawMessage) error {
	if len(data) == 0 {
		return nil
	}
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	since := ""
	for _, body := range data {
		var r struct { // a record, or the marker of a deleted record
			ID, UpdatedAt, DeletedAt string
			Revision                 int64
			Deleted                  bool
		}
		if err := json.Unmarshal(body, &r); err != nil {
			return err
		}
		if r.Deleted {
			_, err = tx.Exec(`delete from records where id = ? and updatedAt < ?`, r.ID, r.DeletedAt)
		} else {
			_, err = tx.Exec(`insert into records (id, list, revision, updatedAt, body) values (?, ?, ?, ?, ?)
				on conflict (id) do update set revision = excluded.revision, updatedAt = excluded.updatedAt, body = excluded.body
				where excluded.revision > revision`, r.ID, list, r.Revision, r.UpdatedAt, string(body))
		}
		if err != nil {
			return err
		}
		since = cmp.Or(r.DeletedAt, r.UpdatedAt)
	}
	if err := advance(ctx, tx, list, since); err != nil {
		return err
	}
	return tx.Commit()
}

// position returns the time up to which a list or the feed was read.
func (m *mirror) position(source string) (since string, err error) {
	err = m.db.QueryRow(`select since from positions where source = ?`, source).Scan(&since)
	if errors.Is(err, sql.ErrNoRows) {
		return beginning, nil
	}
	return since, err
}

// advance stores the time up to which a list or the feed was read.
func advance(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, source, since string) error {
	_, err := db.ExecContext(ctx, `insert into positions (source, since) values (?, ?)
		on conflict (source) do update set since = max(since, excluded.since)`, source, since)
	return err
}

// maxPage is the maximum number of bytes that are read of a response. A page of the largest records
// is shorter.
const maxPage = 32 << 20

// page is one page of a list or of the feed.
type page[T any] struct {
	Data       []T
	HasMore    bool
	NextCursor string
}

// refusal is an error response. Programs decide by its Code.
type refusal struct {
	Code, Title, Detail, RequestID string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s: %s %s (%s)", r.Code, r.Title, r.Detail, r.RequestID)
}

// get reads one page. After a 429 or 503, it waits for the time in the response and tries again.
func get[T any](ctx context.Context, m *mirror, path string) (*page[T], error) {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+path, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+m.key)
		request.Header.Set("Accept-Language", "en")
		response, err := m.client.Do(request)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
		response.Body.Close()
		if err != nil {
			return nil, err
		}
		if response.StatusCode == http.StatusOK {
			p := new(page[T])
			return p, json.Unmarshal(body, p)
		}
		refused := new(refusal)
		if json.Unmarshal(body, refused) != nil || refused.Code == "" {
			return nil, errors.New(response.Status)
		}
		wait, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		if wait == 0 {
			return nil, refused
		}
		log.Printf("waiting for %d s: %s", wait, refused) // a quota allows 10,000 records an hour, so a larger first copy waits here
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(wait)*time.Second + rand.N(time.Second)):
		}
	}
}
