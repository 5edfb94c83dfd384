// Package main owns the example of docs/guide.md: it keeps a copy of an organization's companies, contacts and tasks in a file and follows their changes.
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

// families are the lists that are copied. Companies come first and tasks last,
// so that what a record names is mostly there before it.
var families = []string{"companies", "contacts", "tasks"}

// mirror is what the file holds, by family.
type mirror map[string]*list

// list is how far one list has been read, and its records. Each list has a
// position of its own: one for all would pass over what changed in one list
// while another was read.
type list struct {
	Since   string                     `json:"since"`
	Records map[string]json.RawMessage `json:"records"`
}

// entry is a record or a deletion marker, as far as the mirror must know it.
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
			fmt.Printf("%d changes; now", changed)
			for _, family := range families {
				fmt.Printf(" %d %s", len(m[family].Records), family)
			}
			fmt.Println()
		}
		if *once {
			return
		}
		time.Sleep(2 * time.Second)
	}
}

// load reads the file, or begins before the first change.
func load(file string) (mirror, error) {
	m := mirror{}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, family := range families {
		if m[family] == nil {
			m[family] = &list{Since: "1970-01-01T00:00:00Z", Records: map[string]json.RawMessage{}}
		}
	}
	return m, nil
}

// follow reads all changes of all families.
func (m mirror) follow(base, key, file string) (changed int, err error) {
	for _, family := range families {
		n, err := m[family].follow(base+"/"+family, key, func() error { return m.save(file) })
		if changed += n; err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// follow reads all changes after l.Since, the oldest first. It saves after each
// page: who is stopped in between goes on from there.
func (l *list) follow(address, key string, save func() error) (changed int, err error) {
	query := url.Values{"updatedSince": {l.Since}, "includeDeleted": {"true"}, "sort": {"updatedAt"}, "limit": {"100"}}
	for {
		p, err := get(address+"?"+query.Encode(), key)
		if err != nil {
			return changed, err
		}
		for _, raw := range p.Data {
			var e entry
			if err := json.Unmarshal(raw, &e); err != nil {
				return changed, err
			}
			if e.Deleted {
				delete(l.Records, e.ID)
				l.Since = e.DeletedAt
			} else {
				l.Records[e.ID] = raw
				l.Since = e.UpdatedAt
			}
		}
		if changed += len(p.Data); len(p.Data) > 0 {
			if err := save(); err != nil {
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
		request.Header.Set("Accept-Language", "en")
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
		case wait > 0: // 10,000 records an hour: a first copy of more waits here
			log.Printf("waiting for %d s: %s", wait, body)
			time.Sleep(time.Duration(wait) * time.Second)
		default:
			return nil, fmt.Errorf("%s: %s", response.Status, body)
		}
	}
}

// save replaces the file whole.
func (m mirror) save(file string) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
