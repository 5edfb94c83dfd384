package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestRacesOfReplicas makes two replicas do the same thing at once, which only
// one of them may do.
func TestRacesOfReplicas(t *testing.T) {
	t.Parallel()
	h := newPostgresCluster(t, 2)
	clients := []*httpClient{newHTTPClient(h.office.Key), newHTTPClient(h.office.Key)}
	// both sends two calls at once, each to its replica, and swaps the replicas
	// in turn. It returns their statuses and codes, the lower first.
	both := func(t *testing.T, round int, calls [2]func(c *httpClient, base string) (*answer, error)) (answers [2]*answer, got string) {
		t.Helper()
		start := make(chan struct{})
		var sending sync.WaitGroup
		for i := range calls {
			sending.Go(func() {
				<-start
				a, err := calls[i](clients[i], h.servers[(i+round)%2].URL+"/v1")
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
	type sender = func(c *httpClient, base string) (*answer, error)
	send := func(method, path, body string, headers ...string) sender {
		return func(c *httpClient, base string) (*answer, error) { return c.call(base, method, path, body, headers...) }
	}
	const rounds = 30
	made := 0
	fresh := func(t *testing.T, n int) (path string) {
		made++
		return "/contacts/" + h.at(n%2).call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", fmt.Sprintf("%s-%d", t.Name(), n)).Text("id")
	}
	for _, race := range []struct {
		name  string
		calls func(t *testing.T, n int) [2]sender
		want  []string
		makes int // contacts a round
	}{
		{"external id", func(_ *testing.T, n int) [2]sender {
			body := fmt.Sprintf(`{"lastName":"Berg","externalId":"race-%d"}`, n)
			return [2]sender{send("POST", "/contacts", body, "Idempotency-Key", fmt.Sprint("a", n)), send("POST", "/contacts", body, "Idempotency-Key", fmt.Sprint("b", n))}
		}, []string{"201, 422 VALIDATION_FAILED"}, 1},
		{"idempotency key", func(_ *testing.T, n int) [2]sender {
			one := send("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", fmt.Sprint("same", n))
			return [2]sender{one, one}
		}, []string{"201, 201 replayed", "201, 409 IDEMPOTENCY_IN_PROGRESS"}, 1},
		{"idempotency key, other content", func(_ *testing.T, n int) [2]sender {
			key := fmt.Sprint("other", n)
			return [2]sender{send("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", key), send("POST", "/contacts", `{"lastName":"Tal"}`, "Idempotency-Key", key)}
		}, []string{"201, 422 IDEMPOTENCY_PAYLOAD_MISMATCH", "201, 409 IDEMPOTENCY_IN_PROGRESS"}, 1},
		{"revision", func(t *testing.T, n int) [2]sender {
			path := fresh(t, n)
			return [2]sender{send("PATCH", path, `{"lastName":"Eins"}`, "If-Match", `"r1"`), send("PATCH", path, `{"lastName":"Zwei"}`, "If-Match", `"r1"`)}
		}, []string{"200, 412 PRECONDITION_FAILED"}, 0},
		{"any revision", func(t *testing.T, n int) [2]sender {
			path := fresh(t, n)
			return [2]sender{send("PATCH", path, `{"lastName":"Eins"}`, "If-Match", "*"), send("PATCH", path, `{"jobTitle":"Zwei"}`, "If-Match", "*")}
		}, []string{"200, 200"}, 0},
		{"delete against update", func(t *testing.T, n int) [2]sender {
			path := fresh(t, n)
			return [2]sender{send("DELETE", path, "", "If-Match", `"r1"`), send("PATCH", path, `{"lastName":"Zwei"}`, "If-Match", `"r1"`)}
		}, []string{"204, 404 NOT_FOUND", "200, 412 PRECONDITION_FAILED"}, 0},
		{"delete against delete", func(t *testing.T, n int) [2]sender {
			path := fresh(t, n)
			made-- // one of them
			return [2]sender{send("DELETE", path, "", "If-Match", "*"), send("DELETE", path, "", "If-Match", "*")}
		}, []string{"204, 404 NOT_FOUND"}, 0},
	} {
		t.Run(race.name, func(t *testing.T) {
			for n := range rounds {
				answers, got := both(t, n, race.calls(t, n))
				if !slices.Contains(race.want, got) {
					t.Fatalf("round %d: %s\n%s\n%s", n, got, answers[0].Body, answers[1].Body)
				}
				if strings.Contains(got, "replayed") && string(answers[0].Body) != string(answers[1].Body) {
					t.Errorf("a replay differs:\n%s\n%s", answers[0].Body, answers[1].Body)
				}
				made += race.makes
				if race.name == "any revision" { // no change is lost
					a := h.at(0).call("GET", "/contacts/"+answers[0].Text("id"), "", 200, "")
					if a.Text("lastName") != "Eins" || a.Text("jobTitle") != "Zwei" || a.Text("revision") != "3" {
						t.Errorf("a change is lost: %s", a.Body)
					}
				}
				if race.name == "delete against update" && strings.HasPrefix(got, "204") {
					made--
				}
			}
		})
	}
	if n := h.at(0).call("GET", "/contacts/count", "", 200, "").Text("count"); n != fmt.Sprint(made) {
		t.Errorf("%s contacts, %d are due", n, made)
	}
}
