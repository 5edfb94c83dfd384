package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/kit/fault"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"

	"github.com/jackc/pgx/v5"
)

// later maps the problem codes that a client cannot cause in this release to the reason.
var later = map[fault.Code]string{
	fault.VersionSunset: "no version has been retired yet",
	fault.Internal:      "it is a defect wherever it shows",
}

// elsewhere maps the problem codes that another test causes to this test.
var elsewhere = map[fault.Code]string{
	fault.InstancePending: "TestPending",
	fault.Upstream:        "TestBucketAway",
	fault.Overloaded:      "TestOverloaded",
	fault.QuotaExhausted:  "TestQuotaOverAKill",
}

// provocation causes a problem with this code and returns the response.
type provocation func(code string) *answer

// provoker is a client that causes problems. Its key has all scopes for contacts.
type provoker struct {
	client
	reader, files, hooks client
	office               office
	store                []string
	contact              string // the path of a contact
}

func newProvoker(t *testing.T) *provoker {
	t.Helper()
	store := []string{"--data-dir", t.TempDir()}
	served := start(t, append([]string{"serve", "--limits", "writes=100000"}, store...)...) // inProgress needs many writes.
	office := found(t, store...)
	with := func(flags ...string) client {
		t.Helper()
		return client{t, served, read[struct{ Key string }](t,
			slices.Concat([]string{"key", "create", "--org", office.ID, "--principal", office.User, "--env", "test"}, flags,
				store)...).Key}
	}
	p := &provoker{client: client{t, served, office.Key}, office: office, store: store,
		reader: with("--scopes", "contacts:read"),
		hooks:  with("--scopes", "webhook_endpoints:write,contacts:read", "--ip", "127.0.0.1/32")}
	p.files = p.forFiles(office, store...)
	p.contact = "/contacts/" + p.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key",
		"used").Text("id")
	return p
}

// set runs a command of the operator.
func (p *provoker) set(args ...string) { kartei(p.TB, append(args, p.store...)...) }

// endpoint returns the request body that creates a webhook endpoint.
func endpoint(url string) string {
	return `{"name":"CRM","url":"` + url + `","eventTypes":["contact.created"]}`
}

// requests causes the problems of malformed or invalid requests.
func (p *provoker) requests() map[fault.Code]provocation {
	return map[fault.Code]provocation{
		fault.InvalidRequest:   func(code string) *answer { return p.call("GET", "/contacts?limit=0", "", 400, code) },
		fault.UnknownParameter: func(code string) *answer { return p.call("GET", "/contacts?name=Berg", "", 400, code) },
		fault.CursorMismatch:   func(code string) *answer { return p.call("GET", "/contacts?cursor=abc", "", 400, code) },
		fault.ValidationFailed: func(code string) *answer {
			return p.call("POST", "/contacts", `{"email":"nein"}`, 422, code, "Idempotency-Key", "wrong")
		},
		fault.BatchTooLarge: func(code string) *answer {
			return p.call("POST", "/batch", `{"calls":[`+strings.Repeat(`{"method":"GET","path":"/me"},`, 20)+
				`{"method":"GET","path":"/me"}]}`, 400, code)
		},
		fault.BatchFamilyNotAllowed: func(code string) *answer {
			return p.call("POST", "/batch", `{"calls":[{"method":"POST","path":"/batch","body":{"calls":[]}}]}`, 422, code)
		},
		fault.MethodNotAllowed: func(code string) *answer { return p.call("PUT", p.contact, `{}`, 405, code) },
		fault.NotAcceptable: func(code string) *answer {
			return p.call("GET", "/me", "", 406, code, "Accept", "text/html")
		},
		fault.PayloadTooLarge: func(code string) *answer {
			return p.call("POST", "/contacts", `{"note":"`+strings.Repeat("x", 1<<20)+`"}`, 413, code, "Idempotency-Key",
				"large")
		},
		fault.UnsupportedMediaType: func(code string) *answer {
			return p.call("POST", "/contacts", `lastName=Berg`, 415, code, "Idempotency-Key", "form", "Content-Type",
				"application/x-www-form-urlencoded")
		},
	}
}

// uploads causes the problems of wrong files and wrong requests for files.
func (p *provoker) uploads() map[fault.Code]provocation {
	return map[fault.Code]provocation{
		fault.UploadIncomplete: func(code string) *answer {
			session := p.files.open("a.txt", []byte("Guten Tag\n"))
			if a, err := p.files.put(session, []byte("Guten")); err != nil || a.Status != 409 || a.Text("code") != code {
				p.Errorf("a file that is cut short: %+v, %v", a, err)
			}
			return p.files.call("POST", "/documents", p.files.of(session), 409, code, "Idempotency-Key", "incomplete")
		},
		fault.UploadChecksumMismatch: func(code string) *answer {
			session := p.files.open("a.txt", []byte("Guten Tag\n"))
			if a, err := p.files.put(session, []byte("Guten Abend\n")); err != nil || a.Status != 422 || a.Text("code") != code {
				p.Errorf("another file: %+v, %v", a, err)
			}
			return p.files.call("POST", "/documents", p.files.of(session), 422, code, "Idempotency-Key", "mismatch")
		},
		fault.UploadRejected: func(code string) *answer {
			a := p.files.make("a.txt", []byte("MZ\x90\x00\x03\x00\x00\x00"))
			var o struct{ Error json.RawMessage }
			decode(p.TB, string(a.Body), &o)
			problem := &answer{Status: 422, Body: o.Error}
			if a.Text("status") != "failed" || problem.Text("code") != code {
				p.Errorf("a program: %s", a.Body)
			}
			return problem
		},
		fault.RangeNotSatisfiable: func(code string) *answer {
			return p.files.call("GET", "/documents/"+p.files.document("a.txt", []byte("Guten Tag\n"))+"/content", "", 416,
				code, "Range", "bytes=1000-")
		},
	}
}

// callers causes the problems of callers without permission.
func (p *provoker) callers() map[fault.Code]provocation {
	return map[fault.Code]provocation{
		fault.Unauthenticated: func(code string) *answer {
			return client{p.TB, p.server, ""}.call("GET", "/me", "", 401, code)
		},
		fault.Forbidden: func(code string) *answer {
			return p.reader.call("DELETE", p.contact, "", 403, code, "If-Match", "*")
		},
		fault.OrganizationMismatch: func(code string) *answer {
			return p.call("GET", "/contacts", "", 403, code, "Svc-Organization", p.office.ID)
		},
		fault.APIModuleDisabled: func(code string) *answer {
			p.set("org", "set", p.office.SandboxID, "--module", "off")
			defer p.set("org", "set", p.office.SandboxID, "--module", "on")
			return p.call("GET", "/contacts", "", 403, code)
		},
		fault.RiskFamilyBlocked: func(code string) *answer { return p.call("GET", "/invoices", "", 403, code) },
		fault.NotFound:          func(code string) *answer { return p.call("GET", p.contact+"x", "", 404, code) },
		fault.OperationNotInVersion: func(code string) *answer {
			return p.call("POST", "/contacts", `{"lastName":"Berg"}`, 404, code, "Idempotency-Key", "stable", "Svc-Preview",
				"false")
		},
		fault.RateLimited: func(code string) *answer { return limited(p.reader, code) },
		fault.APIPaused: func(code string) *answer {
			p.set("pause")
			defer p.set("resume")
			return p.call("GET", "/me", "", 503, code)
		},
	}
}

// changes causes the problems of conflicting or forbidden changes.
func (p *provoker) changes() map[fault.Code]provocation {
	return map[fault.Code]provocation{
		fault.IdempotencyInProgress: func(code string) *answer { return inProgress(p.client, code) },
		fault.IdempotencyPayloadMismatch: func(code string) *answer {
			return p.call("POST", "/contacts", `{"lastName":"Tal"}`, 422, code, "Idempotency-Key", "used")
		},
		fault.PreconditionRequired: func(code string) *answer { return p.call("PATCH", p.contact, `{}`, 428, code) },
		fault.PreconditionFailed: func(code string) *answer {
			return p.call("PATCH", p.contact, `{}`, 412, code, "If-Match", `"r7"`)
		},
		fault.WebhookURLInvalid: func(code string) *answer {
			return p.hooks.call("POST", "/webhook_endpoints", endpoint("https://127.0.0.1/hook"), 422, code,
				"Idempotency-Key", "inside")
		},
		fault.WebhookEndpointLimit: func(code string) *answer {
			for n := range 16 {
				p.hooks.call("POST", "/webhook_endpoints", endpoint("https://crm.example.com/hook"), 201, "", "Idempotency-Key",
					fmt.Sprint("endpoint-", n))
			}
			return p.hooks.call("POST", "/webhook_endpoints", endpoint("https://crm.example.com/hook"), 409, code,
				"Idempotency-Key", "one-more")
		},
	}
}

// TestEveryProblem causes each problem code as a client would, and opens the page that the problem
// links to.
func TestEveryProblem(t *testing.T) {
	t.Parallel()
	p := newProvoker(t)
	provoke := map[fault.Code]provocation{}
	for _, some := range []map[fault.Code]provocation{p.requests(), p.uploads(), p.callers(), p.changes()} {
		maps.Copy(provoke, some)
	}
	for _, code := range fault.Codes() {
		f, now := provoke[code]
		reason, not := later[code]
		if _, other := elsewhere[code]; now == (not || other) {
			t.Errorf("%s must be provoked, or be named with a reason why it cannot (%q)", code, reason)
		}
		page := p.URL + "/problems/" + string(code)
		if now {
			if kind := f(string(code)).Text("type"); kind != page {
				t.Errorf("%s points to %s", code, kind)
			}
		}
		if text := get(t, page, 200); !strings.Contains(text, string(code)) {
			t.Errorf("the page of %s does not name it", code)
		}
	}
}

// inProgress sends the same creation several times at once, until a response says that the
// idempotency key is in progress.
func inProgress(s client, code string) *answer {
	s.Helper()
	const senders, rounds = 8, 200
	for round := range rounds {
		answers := make([]*answer, senders)
		var sending sync.WaitGroup
		for i := range senders {
			sending.Go(func() {
				a, err := newHTTPClient(s.key).call(s.URL+"/v1", "POST", "/contacts", `{"lastName":"Zugleich"}`,
					"Idempotency-Key", fmt.Sprint("at-once-", round))
				if err != nil {
					s.Error(err)
					return
				}
				answers[i] = a
			})
		}
		sending.Wait()
		for _, a := range answers {
			if a != nil && a.Status == 409 && a.Text("code") == code {
				if a.Header.Get("Retry-After") != "1" {
					s.Errorf("409 with Retry-After %q", a.Header.Get("Retry-After"))
				}
				return a
			}
		}
	}
	s.Fatalf("no %s in %d rounds", code, rounds)
	return nil
}

// limited searches until the limit of the key refuses a search.
func limited(s client, code string) *answer {
	s.Helper()
	for range 1000 {
		a, err := newHTTPClient(s.key).call(s.URL+"/v1", "GET", "/contacts?q=berg", "")
		if err != nil {
			s.Fatal(err)
		}
		if a.Status == 429 && a.Text("code") == code { // Check this response, because the next call may have points again.
			apitest.Conform(s.TB, a.Header.Get("Svc-Version"), "GET", "/contacts?q=berg", a.Status, a.Header, a.Body)
			return a
		}
	}
	s.Fatalf("no %s", code)
	return nil
}

// TestPending starts a server whose migrations must wait for a lock. Until they are done, responses
// ask clients to retry, and the operator sees the reason.
func TestPending(t *testing.T) {
	t.Parallel()
	url := dbtest.PostgresURL(t)
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Bound)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, statement := range []string{"begin", "lock table goose_db_version in access exclusive mode"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	public, operator := freePort(t), freePort(t)
	ready := make(chan *server, 1)
	go func() {
		s, err := launchCommand(command("serve", "--data-dir", t.TempDir(), "--database-url", url, "--listen", public,
			"--operator-listen", operator, "--log-format", "json"))
		if err != nil {
			t.Error(err)
		}
		ready <- s
	}()
	var a *answer
	for a == nil { // Until the server listens, there is no response.
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
		a, _ = newHTTPClient("kart_test_").call("http://"+public, "GET", "/v1/me", "")
		time.Sleep(5 * time.Millisecond)
	}
	if a.Status != 503 || a.Text("code") != string(fault.InstancePending) || a.Header.Get("Retry-After") == "" {
		t.Errorf("before the migrations are done: %d %s", a.Status, a.Body)
	}
	get(t, "http://"+operator+"/healthz", 200)
	get(t, "http://"+operator+"/readyz", 503, "migrat")
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		t.Fatal(err)
	}
	s := <-ready
	if s == nil {
		t.FailNow()
	}
	defer s.kill()
	get(t, "http://"+operator+"/readyz", 200)
	get(t, "http://"+public+"/problems/INSTANCE_PENDING", 200)
	s.stop(t)
}

// TestOverloaded makes a write wait longer than the limit. It gets a refusal in time, has no
// effect, and succeeds when it is repeated later. Reads succeed meanwhile.
func TestOverloaded(t *testing.T) {
	t.Parallel()
	url := dbtest.PostgresURL(t)
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Bound)
	defer cancel()
	store := []string{"--data-dir", t.TempDir(), "--database-url", url + "&lock_timeout=50ms"}
	served := start(t, append([]string{"serve"}, store...)...)
	s := client{t, served, found(t, store...).Key}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, statement := range []string{"begin", "lock table clocks in exclusive mode"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	refused := s.call("POST", "/contacts", `{"lastName":"Berg"}`, 429, string(fault.Overloaded), "Idempotency-Key", "one")
	if refused.Header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	if n := s.call("GET", "/contacts/count", "", 200, "").Text("count"); n != "0" {
		t.Errorf("%s contacts after a refusal", n)
	}
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		t.Fatal(err)
	}
	s.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", "one")
}

// nextPort is the counter of freePort. It begins at random, so that two test runs on a machine use
// different ports.
var nextPort atomic.Int32

func init() { nextPort.Store(20_000 + rand.Int32N(10_000)) }

// freePort returns an address with a free port below 30000. For port 0, systems assign ports from
// 32768 on. So a server of another test cannot take the port meanwhile.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+nextPort.Add(1)%10_000))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("there is no free port")
	return ""
}
