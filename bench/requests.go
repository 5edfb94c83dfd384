package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
)

// get returns a GET in the form of an ordinary client.
func (p *place) get(path string) string {
	return "GET /v1" + path + " HTTP/1.1\r\nHost: " + p.address +
		"\r\nUser-Agent: kartei-bench\r\nAuthorization: Bearer " + p.key +
		"\r\nAccept: application/json\r\n\r\n"
}

func (p *place) post(body string) string {
	return p.write("POST", "/contacts", body, "Idempotency-Key: "+fresh)
}

// write returns a writing request in the form of an ordinary client, with extra
// headers.
func (p *place) write(method, path, body string, headers ...string) string {
	return method + " /v1" + path + " HTTP/1.1\r\nHost: " + p.address +
		"\r\nUser-Agent: kartei-bench\r\nAuthorization: Bearer " + p.key +
		"\r\nAccept: application/json\r\nContent-Type: application/json\r\nSvc-Preview: true\r\n" +
		strings.Join(append(headers, fmt.Sprintf("Content-Length: %d", len(body))), "\r\n") + "\r\n\r\n" + body
}

// inBatch is the number of creations in a batch.
const inBatch = 20

func (p *place) batch(bodies []string) string {
	calls := make([]string, len(bodies))
	for i, body := range bodies {
		own := fmt.Sprintf("%s-%d", fresh, i)
		calls[i] = fmt.Sprintf(`{"method":"POST","path":"/contacts","headers":{"Idempotency-Key":"%s"},"body":%s}`, own,
			strings.ReplaceAll(body, fresh, own))
	}
	body := `{"calls":[` + strings.Join(calls, ",") + `]}`
	return p.write("POST", "/batch", body)
}

func (p *place) gets() []string {
	list := make([]string, len(p.ids))
	for i, id := range p.ids {
		list[i] = p.get("/contacts/" + id)
	}
	return list
}

// searches returns requests for words that ten contacts have, and for words
// that a fifth of all have.
func (p *place) searches(path string) (few, many []string) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		few = append(few, p.get(path+fileWord(r.IntN(p.records/12))))
	}
	for _, word := range groups {
		many = append(many, p.get(path+url.QueryEscape(word)))
	}
	return few, many
}

// call makes a call of the API and decodes the answer.
func (p *place) call(method, path string, body, answer any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, "http://"+p.address+"/v1"+path, sent)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Svc-Preview", "true")
		r.Header.Set("Idempotency-Key", fmt.Sprintf("bench-%016x", rand.Uint64()))
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode >= 300 {
		text, _ := io.ReadAll(a.Body)
		return fmt.Errorf("%s %s: %s: %s", method, path, a.Status, text)
	}
	return json.NewDecoder(a.Body).Decode(answer)
}
