package api_test

import (
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestInvisibleTakesAsLong compares the times of NOT_FOUND responses for a hidden record and for an
// unknown id. It does so for every operation with an id. An attacker who compares two calls must
// hardly do better than by chance, or the difference must be less than the time of a statement.
//
// A small difference is unavoidable. Both databases find a row before they compare its owner. This
// takes one or two microseconds on SQLite, and an event has two rows. The jitter of a network is
// hundreds of microseconds.
//
// Successful reads show that the test can detect a difference: it must detect most of them.
func TestInvisibleTakesAsLong(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		owner, c := o.As(access.Member), o.As(access.Member)
		foreign := ofAnother(t, o)
		blur := map[string]time.Duration{"sqlite": 8 * time.Microsecond, "postgres": 15 * time.Microsecond}[d.Dialect().Name]
		reads, told := 0, 0
		for op := range rows() {
			if !op.Named() {
				continue
			}
			private, open, elsewhere := timedRecords(t, op, owner, c, foreign)
			attempts := []apitest.Attempt{
				attempt(t, c, op, "unknown", id.New(private[:4])), attempt(t, c, op, "private", private),
				attempt(t, c, op, "another organization's", elsewhere),
			}
			isRead := op.Method == "GET"
			if isRead {
				attempts = append(attempts, attempt(t, c, op, "seen", open))
				reads++
			}
			if seen := takeAsLong(t, op, blur, attempts); isRead && seen {
				told++
			}
		}
		if told <= reads/2 {
			t.Errorf("the measure is blind: of %d reads it tells one that succeeds from one of nothing in %d", reads, told)
		}
	})
}

// timedRecords returns the ids of three records for calls of an operation: an owner's private
// record, a record that the caller sees, and a record of another organization.
func timedRecords(
	t *testing.T, op *api.Operation, owner, caller, foreign *apitest.Client,
) (private, open, elsewhere string) {
	t.Helper()
	maker := creator(op.Family)
	name := func(_ *apitest.Client, record string) string { return record }
	if maker == nil { // the id of an event is found by its record
		maker, name = creator("contacts"), func(c *apitest.Client, record string) string { return eventOf(t, c, record) }
	}
	private = name(owner, makeRecord(t, owner, maker, "private"))
	open = name(owner, makeRecord(t, owner, maker, "organization"))
	elsewhere = name(foreign, makeRecord(t, foreign, maker, "organization"))
	switch op.Family { // visible only to its creator
	case "operations":
		private, open, elsewhere = begun(t, owner), begun(t, caller), begun(t, foreign)
	case "webhook_endpoints":
		open = makeRecord(t, caller, maker, "")
	}
	return private, open, elsewhere
}

// attempt returns a call of an operation with a record. The time for parsing the HTTP request is
// not part of it.
func attempt(t *testing.T, c *apitest.Client, op *api.Operation, what, record string) apitest.Attempt {
	t.Helper()
	r := c.Request(op.Method, strings.Replace(op.Path, "{id}", record, 1), example(t, op), "If-Match", `"r9"`,
		"Idempotency-Key", "")
	body := []byte(nil)
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	return apitest.Attempt{Name: what, Do: func() {
		answer := c.API.Do(t.Context(), &api.Request{
			Method: op.Method, Path: strings.TrimPrefix(r.URL.Path, "/v1"), Header: r.Header, Credential: api.Bearer(c.Key),
			Address: netip.MustParseAddr("192.0.2.1"),
			HasBody: body != nil, Body: func() ([]byte, error) { return body, nil },
		}, nil)
		if answer.File != nil {
			answer.File.Sent(answer.Status, true)
		}
	}}
}

// takeAsLong fails the test if the time of a response distinguishes a hidden record from an unknown
// id. It reports whether the time distinguishes a visible record from an unknown id.
//
// Other programs use the machine too, so a disturbed round is repeated. A real difference appears
// in every round.
func takeAsLong(t *testing.T, op *api.Operation, blur time.Duration, attempts []apitest.Attempt) (seen bool) {
	t.Helper()
	const rounds, turns, tolerance = 6, 400, 0.1
	apitest.Measure(50, attempts)
	for round := 1; ; round++ {
		took := apitest.Measure(turns, attempts)
		worst := 0.0
		for _, a := range attempts[1:] {
			advantage := apitest.Advantage(took[a.Name], took["unknown"])
			apart := apitest.Median(took[a.Name]) - apitest.Median(took["unknown"])
			t.Logf("%s, round %d: %s is %s apart, advantage %.3f", op.ID, round, a.Name, apart, advantage)
			switch {
			case a.Name == "seen":
				seen = seen || max(advantage-0.5, 0.5-advantage) >= 0.04
			case max(apart, -apart) > blur:
				worst = max(worst, advantage-0.5, 0.5-advantage)
			}
		}
		if worst > tolerance && round == rounds {
			t.Errorf("%s: hidden records can be detected: right in %.0f %% of the cases", op.ID, 100*(0.5+worst))
		}
		if worst <= tolerance && (seen || op.Method != "GET") || round == rounds {
			return seen
		}
	}
}
