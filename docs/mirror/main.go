// Package main owns the example of docs/guide.md: it keeps a copy of an organization's contacts in a file and follows their changes.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// mirror is what the file holds: how far we have read, and the contacts.
type mirror struct {
	Since    string                     `json:"since"`
	Contacts map[string]json.RawMessage `json:"contacts"`
}

// entry is a contact or a deletion marker, as far as the mirror must know it.
type entry struct {
	ID        string `json:"id"`
	UpdatedAt string `json:"updatedAt"`
	Deleted   bool   `json:"deleted"`
	DeletedAt string `json:"deletedAt"`
}

type page struct {
	Data       []json.RawMessage `json:"data"`
	HasMore    bool              `json:"hasMore"`
	NextCursor string            `json:"nextCursor"`
}

func main() {
	base := flag.String("base", cmp.Or(os.Getenv("BASE"), "http://127.0.0.1:8080")+"/v1", "address of the API")
	file := flag.String("file", "mirror.json", "where the copy is kept")
	once := flag.Bool("once", false, "stop when the copy is complete")
	flag.Parse()
	m, err := load(*file)
	if err != nil {
		log.Fatal(err)
	}
	for {
		changed, err := m.follow(*base, os.Getenv("KEY"), *file)
		if err != nil {
			log.Fatal(err)
		}
		if changed > 0 || *once {
			fmt.Printf("%d changes, %d contacts, up to %s\n", changed, len(m.Contacts), m.Since)
		}
		if *once {
			return
		}
		time.Sleep(2 * time.Second)
	}
}

// load reads the file, or begins before the first change.
func load(file string) (*mirror, error) {
	m := &mirror{Since: "1970-01-01T00:00:00Z", Contacts: map[string]json.RawMessage{}}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(b, m)
}

// follow reads all changes after m.Since, the oldest first. It writes the file
// after each page: who is stopped in between goes on from there.
func (m *mirror) follow(base, key, file string) (changed int, err error) {
	query := url.Values{"updatedSince": {m.Since}, "includeDeleted": {"true"}, "sort": {"updatedAt"}, "limit": {"100"}}
	for {
		p, err := get(base+"/contacts?"+query.Encode(), key)
		if err != nil {
			return changed, err
		}
		for _, raw := range p.Data {
			var e entry
			if err := json.Unmarshal(raw, &e); err != nil {
				return changed, err
			}
			if e.Deleted {
				delete(m.Contacts, e.ID)
				m.Since = e.DeletedAt
			} else {
				m.Contacts[e.ID] = raw
				m.Since = e.UpdatedAt
			}
		}
		if changed += len(p.Data); len(p.Data) > 0 {
			if err := m.save(file); err != nil {
				return changed, err
			}
		}
		if !p.HasMore {
			return changed, nil
		}
		query.Set("cursor", p.NextCursor)
	}
}

// get reads one page. It waits as long as a 429 or 503 says, and tries again.
func get(address, key string) (*page, error) {
	for {
		request, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+key)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return nil, err
		}
		switch wait, _ := strconv.Atoi(response.Header.Get("Retry-After")); {
		case response.StatusCode == http.StatusOK:
			p := new(page)
			return p, json.Unmarshal(body, p)
		case wait > 0:
			time.Sleep(time.Duration(wait) * time.Second)
		default:
			return nil, fmt.Errorf("%s: %s", response.Status, body)
		}
	}
}

// save replaces the file whole.
func (m *mirror) save(file string) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
