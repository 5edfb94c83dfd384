package retention_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kartei/instance/erasure"
	"kartei/kit/clock"
	"kartei/people/notify"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/store/retention"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var (
	ctx   = context.Background()
	start = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
)

// hasty is a clock on which all waits end at once.
type hasty struct{ *clock.Fake }

func (h hasty) After(d time.Duration) <-chan time.Time {
	c := h.Fake.After(d)
	h.Advance(d)
	return c
}

// tables has a statement for each table with a rule. It adds a row with the time $3. $2 is the id
// of the row, unique within its organization. age and nobody are the expected values of the rule.
var tables = map[string]struct {
	insert string
	age    time.Duration
	nobody bool
}{
	"request_log": {`insert into request_log (organization, at, request_id, key_id, kid_short, principal_id, operation, method, status, code, duration, address, reason)
		values ($1, $3, $2, '', '', '', 'me.get', 'GET', 200, '', 1, '', '')`, 30 * 24 * time.Hour, true},
	"usage_hours": {`insert into usage_hours (organization, subject, hour, kind, writer, calls, unauthenticated, forbidden, limited, rejected, failed, points, records,
			took_0, took_1, took_2, took_3, took_4, took_5, took_6, took_7, took_8, took_9, took_10, took_11, took_12, took_13, took_14, took_15, took_16, took_17, took_18)
		values ($1, $2, $3, 'call', '', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)`,
		92 * 24 * time.Hour, false},
	"limits": {
		`insert into limits (organization, subject, state, updated_at) values ($1, $2, '{}', $3)`,
		48 * time.Hour, false,
	},
	"notices": {
		`insert into notices (organization, principal, id, created_at, kind, data, read_at, mailing, mail_at, mailed_at) values ($1, 'usr_a', $2, $3, '', '{}', 0, false, 0, 0)`,
		notify.Age, false,
	},
	"events": {
		`insert into events (organization, tick, id, type, object, record_id) values ($1, $3, $2, 'contact.created', 'contact', 'con_a')`,
		30 * 24 * time.Hour, false,
	},
	"idempotency": {
		`insert into idempotency (organization, principal, key, created_at, fingerprint, status, etag, location, body) values ($1, 'usr_a', $2, $3, '', 201, '', '', '{}')`,
		24 * time.Hour, false,
	},
	"operations": {`insert into operations (organization, id, principal, type, status, progress, input, result_object, result_id, error, request, created_at, started_at, finished_at)
		values ($1, $2, 'usr_a', 'documents.create', 'succeeded', 100, '', 'document', 'doc_a', '', '', 1, 1, $3)`,
		31 * 24 * time.Hour, false},
	"webhook_attempts": {`insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
		values ($1, $2, 'whe_a', 'evt_a', 'contact.created', 1, 'succeeded', 204, 1, '', $3, 0)`, 30 * 24 * time.Hour, false},
	"audit_lines": {`insert into audit_lines (organization, id, at, principal, kind, credential, door, address, operation, word, target, changes, request_id)
		values ($1, $2, $3, '', 'operator', '', 'admin', '', 'keys.pause', 'key.pause', 'key_a', '[]', 'req_a')`,
		400 * 24 * time.Hour, true},
	"invitations": {`insert into invitations (organization, id, expires_at, token_hash, email, email_folded, language, role, rights, invited_by, created_at)
		values ($1, $2 || cast(cast($1 as bigint) as text), $3, $2 || cast(cast($1 as bigint) as text), 'a', $2, 'de', 'member', '{}', '', 1)`, 0, false},
	"handovers": {`insert into handovers (organization, id, from_principal, to_principal, private, progress, requested_by, kind, request_id, created_at, finished_at)
		values ($1, $2, 'usr_a', 'usr_b', false, '{}', '', 'operator', 'req_a', 1, $3)`, 90 * 24 * time.Hour, false},
	"imports": {`insert into imports (organization, id, principal, state, sealed_key, content, progress, requested_by, kind, door, request_id, created_at, expires_at, forgotten_at)
		values ($1, $2, 'usr_a', 'done', '', '', '{}', 'usr_a', 'session', 'web', 'req_a', 1, 1, $3)`,
		90 * 24 * time.Hour, false},
	"sessions": {`insert into sessions (organization, id, token_hash, account_id, principal_id, created_at, last_seen_at, expires_at, idle, fresh_until, address, agent, method)
		values ($1, $2 || cast(cast($1 as bigint) as text), $2 || cast(cast($1 as bigint) as text), 'acc_a', 'usr_a', 1, 1, $3, 1, 1, '', '', 'password')`, 0, false},
	"oauth_tokens": {`insert into oauth_tokens (kid, kind, organization, grant_id, secret_hash, scopes, created_at, expires_at)
		values ($2 || cast(cast($1 as bigint) as text), 'access', $1, 'gra_a', '', '[]', 1, $3)`, 7 * 24 * time.Hour, false},
	"oauth_grants": {`insert into oauth_grants (id, client_id, organization, principal_id, scopes, audience, created_at, expires_at)
		values ($2 || cast(cast($1 as bigint) as text), 'cli_a', $1, 'usr_a', '[]', 'v1', 1, $3)`, 30 * 24 * time.Hour,
		false},
	"oauth_approvals": {`insert into oauth_approvals (organization, id, client_id, asked_at)
		values ($1, $2, $2, $3)`, 30 * 24 * time.Hour, false},
	"jobs": {`insert into jobs (organization, id, kind, key, payload, state, claim, attempt, due_at, error, created_at, started_at)
		values ($1, $2, 'a', '', 'null', 'failed', 1, 1, $3, '', 1, 1)`, 30 * 24 * time.Hour, true},
}

func seed(t *testing.T, d db.DB, organizations int) {
	t.Helper()
	write(t, d, func(tx db.Tx) error {
		for n := range organizations {
			if _, err := tx.Exec(ctx, `insert into organizations (number, id, name, module_on, secrecy_declared, level, state, created_at)
				values ($1, $2, $2, true, true, 'on', 'open', 1)`, int64(n+1), fmt.Sprintf("org_%d", n+1)); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `insert into accounts (id, email, email_folded, created_at) values ('acc_a', 'a', 'a', 1)`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into principals (id, kind, organization, name, email, email_folded, role, rights, disabled, created_at, account_id)
			values ('usr_a', 'user', 1, 'a', 'a', 'a', 'member', '{}', false, 1, 'acc_a')`)
		return err
	})
}

func write(t *testing.T, d db.DB, f func(db.Tx) error) {
	t.Helper()
	if err := d.Write(ctx, f); err != nil {
		t.Fatal(err)
	}
}

// fill adds n rows to a table. Their times begin at first and are a microsecond apart.
func fill(t *testing.T, d db.DB, table string, organization int64, first clock.Micros, n int) {
	t.Helper()
	write(t, d, func(tx db.Tx) error {
		for i := range n {
			at := int64(first) + int64(i)
			tx.Queue(tables[table].insert, organization, fmt.Sprintf("%s_%020d", table[:3], at), at)
		}
		return nil
	})
}

func count(t *testing.T, d db.DB, table string, organization int64) (n int) {
	t.Helper()
	if err := d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, "select count(*) from "+table+" where organization = $1", organization).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRules checks that only rows beyond the age of their rule are deleted, in several pieces and
// organizations.
func TestRules(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		seed(t, d, 3)
		for _, r := range erasure.Rules {
			if tables[r.Name].insert == "" {
				t.Fatalf("the rule %q has no row in tables of this test", r.Name)
			}
		}
		write(t, d, func(tx db.Tx) error { // all tokens have a grant of organization 3, which this test does not tidy
			tx.Queue(`insert into oauth_clients (id, kind, client_id, name, redirect_uris, auth_method, created_at, last_used_at)
				values ('cli_a', 'registered', 'cli_a', '', '[]', 'none', 1, 1)`)
			tx.Queue(`insert into oauth_grants (id, client_id, organization, principal_id, scopes, audience, created_at, expires_at)
				values ('gra_a', 'cli_a', 3, 'usr_a', '[]', 'v1', 1, 1)`)
			return nil
		})
		const before, after = 2*retention.Piece + 7, 5
		for name, table := range tables {
			limit := clock.FromTime(start.Add(-table.age))
			fill(t, d, name, 1, limit-before, before+after) // the row at the limit stays
			fill(t, d, name, 2, limit, 3)
			if name != "sessions" && name != "oauth_grants" { // both refer to an organization
				fill(t, d, name, 0, limit-4, 4)
			}
		}
		write(t, d, func(tx db.Tx) error { // running operations and waiting jobs stay at any age
			tx.Queue(tables["operations"].insert, 2, "opr_goes_on", 0)
			return job.Enqueue(ctx, tx, 2, 1, job.Spec{Kind: "a"})
		})
		for organization := range int64(3) {
			if err := retention.New(d, hasty{clock.NewFake(start)}, erasure.Rules).Tidy(ctx, organization); err != nil {
				t.Fatal(err)
			}
		}
		for name, table := range tables {
			if n := count(t, d, name, 1); n != after {
				t.Errorf("%s: %d of organization 1 are left, want %d", name, n, after)
			}
			want := 3
			if name == "jobs" || name == "operations" {
				want++
			}
			if n := count(t, d, name, 2); n != want {
				t.Errorf("%s: %d of organization 2 are left", name, n)
			}
			if n := count(t, d, name, 0); name != "sessions" && name != "oauth_grants" && (n == 0) != table.nobody {
				t.Errorf("%s: %d of nobody are left", name, n)
			}
		}
	})
}

// watchedDB counts transactions and the rows that a statement changes. It can refuse writes.
type watchedDB struct {
	db.DB
	reads, writes int
	largest       int64
	fail          error
}

func (w *watchedDB) Read(ctx context.Context, f func(db.Tx) error) error {
	w.reads++
	return w.DB.Read(ctx, f)
}

func (w *watchedDB) Write(ctx context.Context, f func(db.Tx) error) error {
	w.writes++
	if w.fail != nil {
		return w.fail
	}
	return w.DB.Write(ctx, func(tx db.Tx) error { return f(watchedTx{tx, w}) })
}

type watchedTx struct {
	db.Tx
	w *watchedDB
}

func (t watchedTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	n, err := t.Tx.Exec(ctx, query, args...)
	t.w.largest = max(t.w.largest, n)
	return n, err
}

// TestPieces checks that no transaction deletes more than Piece rows, and that nothing is written
// without old rows.
func TestPieces(t *testing.T) {
	d := &watchedDB{DB: dbtest.SQLite(t)}
	seed(t, d.DB, 2)
	fill(t, d.DB, "events", 1, 1, 3*retention.Piece)
	k := retention.New(d, hasty{clock.NewFake(start)}, erasure.Rules)
	for range 2 {
		if err := k.Tidy(ctx, 1); err != nil {
			t.Fatal(err)
		}
		if d.writes != 4 || d.largest != retention.Piece { // three full pieces, and the empty last piece
			t.Errorf("%d writes, the largest of %d rows", d.writes, d.largest)
		}
	}
}

// TestFailureOfOneRule checks that the error of one rule is returned and does not stop the other
// rules.
func TestFailureOfOneRule(t *testing.T) {
	d := dbtest.SQLite(t)
	seed(t, d, 1)
	fill(t, d, "events", 1, 1, 3)
	broken := retention.Rule{
		Name: "broken", Due: "select 1 from no_such_table where organization = $1 and at < $2", Delete: "",
	}
	err := retention.New(d, hasty{clock.NewFake(start)},
		append([]retention.Rule{broken}, erasure.Rules...)).Tidy(ctx, 1)
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("error is %v", err)
	}
	if n := count(t, d, "events", 1); n != 0 {
		t.Errorf("%d events are left", n)
	}
	refused := errors.New("refused")
	fill(t, d, "events", 1, 1, 3)
	if err := retention.New(&watchedDB{DB: d, fail: refused}, clock.NewFake(start), erasure.Rules).Tidy(ctx,
		1); !errors.Is(err, refused) {
		t.Errorf("error is %v", err)
	}
}

// TestJobs checks that old rows are deleted within the following hour, with two runners and two
// organizations. One organization has old rows at the start, after an hour and after thirty hours.
// No other job may be enqueued.
func TestJobs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		seed(t, d, 2)
		c := clock.NewFake(start)
		now := clock.FromTime(start)
		ages := []clock.Micros{-1, clock.Hour - 1, 30 * clock.Hour}
		for _, age := range ages {
			fill(t, d, "idempotency", 1, now-clock.Day+age, 1)
		}
		fill(t, d, "events", 1, now-40*clock.Day, retention.Piece*2) // more than a piece, so the job pauses
		ends := make(chan string, 100)
		var begun, told atomic.Int64 // an end is observed after it is stored
		for range 2 {
			running, stop := context.WithCancel(ctx)
			ended := make(chan struct{})
			handlers := retention.New(d, hasty{c}, erasure.Rules).Handlers()
			for i, h := range handlers {
				handlers[i].Run = func(ctx context.Context, j *job.Job) error {
					begun.Add(1)
					return h.Run(ctx, j)
				}
			}
			r := job.NewRunner(d, c, handlers, job.Options{
				Logger: slog.New(slog.DiscardHandler), Observe: func(kind, outcome string, _ time.Duration) {
					ends <- kind + " " + outcome
					told.Add(1)
				},
			})
			go func() {
				defer close(ended)
				r.Run(running)
			}()
			defer func() { stop(); <-ended }()
		}
		looks, tidied := 0, 0
		for tidied < len(ages) {
			select {
			case end := <-ends:
				switch end {
				case "retention.look finished":
					looks++
				case "retention.tidy finished":
					if n := count(t, d, "idempotency", 1); n != len(ages)-1-tidied {
						t.Errorf("%d rows are left", n)
					}
					if after := clock.Now(c) - now; after < ages[tidied] || after > max(ages[tidied], 0)+2*clock.Hour {
						t.Errorf("deleted after %v", time.Duration(after)*time.Microsecond)
					}
					tidied++
				default:
					t.Fatal(end)
				}
			default: // if no job runs and all ends were observed, the clock moves to the next due time
				var next int64
				if err := d.Read(ctx, func(tx db.Tx) error {
					return tx.QueryRow(ctx, `select case when exists (select 1 from jobs where state = 'running') then 0
						else coalesce((select min(due_at) from job_turns), 0) end`).Scan(&next)
				}); err != nil {
					t.Fatal(err)
				}
				if wait := clock.Micros(next).Sub(clock.Now(c)); wait > 0 && wait < 2*time.Hour &&
					begun.Load() <= told.Load() && len(ends) == 0 {
					c.Advance(wait)
				}
			}
		}
		if looks < 31 || looks > 33 {
			t.Errorf("%d looks in thirty hours", looks)
		}
		if n := count(t, d, "events", 1); n != 0 {
			t.Errorf("%d events are left", n)
		}
	})
}

func TestTidyStopsBetweenPieces(t *testing.T) {
	d := dbtest.SQLite(t)
	seed(t, d, 1)
	fill(t, d, "events", 1, 1, retention.Piece*3)
	running, stop := context.WithCancel(ctx)
	w := &watchedDB{DB: d}
	c := stoppingClock{clock.NewFake(start), stop}
	// The clock does not move, so Tidy returns only because running ends.
	_ = retention.New(w, c, erasure.Rules).Tidy(running, 1)
	if n := count(t, d, "events", 1); n != retention.Piece*2 || w.writes != 1 {
		t.Errorf("%d events are left after %d writes", n, w.writes)
	}
}

// stoppingClock is a clock that ends a context as soon as a goroutine waits.
type stoppingClock struct {
	*clock.Fake
	stop context.CancelFunc
}

func (s stoppingClock) After(d time.Duration) <-chan time.Time {
	s.stop()
	return s.Fake.After(d)
}

// TestPlans checks that both statements of each rule use an index.
func TestPlans(t *testing.T) {
	d := dbtest.SQLite(t)
	for _, r := range erasure.Rules {
		for _, statement := range []string{r.Due, r.Delete} {
			args := []any{int64(1), int64(2), int64(3)}[:strings.Count(statement, "$3")+2]
			if err := d.Read(ctx, func(tx db.Tx) error {
				plan, err := dbtest.SQLitePlan(ctx, tx, statement, args...)
				for detail := range strings.SplitSeq(plan, "\n") {
					if strings.HasPrefix(detail, "SCAN") || strings.Contains(detail, "TEMP B-TREE") {
						t.Errorf("%s: %s", statement, detail)
					}
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func BenchmarkPiece(b *testing.B) {
	d := dbtest.SQLite(b)
	for b.Loop() {
		b.StopTimer()
		if err := d.Write(ctx, func(tx db.Tx) error {
			for i := range retention.Piece {
				tx.Queue(tables["request_log"].insert, int64(1), fmt.Sprintf("req_%020d", i), int64(i))
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := d.Write(ctx, func(tx db.Tx) error {
			n, err := tx.Exec(ctx, erasure.Rules[0].Delete, int64(1), int64(1<<40), int64(retention.Piece))
			if n != retention.Piece {
				b.Fatal(n)
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}
