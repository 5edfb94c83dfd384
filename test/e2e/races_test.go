package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// caller sends a call to the replica at base.
type caller func(c *httpClient, base string) (*answer, error)

func calling(method, path, body string, headers ...string) caller {
	return func(c *httpClient, base string) (*answer, error) { return c.call(base, method, path, body, headers...) }
}

// race is two calls at the same time, and the pairs of responses that are allowed.
type race struct {
	name  string
	calls func(t *testing.T, r *racers, n int) [2]caller
	want  []string
	makes int // the number of contacts that a round creates
}

var races = []race{
	{"external id", func(_ *testing.T, _ *racers, n int) [2]caller {
		body := fmt.Sprintf(`{"lastName":"Berg","externalId":"race-%d"}`, n)
		return [2]caller{
			calling("POST", "/contacts", body, "Idempotency-Key", fmt.Sprint("a", n)),
			calling("POST", "/contacts", body, "Idempotency-Key", fmt.Sprint("b", n)),
		}
	}, []string{"201, 422 VALIDATION_FAILED"}, 1},
	{"idempotency key", func(_ *testing.T, _ *racers, n int) [2]caller {
		one := calling("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", fmt.Sprint("same", n))
		return [2]caller{one, one}
	}, []string{"201, 201 replayed", "201, 409 IDEMPOTENCY_IN_PROGRESS"}, 1},
	{"idempotency key, other content", func(_ *testing.T, _ *racers, n int) [2]caller {
		key := fmt.Sprint("other", n)
		return [2]caller{
			calling("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", key),
			calling("POST", "/contacts", `{"lastName":"Tal"}`, "Idempotency-Key", key),
		}
	}, []string{"201, 422 IDEMPOTENCY_PAYLOAD_MISMATCH", "201, 409 IDEMPOTENCY_IN_PROGRESS"}, 1},
	{"revision", func(t *testing.T, r *racers, n int) [2]caller {
		path := r.fresh(t, n)
		return [2]caller{
			calling("PATCH", path, `{"lastName":"Eins"}`, "If-Match", `"r1"`),
			calling("PATCH", path, `{"lastName":"Zwei"}`, "If-Match", `"r1"`),
		}
	}, []string{"200, 412 PRECONDITION_FAILED"}, 0},
	{"any revision", func(t *testing.T, r *racers, n int) [2]caller {
		path := r.fresh(t, n)
		return [2]caller{
			calling("PATCH", path, `{"lastName":"Eins"}`, "If-Match", "*"),
			calling("PATCH", path, `{"jobTitle":"Zwei"}`, "If-Match", "*"),
		}
	}, []string{"200, 200"}, 0},
	{"delete against update", func(t *testing.T, r *racers, n int) [2]caller {
		path := r.fresh(t, n)
		return [2]caller{
			calling("DELETE", path, "", "If-Match", `"r1"`),
			calling("PATCH", path, `{"lastName":"Zwei"}`, "If-Match", `"r1"`),
		}
	}, []string{"204, 404 NOT_FOUND", "200, 412 PRECONDITION_FAILED"}, 0},
	{"delete against delete", func(t *testing.T, r *racers, n int) [2]caller {
		path := r.fresh(t, n)
		r.made-- // one of them is deleted
		return [2]caller{calling("DELETE", path, "", "If-Match", "*"), calling("DELETE", path, "", "If-Match", "*")}
	}, []string{"204, 404 NOT_FOUND"}, 0},
}

// racers are two clients, each with a replica of its own. made is the number of contacts that must
// exist.
type racers struct {
	*cluster
	clients []*httpClient
	made    int
}

// fresh creates a contact and returns its path.
func (r *racers) fresh(t *testing.T, n int) (path string) {
	t.Helper()
	r.made++
	return "/contacts/" + r.at(n%2).call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key",
		fmt.Sprintf("%s-%d", t.Name(), n)).Text("id")
}

// both sends two calls at the same time, each to one replica. The replicas change places with each
// round. both returns the responses, and their statuses and codes with the lower first.
func (r *racers) both(t *testing.T, round int, calls [2]caller) (answers [2]*answer, got string) {
	t.Helper()
	start := make(chan struct{})
	var sending sync.WaitGroup
	for i := range calls {
		sending.Go(func() {
			<-start
			a, err := calls[i](r.clients[i], r.servers[(i+round)%2].URL+"/v1")
			if err != nil {
				t.Error(err)
				a = &answer{}
			}
			answers[i] = a
		})
	}
	close(start)
	sending.Wait()
	var words []string
	for _, a := range answers {
		word := fmt.Sprint(a.Status)
		if a.Status >= 400 {
			word += " " + a.Text("code")
		}
		if a.Header.Get("Idempotent-Replayed") != "" {
			word += " replayed"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return answers, strings.Join(words, ", ")
}

// run runs one round of a race and checks the responses.
func (r *racers) run(t *testing.T, race race, n int) {
	t.Helper()
	answers, got := r.both(t, n, race.calls(t, r, n))
	if !slices.Contains(race.want, got) {
		t.Fatalf("round %d: %s\n%s\n%s", n, got, answers[0].Body, answers[1].Body)
	}
	if strings.Contains(got, "replayed") && string(answers[0].Body) != string(answers[1].Body) {
		t.Errorf("round %d: a replay differs:\n%s\n%s", n, answers[0].Body, answers[1].Body)
	}
	r.made += race.makes
	if race.name == "any revision" { // No change may be lost.
		a := r.at(0).call("GET", "/contacts/"+answers[0].Text("id"), "", 200, "")
		if a.Text("lastName") != "Eins" || a.Text("jobTitle") != "Zwei" || a.Text("revision") != "3" {
			t.Errorf("round %d: a change is lost: %s", n, a.Body)
		}
	}
	if race.name == "delete against update" && strings.HasPrefix(got, "204") {
		r.made--
	}
}

// TestRacesOfReplicas sends two conflicting calls to two replicas at the same time, and checks that
// the pair of responses is allowed.
func TestRacesOfReplicas(t *testing.T) {
	t.Parallel()
	h := newPostgresCluster(t, 2)
	r := &racers{cluster: h, clients: []*httpClient{newHTTPClient(h.office.Key), newHTTPClient(h.office.Key)}}
	for _, race := range races {
		t.Run(race.name, func(t *testing.T) {
			for n := range 30 {
				r.run(t, race, n)
			}
		})
	}
	if n := h.at(0).call("GET", "/contacts/count", "", 200, "").Text("count"); n != fmt.Sprint(r.made) {
		t.Errorf("%s contacts, %d are due", n, r.made)
	}
}
