package record_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/record/search"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"

	"github.com/go-json-experiment/json"
)

// storedRecord is a record whose row the test changes directly.
type storedRecord struct {
	*apitest.Client
	family, object, id string
	// body is the request body of the creation. made is the response.
	body, made map[string]any
}

// eachKept creates a record of each family on each engine, and calls f with it.
func eachKept(t *testing.T, f func(*testing.T, *storedRecord)) {
	t.Helper()
	address := map[string]any{"street": "Lindenstraße 7", "city": "Köln"}
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := apitest.New(t, d).As(access.Member)
		for _, k := range []*storedRecord{
			{
				family: "contacts",
				object: "contact",
				body:   map[string]any{"lastName": "Berg", "note": "Salzfass", "address": address},
			},
			{
				family: "companies",
				object: "company",
				body:   map[string]any{"name": "Berg", "note": "Salzfass", "address": address},
			},
			{
				family: "tasks",
				object: "task",
				body:   map[string]any{"title": "Berg", "description": "Salzfass", "tags": []string{"eilt"}},
			},
		} {
			t.Run(k.family, func(t *testing.T) {
				k.Client = &apitest.Client{Office: c.Office, Principal: c.Principal, Key: c.Key}
				k.made = k.Do("POST", "/"+k.family, k.body).Want(201).JSON()
				k.id = k.made["id"].(string)
				f(t, k)
			})
		}
	})
}

// row returns the stored content and the schema hash.
func (k *storedRecord) row() (content map[string]any, shape int64) {
	k.Helper()
	err := k.DB.Write(context.Background(), func(tx db.Tx) error {
		var text []byte
		if err := tx.QueryRow(context.Background(), "select content, schema_hash from "+k.family+" where id = $1",
			k.id).Scan(&text, &shape); err != nil {
			return err
		}
		return json.Unmarshal(text, &content)
	})
	if err != nil {
		k.Fatal(err)
	}
	return content, shape
}

// written replaces the content and the schema hash, as if another release had written the row.
func (k *storedRecord) written(content map[string]any, shape int64) {
	k.Helper()
	text, err := json.Marshal(content)
	if err == nil {
		err = k.set("content", string(text))
	}
	if err == nil {
		err = k.set("schema_hash", shape)
	}
	if err != nil {
		k.Fatal(err)
	}
}

// set sets a column of the row.
func (k *storedRecord) set(column string, value any) error {
	return k.DB.Write(context.Background(), func(tx db.Tx) error {
		_, err := tx.Exec(context.Background(), "update "+k.family+" set "+column+" = $1 where id = $2", value, k.id)
		return err
	})
}

// indexed replaces the record's words in the search index, as if another release had written
// them.
func (k *storedRecord) indexed(words string) {
	k.Helper()
	ctx := context.Background()
	err := k.DB.Write(ctx, func(tx db.Tx) error {
		s := search.Subject{Family: k.object, ID: k.id, Owner: k.Principal}
		if err := tx.QueryRow(ctx, "select organization, created_at from "+k.family+" where id = $1",
			k.id).Scan(&s.Organization, &s.Created); err != nil {
			return err
		}
		if _, err := tx.Tick(ctx, s.Organization, clock.Now(k.Clock)); err != nil {
			return err
		}
		d := new(search.Document)
		d.Add(search.Name, words)
		return search.Replace(ctx, tx, s, s, d)
	})
	if err != nil {
		k.Fatal(err)
	}
}

func (k *storedRecord) path() string { return "/" + k.family + "/" + k.id }

// patch changes the record and checks its new revision. It returns the response.
func (k *storedRecord) patch(body string, revision int) map[string]any {
	k.Helper()
	a := k.Do("PATCH", k.path(), body, "If-Match", "*").Want(200)
	if want := fmt.Sprintf(`"r%d"`, revision); a.Header.Get("ETag") != want {
		k.Errorf("PATCH %s: %s, want %s", body, a.Header.Get("ETag"), want)
	}
	return a.JSON()
}

// shows checks that a read, a list, a sync and a search all return the record want.
func (k *storedRecord) shows(want map[string]any) {
	k.Helper()
	reads := map[string]map[string]any{"read": k.Do("GET", k.path(), nil).Want(200).JSON()}
	for name, query := range map[string]string{
		"list": "", "sync": "?updatedSince=2026-01-01T00:00:00Z&includeDeleted=true", "search": "?q=Berg",
	} {
		data := k.Do("GET", "/"+k.family+query, nil).Want(200).Data()
		if len(data) != 1 {
			k.Fatalf("%s: %d records", name, len(data))
		}
		reads[name] = data[0]
	}
	for name, got := range reads {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			k.Errorf("%s\n%v, want\n%v", name, got, want)
		}
	}
}

// found returns the number of records that a search for word finds.
func (k *storedRecord) found(word string) int {
	k.Helper()
	return len(k.Do("GET", "/"+k.family+"?q="+word, nil).Want(200).Data())
}

func (k *storedRecord) events() (types []string) {
	k.Helper()
	for _, e := range k.Do("GET", "/events?sort=createdAt", nil).Want(200).Data() {
		if e["data"].(map[string]any)["id"] == k.id {
			types = append(types, strings.TrimPrefix(e["type"].(string), k.object+"."))
		}
	}
	return types
}

// with returns a copy of a record with additional members.
func with(record, more map[string]any) map[string]any {
	record = maps.Clone(record)
	maps.Copy(record, more)
	return record
}

// TestOlderRow checks that a row without a new member is read with null for it. A patch that
// changes nothing does not write the row. The next real change adds the member.
func TestOlderRow(t *testing.T) {
	missing := map[string]string{"contacts": "birthday", "companies": "vatId", "tasks": "dueAt"}
	eachKept(t, func(t *testing.T, k *storedRecord) {
		content, shape := k.row()
		delete(content, missing[k.family])
		delete(content, "tags")
		k.made["tags"] = []any{}
		if address, has := content["address"].(map[string]any); has {
			delete(address, "region")
		}
		const older = 7
		k.written(content, older)
		k.shows(k.made)
		if got := k.patch(`{}`, 1); fmt.Sprint(got) != fmt.Sprint(k.made) {
			t.Errorf("a change of nothing answers\n%v, want\n%v", got, k.made)
		}
		if now, is := k.row(); is != older || fmt.Sprint(now) != fmt.Sprint(content) {
			t.Errorf("a change of nothing wrote shape %d, %v", is, now)
		}
		if got := k.events(); !slices.Equal(got, []string{"created"}) {
			t.Errorf("after a change of nothing: events %v", got)
		}

		changed := k.patch(`{"tags":["neu"]}`, 2)
		want := with(k.made, map[string]any{"tags": []any{"neu"}, "revision": 2, "updatedAt": changed["updatedAt"]})
		if fmt.Sprint(changed) != fmt.Sprint(want) {
			t.Errorf("changed to\n%v, want\n%v", changed, want)
		}
		k.shows(want)
		if now, is := k.row(); is != shape || len(now) != len(content)+2 {
			t.Errorf("the change wrote shape %d, want %d; %v", is, shape, now)
		}
		if k.found("neu") != 1 || k.found("Salzfass") != 1 {
			t.Error("the changed record is not found")
		}
		if got := k.events(); !slices.Equal(got, []string{"created", "updated"}) {
			t.Errorf("events %v", got)
		}
	})
}

// TestNewerRow checks an older release during a rolling update. The older release does not show
// members that it does not know, and keeps them when it changes a record.
func TestNewerRow(t *testing.T) {
	eachKept(t, func(t *testing.T, k *storedRecord) {
		content, shape := k.row()
		content["addedLater"] = "Bergi \"B\""
		content["alsoLater"] = map[string]any{"number": 12.0, "companyId": "x"}
		address, has := content["address"].(map[string]any)
		if has {
			address["addedLater"] = "4"
			content["additionalPhones"] = []any{map[string]any{"phone": "0221 1", "label": nil, "addedLater": "5"}}
			k.made["additionalPhones"] = []any{map[string]any{"phone": "0221 1", "label": nil}}
		}
		const newer = 7
		k.written(content, newer)
		k.indexed("Berg Salzfass Bergi")
		k.shows(k.made)
		k.patch(`{}`, 1)
		if now, is := k.row(); is != newer || fmt.Sprint(now) != fmt.Sprint(content) {
			t.Errorf("a change of nothing wrote shape %d, %v", is, now)
		}

		// This change does not affect the search words of this release.
		k.patch(map[string]string{
			"contacts": `{"birthday":"2001-02-03"}`, "companies": `{"address":{"street":"Am Hof 1"}}`,
			"tasks": `{"priority":"high"}`,
		}[k.family], 2)
		if k.found("Bergi") != 1 {
			t.Error("a change of something else lost the word of a member that is unknown")
		}
		changed := k.patch(`{"tags":["neu"]}`, 3)
		k.shows(changed)
		now, is := k.row()
		if is == shape || is == newer {
			t.Errorf("what two releases wrote has the shape %d of one", is)
		}
		for name, value := range changed {
			nested := name == "address" || name == "additionalPhones"
			if _, envelope := content[name]; envelope && !nested && fmt.Sprint(now[name]) != fmt.Sprint(value) {
				t.Errorf("%s is kept as %v and shown as %v", name, now[name], value)
			}
		}
		if fmt.Sprint(now["addedLater"], now["alsoLater"]) != fmt.Sprint(content["addedLater"], content["alsoLater"]) ||
			len(now) != len(content) {
			t.Errorf("kept %v", now)
		}
		if k.found("neu") != 1 {
			t.Error("the changed record is not found")
		}
		if has {
			if kept := now["address"].(map[string]any); kept["addedLater"] != "4" || kept["city"] != "Köln" {
				t.Errorf("address %v", kept)
			}
			if fmt.Sprint(now["additionalPhones"]) != fmt.Sprint(content["additionalPhones"]) {
				t.Errorf("a list that did not change is %v", now["additionalPhones"])
			}
			k.patch(`{"address":null}`, 4)
			if now, _ := k.row(); now["address"] != nil || now["addedLater"] == nil {
				t.Errorf("address is cleared: kept %v", now)
			}
		}

		// The address has only a member of the newer release.
		if has {
			content["address"] = map[string]any{"addedLater": "4"}
			k.written(content, newer)
			k.made["address"] = nil
			revision := with(k.Do("GET", k.path(), nil).Want(200).JSON(), nil)["revision"].(float64)
			k.patch(`{}`, int(revision))
			k.patch(`{"note":"Pfeffer"}`, int(revision)+1)
			if now, _ := k.row(); fmt.Sprint(now["address"]) != "map[addedLater:4]" {
				t.Errorf("address %v", now["address"])
			}
			k.patch(`{"address":{"city":"Bonn"}}`, int(revision)+2)
			if now, _ := k.row(); now["address"].(map[string]any)["addedLater"] != "4" {
				t.Errorf("address %v", now["address"])
			}
		}

		k.Do("DELETE", k.path(), nil, "If-Match", "*").Want(204)
		if now, _ := k.row(); len(now) != 0 {
			t.Errorf("deleted and kept %v", now)
		}
		if k.found("Berg")+k.found("Bergi")+k.found("neu") != 0 {
			t.Error("deleted and found")
		}
	})
}

// TestNewerRowWithHiddenReference checks that a change keeps both a hidden reference and a member
// that the release does not know.
func TestNewerRowWithHiddenReference(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		owner, other := o.As(access.Member), o.As(access.Member)
		company := owner.Do("POST", "/companies", `{"name":"Geheim","visibility":"private"}`).Want(201).Text("id")
		body := map[string]any{"lastName": "Berg", "companyId": company}
		made := owner.Do("POST", "/contacts", body).Want(201)
		k := &storedRecord{Client: other, family: "contacts", object: "contact", id: made.Text("id")}
		content, _ := k.row()
		content["addedLater"] = "Bergi"
		k.written(content, 7)
		if changed := k.patch(`{"note":"neu"}`, 2); changed["companyId"] != nil {
			t.Errorf("the other sees %v", changed["companyId"])
		}
		if now, _ := k.row(); now["companyId"] != company || now["addedLater"] != "Bergi" || now["note"] != "neu" {
			t.Errorf("kept %v", now)
		}
		if got := owner.Do("GET", k.path(), nil).Want(200).Text("companyId"); got != company {
			t.Errorf("the owner sees %q", got)
		}
	})
}

// TestOtherWords checks a record that another release indexed. Any change of the record indexes
// it again. If this release indexed the record, a change of members without search words does not
// write the index.
func TestOtherWords(t *testing.T) {
	unindexed := map[string][2]string{
		"contacts":  {`{"birthday":"2001-02-03"}`, `{"birthday":"2002-03-04"}`},
		"companies": {`{"address":{"street":"Am Hof 1"}}`, `{"address":{"street":"Am Hof 2"}}`},
		"tasks":     {`{"priority":"high"}`, `{"priority":"low"}`},
	}
	eachKept(t, func(t *testing.T, k *storedRecord) {
		_, shape := k.row()
		k.indexed("Berg")
		k.patch(unindexed[k.family][0], 2)
		if k.found("Salzfass") != 0 {
			t.Error("a change of nothing that the index has indexes the record anew")
		}
		if err := k.set("schema_hash", shape^1); err != nil {
			t.Fatal(err)
		}
		k.patch(`{}`, 2)
		k.patch(unindexed[k.family][1], 3)
		if k.found("Salzfass") != 1 {
			t.Error("a change of what another release indexed does not index the record anew")
		}
		if _, is := k.row(); is != shape {
			t.Errorf("shape %d, want %d", is, shape)
		}
	})
}
