package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"

	"kartei/bench/data"
	"kartei/bench/load"
)

// Get returns a GET request as an ordinary client sends it.
func (p *Place) Get(path string) string {
	return "GET /v1" + path + " HTTP/1.1\r\nHost: " + p.Address +
		"\r\nUser-Agent: kartei-bench\r\nAuthorization: Bearer " + p.Key +
		"\r\nAccept: application/json\r\n\r\n"
}

// Post returns a request that creates a contact.
func (p *Place) Post(body string) string {
	return p.Write("POST", "/contacts", body, "Idempotency-Key: "+load.Fresh)
}

// Write returns a request with a body and additional headers, as an ordinary client sends it.
func (p *Place) Write(method, path, body string, headers ...string) string {
	return method + " /v1" + path + " HTTP/1.1\r\nHost: " + p.Address +
		"\r\nUser-Agent: kartei-bench\r\nAuthorization: Bearer " + p.Key +
		"\r\nAccept: application/json\r\nContent-Type: application/json\r\nSvc-Preview: true\r\n" +
		strings.Join(append(headers, fmt.Sprintf("Content-Length: %d", len(body))), "\r\n") + "\r\n\r\n" + body
}

// InBatch is the number of contacts that a batch creates.
const InBatch = 20

// Batch returns a batch request that creates contacts.
func (p *Place) Batch(bodies []string) string {
	calls := make([]string, len(bodies))
	for i, body := range bodies {
		own := fmt.Sprintf("%s-%d", load.Fresh, i)
		calls[i] = fmt.Sprintf(`{"method":"POST","path":"/contacts","headers":{"Idempotency-Key":"%s"},"body":%s}`, own,
			strings.ReplaceAll(body, load.Fresh, own))
	}
	body := `{"calls":[` + strings.Join(calls, ",") + `]}`
	return p.Write("POST", "/batch", body)
}

// Gets returns requests for the contacts in IDs.
func (p *Place) Gets() []string {
	list := make([]string, len(p.IDs))
	for i, id := range p.IDs {
		list[i] = p.Get("/contacts/" + id)
	}
	return list
}

// Searches returns requests that search for words of ten contacts (few), and for words of a fifth
// of all contacts (many).
func (p *Place) Searches(path string) (few, many []string) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		few = append(few, p.Get(path+data.FileWord(r.IntN(p.Records/12))))
	}
	for _, word := range data.Groups {
		many = append(many, p.Get(path+url.QueryEscape(word)))
	}
	return few, many
}

// Call makes a call of the API and decodes the response into answer.
func (p *Place) Call(method, path string, body, answer any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, "http://"+p.Address+"/v1"+path, sent)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.Key)
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
