package event_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// side is one of two offices that a program keeps equal.
type side struct {
	*apitest.Client
	contact string
	cursor  string
	rules   rules
	// written are the calls that the program has made here. revision is the revision of the contact
	// that the program has.
	written  map[string]bool
	revision int64
}

// rules are the rules by which the program drops an event.
type rules struct{ byRequest, byRevision bool }

func newSide(t *testing.T, d db.DB, r rules) *side {
	c := apitest.New(t, d).As(access.Member)
	s := &side{Client: c, rules: r, written: map[string]bool{}, revision: 1}
	s.contact = "/contacts/" + c.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201).Text("id")
	s.news()
	return s
}

// news returns the number of new events that the rules do not drop.
func (s *side) news() (changes int) {
	s.Helper()
	at := "/events?sort=createdAt"
	if s.cursor != "" {
		at += "&cursor=" + s.cursor
	}
	a := s.Do("GET", at, nil).Want(200)
	s.cursor = a.Text("nextCursor")
	for _, e := range a.Data() {
		data := e["data"].(map[string]any)
		if request, _ := e["requestId"].(string); s.rules.byRequest && s.written[request] {
			continue
		}
		if revision, _ := data["revision"].(float64); s.rules.byRevision && int64(revision) <= s.revision {
			continue
		}
		changes++
	}
	return changes
}

// edit is a change by a person.
func (s *side) edit(note string) {
	s.Helper()
	s.Do("PATCH", s.contact, map[string]any{"note": note}, "If-Match", "*").Want(200)
}

// push writes the contact of another side to this one, unless somebody changed it meanwhile. wins
// says that the other side wins then.
func (s *side) push(from *side, wins bool) {
	s.Helper()
	a := from.Do("GET", from.contact, nil).Want(200)
	from.revision = revisionOf(a)
	match := `"r` + strconv.FormatInt(s.revision, 10) + `"`
	if wins {
		match = "*"
	}
	b := s.Do("PATCH", s.contact, map[string]any{"note": a.JSON()["note"]}, "If-Match", match)
	if b.Status == 412 {
		return
	}
	b.Want(200)
	s.written[b.Header.Get("Request-Id")] = true
	s.revision = revisionOf(b)
}

func revisionOf(a *apitest.Answer) int64 { return int64(a.JSON()["revision"].(float64)) }

// TestTwoMirrorsComeToRest checks the rules of the guide for a program that writes to both sides.
// Each rule alone drops the echo of the program's own writes, so that the sides become equal and
// stay so. In a conflict the first side wins.
func TestTwoMirrorsComeToRest(t *testing.T) {
	for name, r := range map[string]rules{
		"by Request-Id": {byRequest: true}, "by revision": {byRevision: true}, "by both": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) { mirrorBothWays(t, newSide(t, d, r), newSide(t, d, r)) })
		})
	}
}

func mirrorBothWays(t *testing.T, a, b *side) {
	random := rand.New(rand.NewPCG(20261130, 1))
	sync := func() (pushes int) {
		if a.news() > 0 {
			b.push(a, true)
			pushes++
		}
		if b.news() > 0 {
			a.push(b, false)
			pushes++
		}
		return pushes
	}
	for i := range 40 {
		for _, s := range []*side{a, b} {
			if random.IntN(2) == 0 {
				s.edit(fmt.Sprint("edit ", i, " ", random.IntN(3)))
			}
		}
		if random.IntN(3) == 0 {
			sync()
		}
	}
	sync()
	sync()
	if pushes := sync() + sync(); pushes > 0 {
		t.Errorf("%d pushes without an edit", pushes)
	}
	for _, s := range []*side{a, b} {
		s.edit("the last edit of " + s.Principal)
		if pushes := sync() + sync() + sync(); pushes != 1 {
			t.Errorf("one edit made %d pushes", pushes)
		}
	}
	if x, y := a.Do("GET", a.contact, nil).JSON()["note"], b.Do("GET", b.contact, nil).JSON()["note"]; x != y {
		t.Errorf("the sides are not equal: %v and %v", x, y)
	}
}
