package company_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}

func TestLife(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		made := c.Do("POST", "/companies", map[string]any{
			"name": "Brauhaus Müller GmbH", "legalForm": "GmbH", "email": "kontakt@brauhaus.example",
			"phone":   "+49 221 4710 123",
			"website": "https://www.brauhaus.example/bier?sorte=alt#heute", "vatId": "DE123456789",
			"registerNumber": "Amtsgericht Köln HRB 12345",
			"address":        map[string]any{"city": "Köln"}, "note": "Mandant\nseit 2019", "tags": []string{"Mandant"},
			"externalId": "crm-1",
		}).Want(201)
		id, record := made.Text("id"), made.JSON()
		for name, want := range map[string]any{
			"object": "company", "name": "Brauhaus Müller GmbH", "legalForm": "GmbH", "vatId": "DE123456789", "revision": 1.0,
			"website": "https://www.brauhaus.example/bier?sorte=alt#heute", "note": "Mandant\nseit 2019", "ownerId": c.Principal,
		} {
			if record[name] != want {
				t.Errorf("%s is %v, want %v", name, record[name], want)
			}
		}
		for _, q := range []string{
			"brauh", "mueller", "kontakt@brauhaus.example", "DE123456789", "HRB 12345", "0221 4710",
			"www.brauhaus.example", "köln", "mandant", "seit 2019",
		} {
			if got := c.Do("GET", "/companies?q="+strings.ReplaceAll(strings.ReplaceAll(q, " ", "%20"), "ö", "%C3%B6"),
				nil).Want(200).Data(); len(got) != 1 {
				t.Errorf("%q finds %d", q, len(got))
			}
		}
		cleared := c.Do("PATCH", "/companies/"+id, `{"address":{"city":null},"website":null,"name":"Brauhaus"}`,
			"If-Match", `"r1"`).Want(200).JSON()
		if cleared["address"] != nil || cleared["website"] != nil || cleared["name"] != "Brauhaus" {
			t.Errorf("patched to %v", cleared)
		}
		c.Do("DELETE", "/companies/"+id, nil, "If-Match", `"r2"`).Want(204)
		if got := c.Do("GET", "/companies/count", nil).Want(200).JSON()["count"]; got != 0.0 {
			t.Errorf("%v are left", got)
		}
	})
}

func TestRules(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		c.Do("POST", "/companies", `{"name":"a","externalId":"one"}`).Want(201)
		c.Do("POST", "/contacts", `{"lastName":"a","externalId":"one"}`).Want(201) // an external id of another family
		cases := map[string]string{
			`{}`:                                      "name REQUIRED",
			`{"name":null}`:                           "name INVALID_TYPE",
			`{"name":""}`:                             "name TOO_SHORT",
			`{"name":"a","email":"nobody"}`:           "email INVALID_FORMAT",
			`{"name":"a","externalId":"one"}`:         "externalId DUPLICATE",
			`{"name":"a","firstName":"x"}`:            "firstName UNKNOWN_FIELD",
			`{"name":"a","address":{"country":"XX"}}`: "address.country NOT_IN_ENUM",
			fmt.Sprintf(`{"name":"%s"}`, strings.Repeat("a", 201)):                             "name TOO_LONG",
			fmt.Sprintf(`{"name":"a","website":"https://a.de/%s"}`, strings.Repeat("a", 2048)): "website TOO_LONG",
		}
		for _, website := range []string{
			"brauhaus.example", "ftp://brauhaus.example", "javascript:alert(1)", "https://", "https:///x",
			"https://user:secret@brauhaus.example",
			"https://brau haus.example", "https://brauhaus.example/%zz", "HTTP//x", "https://-x.example",
		} {
			cases[fmt.Sprintf(`{"name":"a","website":%q}`, website)] = "website INVALID_FORMAT"
		}
		for body, wrong := range cases {
			if got := c.Do("POST", "/companies", body).Want(422,
				"VALIDATION_FAILED").Fields(); !slices.Equal(got, []string{wrong}) {
				t.Errorf("%.80s: %v, want %s", body, got, wrong)
			}
		}
		for _, website := range []string{
			"http://brauhaus.example", "https://brauhaus.example:8443",
			"https://xn--brahaus-o2a.example/?a=%20b", "http://127.0.0.1/#x",
		} {
			c.Do("POST", "/companies", map[string]any{"name": "a", "website": website}).Want(201)
		}
	})
}
