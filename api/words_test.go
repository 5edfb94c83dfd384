package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/release"
	"kartei/integration/limit"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// inBoth sends a call once in each language. It returns the detail and the field errors of both
// problem documents as text.
func inBoth(c *apitest.Client, method, path string, body any, status int, headers ...string) (all string) {
	for _, l := range []string{"de", "en"} {
		h := append([]string{"Accept-Language", l, "Idempotency-Key", apitest.Fresh()}, headers...)
		a := c.Do(method, path, body, h...).Want(status)
		all += fmt.Sprintf("%s: %v\n", l, a.JSON()["detail"])
		list, _ := a.JSON()["errors"].([]any)
		for _, e := range list {
			e := e.(map[string]any)
			all += fmt.Sprintf("%s: %v %v %v\n", l, e["field"], e["code"], e["message"])
		}
	}
	return all
}

func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

// TestReferencesSayWhatIsExpected checks that the texts of problems do not reveal which records
// exist. They depend only on the input and on the caller's scopes.
func TestReferencesSayWhatIsExpected(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c := o.As(access.Member)
		company := c.Do("POST", "/companies", map[string]any{"name": "Morgenstern"}).Want(201).Text("id")
		for _, wrong := range []string{company, "4711", "con_tooshort"} {
			says(t, inBoth(c, "POST", "/tasks", map[string]any{"title": "x", "contactId": wrong}, 422),
				"de: contactId NOT_FOUND", "beginnt", "en: contactId NOT_FOUND", "an id that begins with con_")
		}
		says(t, inBoth(c, "POST", "/tasks", map[string]any{"title": "x", "assigneeId": "Anna"}, 422), "usr_ oder svc_",
			"usr_ or svc_")
		says(t, inBoth(c, "POST", "/tasks", map[string]any{"title": "x", "assigneeId": id.New(id.User)}, 422), "GET /me",
			"Betreiber")

		// Without the scope, the texts for existing records equal the texts for missing records.
		narrow := o.As(access.Member, "tasks:read", "tasks:write")
		found := inBoth(narrow, "POST", "/tasks", map[string]any{"title": "x", "companyId": company}, 422)
		says(t, found, "fehlt dem Aufruf der Scope companies:read", "lacks the scope companies:read")
		if none := inBoth(narrow, "POST", "/tasks", map[string]any{"title": "x", "companyId": id.New(id.Company)},
			422); none != found {
			t.Errorf("of a company that is not there:\n%s\nof one that is:\n%s", none, found)
		}

		// For an id of another kind in a path, the texts equal the texts for an unknown id.
		unknown := inBoth(c, "GET", "/tasks/"+id.New(id.Task), nil, 404)
		says(t, unknown, "beginnen hier mit tsk_", "begin with tsk_")
		if other := inBoth(c, "GET", "/tasks/"+company, nil, 404); other != unknown {
			t.Errorf("of a company's id:\n%s\nof an unknown one:\n%s", other, unknown)
		}
		file := map[string]any{"fileName": "Klage.pdf", "contentType": "pdf", "size": 5, "sha256": strings.Repeat("z", 64)}
		says(t, inBoth(c, "POST", "/uploads", file, 422), "contentType INVALID_FORMAT", "ein Medientyp", "a media type",
			"hexadezimale Ziffern", "hexadecimal digits")
		says(t, inBoth(c, "GET", "/users", nil, 403), "kartei user list", "your own is in GET /v1/me")
	})
}

func TestFilterSaysWhatIsExpected(t *testing.T) {
	c := office(t, apitest.Versions(release.VersionsIn("rc")...)).As(access.Member)
	says(t, inBoth(c, "GET", "/tasks?assigneeId=anna", nil, 400, "Svc-Version", next),
		"de: assigneeId INVALID_FORMAT", "en: assigneeId INVALID_FORMAT", "Expected: an id that begins with usr_ or svc_")
}

// TestRefusalsSayTheReason checks that the texts of one problem code distinguish its causes.
func TestRefusalsSayTheReason(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	on, off, declared, undeclared, reading, open := "on", "off", "declared", "undeclared", access.Read, access.On
	set := func(change organization.Change) {
		t.Helper()
		change.ID = o.SandboxID
		if _, err := o.Operator.SetOrganization(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	contact := map[string]any{"lastName": "Berg"}
	set(organization.Change{Level: &reading})
	says(t, inBoth(c, "POST", "/contacts", contact, 403), "nur Lesen", "only reading")
	set(organization.Change{Level: &open})
	says(t, inBoth(o.As(access.Member, "contacts:read"), "POST", "/contacts", contact, 403), "Scope contacts:write",
		"scope contacts:write")
	set(organization.Change{Secrecy: &undeclared})
	says(t, inBoth(c, "GET", "/contacts", nil, 403), "Schweigepflicht", "professional secrecy")
	set(organization.Change{Secrecy: &declared, Module: &off})
	if text := inBoth(c, "GET", "/contacts", nil, 403); strings.Contains(text, "Schweigepflicht") {
		t.Errorf("while the module is off:\n%s", text)
	}
	set(organization.Change{Module: &on})
	c.Do("GET", "/contacts", nil).Want(200)
}

// TestRefusalsNameTheLimit checks that the text of a refusal names the limit and its number. For a
// locked key, it also names the end of the lock.
func TestRefusalsNameTheLimit(t *testing.T) {
	o := office(t, apitest.Metered(limit.Override{Name: "writes", Quota: 2, Capacity: 2}))
	c := o.As(access.Member)
	for range 2 {
		c.Do("POST", "/companies", map[string]any{"name": "A"}).Want(201)
	}
	says(t, inBoth(c, "POST", "/companies", map[string]any{"name": "B"}, 429),
		"de: Das Limit ist erreicht: 2 schreibende Aufrufe mit diesem Schlüssel in der Minute.",
		"en: The limit is reached: 2 writing calls with this key a minute.", "after 60 s")
	for range 49 {
		c.Do("POST", "/companies", map[string]any{"name": "B"}).Want(429)
	}
	until := o.Clock.Now().Add(5 * time.Minute).UTC().Format(time.RFC3339)
	says(t, inBoth(c, "GET", "/me", nil, 429), "Dieser Schlüssel ist bis "+until+" gesperrt",
		"This key is locked until "+until)
}

func TestEmptyObjectIsNoBody(t *testing.T) {
	c := office(t).As(access.Member)
	task := c.Do("POST", "/tasks", map[string]any{"title": "x"}).Want(201).Text("id")
	for body, status := range map[string]int{
		"{}": 200, " {\r\n} ": 200, "": 200, "{": 400, "}": 400, "null": 400, "[]": 400, "{}{}": 400,
		`{"status":"open"}`: 400,
	} {
		c.Do("POST", "/tasks/"+task+"/complete", []byte(body)).Want(status)
	}
}

func TestFieldsSayWhatToDo(t *testing.T) {
	c := office(t).As(access.Member)
	says(t, inBoth(c, "POST", "/tasks", map[string]any{"titel": "x", "description": ""}, 422),
		"de: titel UNKNOWN_FIELD Dieser Name ist hier nicht bekannt. Bekannte Namen: assigneeId, attributes, companyId,",
		"en: titel UNKNOWN_FIELD This name is not known here. Known names: ", "title, visibility.",
		"de: description TOO_SHORT Mindestens 1 Zeichen ist nötig; null", "null leaves it empty")
	if text := inBoth(c, "POST", "/tasks", map[string]any{"title": ""}, 422); strings.Contains(text, "null") {
		t.Errorf("a title cannot be null:\n%s", text)
	}
	says(t, inBoth(c, "POST", "/companies", map[string]any{"name": "A", "website": "foo"}, 422),
		"website INVALID_FORMAT", "Expected: an address with http:// or https://")
	says(t, inBoth(c, "POST", "/tasks", "{\n  \"title\": \"Ä\",\n}", 400), "Zeile 2, Zeichen 15", "line 2, column 15")
	says(t, inBoth(c, "GET", "/tasks?companyId="+id.New(id.Company), nil, 400, "Svc-Version", old),
		"gibt es ab Version 2027-02-01", "comes with version 2027-02-01")
	if text := inBoth(c, "GET", "/tasks?color=red", nil, 400); strings.Contains(text, "2027") {
		t.Errorf("of a parameter that no version has:\n%s", text)
	}
}

// TestDuplicateNamesTheRecord checks that the problem about a duplicate names the existing record
// only to callers who see the record.
func TestDuplicateNamesTheRecord(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c, other, admin := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		writer := o.As(access.Member, "contacts:write")
		for _, visibility := range []string{"organization", "private"} {
			body := map[string]any{"lastName": "Berg", "externalId": "crm-" + visibility, "visibility": visibility}
			made := c.Do("POST", "/contacts", body).Want(201).Text("id")
			for who, sees := range map[*apitest.Client]bool{
				c: true, admin: true, other: visibility == "organization", writer: false,
			} {
				text := inBoth(who, "POST", "/contacts", body, 422)
				says(t, text, "de: externalId DUPLICATE", "en: externalId DUPLICATE")
				if strings.Contains(text, made) != sees {
					t.Errorf("%s, seen: %t\n%s", visibility, sees, text)
				}
			}
		}
	})
}
