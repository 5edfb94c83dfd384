package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"kartei/access"
	"kartei/apitest"
	"kartei/db"
	"kartei/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// The copy has what its key sees, of each family; a second run finds what
// changed since, whichever list it is in, and goes on from the file.
func TestMirror(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		s, c, admin := o.Listen(), o.As(access.Member), o.As(access.Admin)
		file := filepath.Join(t.TempDir(), "mirror.json")
		run := func(want int) mirror {
			t.Helper()
			m, err := load(file)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := m.follow(s.URL+"/v1", c.Key, file); err != nil || n != want {
				t.Fatalf("%d changes, want %d: %v", n, want, err)
			}
			for _, family := range families {
				count := c.Do("GET", "/"+family+"/count", nil).Want(200).JSON()["count"]
				if fmt.Sprint(len(m[family].Records)) != fmt.Sprint(count) {
					t.Errorf("the copy has %d %s, the office %v", len(m[family].Records), family, count)
				}
			}
			return m
		}
		company := c.Do("POST", "/companies", map[string]any{"name": "Morgenstern"}).Want(201).Text("id")
		for i := range 130 { // more than a page
			c.Do("POST", "/contacts", map[string]any{"lastName": fmt.Sprint("Nr. ", i), "companyId": company}).Want(201)
		}
		task := c.Do("POST", "/tasks", map[string]any{"title": "Anrufen"}).Want(201).Text("id")
		run(132)
		run(0)
		c.Do("PATCH", "/companies/"+company, map[string]any{"name": "Abendstern"}, "If-Match", "*").Want(200)
		c.Do("DELETE", "/tasks/"+task, nil, "If-Match", "*").Want(204)
		m := run(2)
		var copied struct{ Name string }
		if err := json.Unmarshal(m["companies"].Records[company], &copied); err != nil || copied.Name != "Abendstern" {
			t.Errorf("the copy of the company is %s", m["companies"].Records[company])
		}
		// What becomes private to somebody else goes.
		admin.Do("PATCH", "/companies/"+company, map[string]any{"ownerId": admin.Principal, "visibility": "private"}, "If-Match", "*").Want(200)
		run(1)
	})
}
