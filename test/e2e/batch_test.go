package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestBatchesOverKills imports contacts in batches while the server is killed repeatedly. The
// client sends a batch without a response again, unchanged. In the end each part has created one
// contact, and its result has that contact.
func TestBatchesOverKills(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, h *cluster) {
		ctx, cancel := h.going()
		defer cancel()
		done, stop := make(chan error, 1), make(chan struct{})
		made, replayed := map[string]bool{}, 0
		go func() {
			done <- func() error {
				c := newHTTPClient(h.office.Key)
				for n := 0; ; n++ {
					select {
					case <-stop:
						return nil
					default:
					}
					ids, again, err := h.importBatch(ctx, c, n)
					if err != nil {
						return err
					}
					replayed += again
					for _, id := range ids {
						made[id] = true
					}
					if len(made) != 20*(n+1) {
						return fmt.Errorf("%d contacts were made by %d batches", len(made), n+1)
					}
					h.wrote()
				}
			}()
		}()
		h.storm(ctx, times("KARTEI_KILLS", 3))
		close(stop)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		h.close()
		data := h.settle()
		if len(data.contacts) != len(made) || data.keys != len(made) {
			t.Errorf("%d contacts and %d stored answers, %d were acknowledged", len(data.contacts), data.keys, len(made))
		}
		for id := range made {
			if _, there := data.contacts[id]; !there {
				t.Errorf("%s was acknowledged and is not there", id)
			}
		}
		t.Logf("%d contacts, %d of them told again", len(made), replayed)
	})
}

// importBatch sends the n-th batch until each part has a result. It returns the ids of the created
// contacts and the number of replayed results.
func (h *cluster) importBatch(ctx context.Context, c *httpClient, n int) (ids []string, replayed int, err error) {
	calls := make([]string, 20)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"id":"p%d","method":"POST","path":"/contacts","headers":{"Idempotency-Key":"import-%d-%d"},"body":{"lastName":"Berg","externalId":"%d-%d"}}`, i, n, i, n, i)
	}
	body := `{"calls":[` + strings.Join(calls, ",") + `]}`
	for {
		ids, replayed = nil, 0
		a, err := h.call(ctx, c, "POST", "/batch", body)
		if err == nil {
			var answer struct {
				Results []struct {
					ID      string            `json:"id"`
					Status  int               `json:"status"`
					Headers map[string]string `json:"headers"`
					Body    struct {
						ID         string `json:"id"`
						ExternalID string `json:"externalId"`
					} `json:"body"`
				} `json:"results"`
			}
			if err := json.Unmarshal(a.Body, &answer); err != nil || len(answer.Results) != len(calls) {
				return nil, 0, fmt.Errorf("%d %v: %s", a.Status, err, a.Body)
			}
			for i, r := range answer.Results {
				switch {
				case r.ID != fmt.Sprint("p", i):
					return nil, 0, fmt.Errorf("result %d is that of %s", i, r.ID)
				case r.Status == 201 && r.Body.ExternalID != fmt.Sprintf("%d-%d", n, i):
					return nil, 0, fmt.Errorf("part %d of batch %d made %s", i, n, r.Body.ExternalID)
				case r.Status == 201:
					ids = append(ids, r.Body.ID)
					if r.Headers["Idempotent-Replayed"] == "true" {
						replayed++
					}
				case r.Status != 409 && r.Status != 429 && r.Status != 503:
					return nil, 0, fmt.Errorf("part %d of batch %d: %d", i, n, r.Status)
				}
			}
			if len(ids) == len(calls) {
				return ids, replayed, nil
			}
		}
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
	}
}

// TestBatchStory sends a batch to the real binary. It checks the response, the cost, and the
// request log, which lists the batch and its parts.
func TestBatchStory(t *testing.T) {
	t.Parallel()
	store := []string{"--data-dir", t.TempDir()}
	served := start(t, append([]string{"serve"}, store...)...)
	office := found(t, store...)
	s := client{t, served, office.Key}
	a := s.call("POST", "/batch", `{"calls":[{"id":"anna","method":"POST","path":"/contacts","headers":{"Idempotency-Key":"k"},"body":{"lastName":"Berg"}},
		{"method":"GET","path":"/contacts/count"},{"method":"GET","path":"/contacts/unknown"}]}`, 200, "")
	var answer struct {
		Results []struct {
			ID     string `json:"id"`
			Status int    `json:"status"`
		} `json:"results"`
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil || fmt.Sprint(answer.Results) != "[{anna 201} {1 200} {2 404}]" {
		t.Errorf("%v: %s", err, a.Body)
	}
	if got := a.Header.Get("RateLimit-Policy"); !strings.Contains(got, "writes") || !strings.Contains(got, "outflow") {
		t.Errorf("RateLimit-Policy %q", got)
	}
	id := a.Header.Get("Request-Id")
	log := read[struct {
		Data []struct{ RequestID, Operation, Batch string }
	}](t, append([]string{"log", id}, store...)...)
	lines := map[string]string{}
	for _, l := range log.Data {
		lines[l.Operation] = l.Batch
	}
	if len(log.Data) != 4 || lines["contacts.create"] != id || lines["contacts.count"] != id ||
		lines["contacts.get"] != id || lines["batch.run"] != "" {
		t.Errorf("%+v", log.Data)
	}
}
