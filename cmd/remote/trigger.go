package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"kartei/kit/clock"
)

// Tag is a tag of the records that Trigger creates. People can find and delete these records by it.
// Trigger does not delete them, because a receiver may read the record of an event.
const Tag = "kartei-trigger"

// TriggerResult is the result of Trigger.
type TriggerResult struct {
	// Type is the type of the event.
	Type string `json:"type"`
	// Object and ID are the kind and the id of the event's record.
	Object string `json:"object"`
	ID     string `json:"id"`
	// EventID is the id of the event. It is empty if the feed does not have the event yet.
	EventID string `json:"eventId"`
}

// triggers has a function for each type of event. The function makes a change that causes the
// event.
var triggers = []struct {
	eventType string
	do        func(*Client, context.Context) (TriggerResult, error)
}{
	{"contact.created", created("contact")},
	{"contact.updated", updated("contact", map[string]any{"jobTitle": "Notarin"})},
	{"contact.deleted", deleted("contact")},
	{"company.created", created("company")},
	{"company.updated", updated("company", map[string]any{"legalForm": "GmbH"})},
	{"company.deleted", deleted("company")},
	{"task.created", created("task")},
	{"task.updated", updated("task", map[string]any{"priority": "high"})},
	{"task.completed", (*Client).completeTask},
	{"task.deleted", deleted("task")},
	{"document.created", (*Client).createDocument},
	{"document.deleted", (*Client).deleteDocument},
	{"operation.completed", (*Client).completeOperation},
	{"webhook.test", (*Client).testEndpoint},
}

// Types returns the types of events that Trigger can cause, in the order of the API.
func Types() []string {
	types := make([]string, len(triggers))
	for i, t := range triggers {
		types[i] = t.eventType
	}
	return types
}

// ErrType is returned, wrapped, by Trigger for an unknown type.
var ErrType = errors.New("no such event type")

// ErrLive is returned by Trigger if the key does not belong to a sandbox.
var ErrLive = errors.New("a change that only causes an event needs a key of the sandbox (kart_test_...)")

// Trigger makes a change in the sandbox that causes an event of the type. Before it changes or
// deletes a record, it creates the record, so that no other record is changed. That creation causes
// an event too.
func (c *Client) Trigger(ctx context.Context, eventType string) (TriggerResult, error) {
	i := slices.Index(Types(), eventType)
	if i < 0 {
		return TriggerResult{}, fmt.Errorf("%w: %q; there are %s", ErrType, eventType, strings.Join(Types(), ", "))
	}
	if !strings.HasPrefix(c.Key, "kart_test_") {
		return TriggerResult{}, ErrLive
	}
	m, err := triggers[i].do(c, ctx)
	if err != nil {
		return TriggerResult{}, err
	}
	m.Type = eventType
	if m.EventID == "" {
		m.EventID, err = c.eventOf(ctx, m)
	}
	return m, err
}

// eventOf returns the id of the event if it is among the latest 100 events. Otherwise the id is
// empty.
func (c *Client) eventOf(ctx context.Context, m TriggerResult) (string, error) {
	var page feedPage
	if err := c.Call(ctx, http.MethodGet, "/events?limit=100", nil, &page); err != nil {
		return "", err
	}
	for _, e := range page.Data {
		if e.Type == m.Type && e.Data.ID == m.ID {
			return e.ID, nil
		}
	}
	return "", nil
}

// samples are the records that Trigger creates. They refer to no other records.
var samples = map[string]struct {
	path    string
	members map[string]any
}{
	"contact": {"/contacts", map[string]any{"firstName": "Anna", "lastName": "Beispiel", "tags": []string{Tag}}},
	"company": {"/companies", map[string]any{"name": "Beispiel & Partner", "tags": []string{Tag}}},
	"task":    {"/tasks", map[string]any{"title": "Beispiel ansehen", "tags": []string{Tag}}},
}

func created(object string) func(*Client, context.Context) (TriggerResult, error) {
	return func(c *Client, ctx context.Context) (TriggerResult, error) {
		var record struct {
			ID string `json:"id"`
		}
		err := c.Call(ctx, http.MethodPost, samples[object].path, samples[object].members, &record)
		return TriggerResult{Object: object, ID: record.ID}, err
	}
}

// then returns a function that creates a record and makes one more call for it.
func then(object, method, path string, in any) func(*Client, context.Context) (TriggerResult, error) {
	return func(c *Client, ctx context.Context) (TriggerResult, error) {
		m, err := created(object)(c, ctx)
		if err != nil {
			return TriggerResult{}, err
		}
		_, err = c.call(ctx, method, samples[object].path+"/"+m.ID+path, in, "If-Match", "*")
		return m, err
	}
}

func updated(object string, change map[string]any) func(*Client, context.Context) (TriggerResult, error) {
	return then(object, http.MethodPatch, "", change)
}

func deleted(object string) func(*Client, context.Context) (TriggerResult, error) {
	return func(c *Client, ctx context.Context) (TriggerResult, error) {
		m, err := created(object)(c, ctx)
		if err != nil {
			return m, err
		}
		err = c.remove(ctx, samples[object].path+"/"+m.ID)
		return m, err
	}
}

// remove deletes a new record. NOT_FOUND is no error, because the response to an earlier try may
// have been lost.
func (c *Client) remove(ctx context.Context, path string) error {
	_, err := c.call(ctx, http.MethodDelete, path, nil, "If-Match", "*")
	if refused := new(Refusal); errors.As(err, &refused) && refused.Code == "NOT_FOUND" {
		return nil
	}
	return err
}

func (c *Client) completeTask(ctx context.Context) (TriggerResult, error) {
	return then("task", http.MethodPost, "/complete", nil)(c, ctx)
}

func (c *Client) createDocument(ctx context.Context) (TriggerResult, error) {
	_, document, err := c.upload(ctx)
	return TriggerResult{Object: "document", ID: document}, err
}

func (c *Client) deleteDocument(ctx context.Context) (TriggerResult, error) {
	m, err := c.createDocument(ctx)
	if err != nil {
		return m, err
	}
	err = c.remove(ctx, "/documents/"+m.ID)
	return m, err
}

func (c *Client) completeOperation(ctx context.Context) (TriggerResult, error) {
	operation, _, err := c.upload(ctx)
	return TriggerResult{Object: "operation", ID: operation}, err
}

// operation has the members of an operation that Trigger needs.
type operation struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Result *struct {
		ID string `json:"id"`
	} `json:"result"`
	Error *Refusal `json:"error"`
}

// upload creates a document from a small text file with an upload session. It returns the ids of
// the operation and of the document.
func (c *Client) upload(ctx context.Context) (operationID, documentID string, err error) {
	file := []byte("Made by kartei trigger at " + clock.Now(c.Clock).String() + ".\n")
	sum := sha256.Sum256(file)
	var session struct {
		ID      string            `json:"id"`
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	if err := c.Call(ctx, http.MethodPost, "/uploads", map[string]any{
		"fileName": Tag + ".txt", "contentType": "text/plain", "size": len(file), "sha256": hex.EncodeToString(sum[:]),
	}, &session); err != nil {
		return "", "", err
	}
	if err := c.put(ctx, session.Method, session.URL, session.Headers, file); err != nil {
		return "", "", err
	}
	a, err := c.call(ctx, http.MethodPost, "/documents", map[string]any{"uploadId": session.ID, "tags": []string{Tag}})
	began := c.Clock.Now()
	for err == nil {
		var o operation
		if err := a.into(&o); err != nil {
			return "", "", err
		}
		switch {
		case o.Status == "succeeded" && o.Result != nil:
			return o.ID, o.Result.ID, nil
		case o.Status == "failed" && o.Error != nil:
			return "", "", o.Error
		}
		wait := max(retryAfter(a.header, c.Clock.Now()), time.Second)
		if c.Patience > 0 && c.Clock.Now().Add(wait).Sub(began) > c.Patience {
			return "", "", fmt.Errorf("the operation %s has not ended after %s", o.ID,
				c.Clock.Now().Sub(began).Round(time.Second))
		}
		if err = c.rest(ctx, wait); err == nil {
			a, err = c.call(ctx, http.MethodGet, "/operations/"+o.ID, nil)
		}
	}
	return "", "", err
}

// put sends the file to the URL of the upload session, without the key.
func (c *Client) put(ctx context.Context, method, address string, headers map[string]string, file []byte) error {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(file))
	if err != nil {
		return err
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return fmt.Errorf("sending the file: %w", reason(err))
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("sending the file: %s %s", response.Status, body)
	}
	return nil
}

// testEndpoint sends a test event to the first webhook endpoint of the principal.
func (c *Client) testEndpoint(ctx context.Context) (TriggerResult, error) {
	var page struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := c.Call(ctx, http.MethodGet, "/webhook_endpoints?limit=1", nil, &page); err != nil {
		return TriggerResult{}, err
	}
	if len(page.Data) == 0 {
		return TriggerResult{}, errors.New("webhook.test needs a webhook endpoint, and the principal of this key has none; create one with POST /v1/webhook_endpoints")
	}
	var sent struct {
		EventID string `json:"eventId"`
	}
	id := page.Data[0].ID
	err := c.Call(ctx, http.MethodPost, "/webhook_endpoints/"+id+"/test", nil, &sent)
	return TriggerResult{Object: "webhook_endpoint", ID: id, EventID: sent.EventID}, err
}
