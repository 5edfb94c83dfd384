package contact_test

import (
	"fmt"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/apitest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// list returns a JSON array with n times the same entry.
func list(n int, entry string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
}

// attributes returns the attributes NAMEfrom to NAMEto with a value in JSON.
func attributes(name string, from, to int, value string) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf(`"%s%d":%s`, name, i, value))
	}
	return `{"attributes":{` + strings.Join(all, ",") + `}}`
}

func TestAdditionalMembers(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		made := c.Do("POST", "/contacts", full(c.Principal)).Want(201)
		at := "/contacts/" + made.Text("id")
		want := func(a *apitest.Answer, members map[string]string) {
			t.Helper()
			var got map[string]jsontext.Value
			if err := json.Unmarshal(a.Body, &got); err != nil {
				t.Fatal(err)
			}
			for name, value := range members {
				if string(got[name]) != value {
					t.Errorf("%s is %s, want %s", name, got[name], value)
				}
			}
		}
		patch := func(body string) *apitest.Answer {
			t.Helper()
			return c.Do("PATCH", at, body, "If-Match", "*").Want(200)
		}
		bonn := `[{"street":null,"postalCode":null,"city":"Bonn","region":null,"country":"DE","label":"Am Markt"}]`
		want(made, map[string]string{
			"additionalEmails": `[{"email":"Kanzlei@mueller.example","label":"work"},` +
				`{"email":"privat@mueller.example","label":null}]`,
			"additionalPhones":    `[{"phone":"0221 4710 124","label":"fax"}]`,
			"additionalAddresses": bonn,
			"attributes":          `{"Alt_Id-2":" as it is\n","crmStage":"won"}`,
		})
		same := patch(`{"attributes":{"crmStage":"won"},"additionalAddresses":` + bonn + `}`)
		if string(same.Body) != string(made.Body) {
			t.Errorf("a patch that changes nothing answered %s", same.Body)
		}
		want(patch(`{"lastName":"Berg"}`), map[string]string{"additionalAddresses": bonn}) // as an old client does
		want(patch(`{"additionalEmails":[{"email":"neu@mueller.example"}],"additionalPhones":[],`+
			`"additionalAddresses":null}`),
			map[string]string{
				"additionalEmails": `[{"email":"neu@mueller.example","label":null}]`,
				"additionalPhones": `[]`, "additionalAddresses": `[]`,
			})
		want(patch(`{"attributes":{"crmStage":null,"unknown":null,"Neu":"1"}}`),
			map[string]string{"attributes": `{"Alt_Id-2":" as it is\n","Neu":"1"}`})
		want(patch(`{"attributes":null}`), map[string]string{"attributes": `{}`})
		patch(attributes("a", 1, 20, `"x"`))
		instead := func(n int) string { // removes one attribute and adds n
			return strings.Replace(attributes("b", 1, n, `"x"`), `{"b1`, `{"a1":null,"b1`, 1)
		}
		for _, more := range []string{attributes("b", 1, 1, `"x"`), instead(2)} {
			refused := c.Do("PATCH", at, more, "If-Match", "*").Want(422, "VALIDATION_FAILED")
			if got := fmt.Sprint(refused.Fields()); got != "[attributes TOO_LONG]" {
				t.Errorf("%s: %s", more, got)
			}
		}
		patch(instead(1))
		removed := strings.TrimSuffix(attributes("a", 2, 20, "null"), "}}") + `,"b1":null,`
		patch(removed + strings.TrimPrefix(attributes("c", 1, 20, `"x"`), `{"attributes":{`)) // all others

		var changed []string
		for _, e := range c.Do("GET", "/events?sort=createdAt", nil).Want(200).Data() {
			changed = append(changed, fmt.Sprint(e["data"].(map[string]any)["changed"]))
		}
		if got, want := strings.Join(changed, " "), "[] [displayName lastName] "+
			"[additionalEmails additionalPhones additionalAddresses]"+strings.Repeat(" [attributes]", 5); got != want {
			t.Errorf("the events say %s, want %s", got, want)
		}
		for q, hits := range map[string]int{
			"neu@mueller.example": 1, "privat@mueller.example": 0, "2214710124": 0, "Bonn": 0,
		} {
			if got := c.Do("GET", "/contacts?q="+q, nil).Data(); len(got) != hits {
				t.Errorf("q=%s finds %d, want %d", q, len(got), hits)
			}
		}
		c.Do("POST", "/contacts", `{"lastName":"Amt","additionalPhones":[{"phone":"0221/4710-124"}],
			"additionalAddresses":[{"city":"Jülich","postalCode":"52428"}]}`).Want(201)
		for _, q := range []string{"02214710124", "Juelich", "52428"} {
			if got := c.Do("GET", "/contacts?q="+q, nil).Data(); len(got) != 1 {
				t.Errorf("q=%s finds %d, want 1", q, len(got))
			}
		}
	})
}

func TestAdditionalRules(t *testing.T) {
	long := strings.Repeat("a", 41)
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		for _, test := range []struct{ body, want string }{
			{`{"additionalEmails":[{"email":"a@b.de"},{"email":"b@b.de"},{"email":"c@b.de"},{"email":"no"}]}`,
				"additionalEmails[3].email INVALID_FORMAT"},
			{`{"additionalEmails":[{"label":"work"}]}`, "additionalEmails[0].email REQUIRED"},
			{`{"additionalEmails":["a@b.example"]}`, "additionalEmails[0] INVALID_TYPE"},
			{`{"additionalEmails":{"email":"a@b.example"}}`, "additionalEmails INVALID_TYPE"},
			{`{"additionalEmails":[{"email":"a@b.example","primary":true}]}`, "additionalEmails[0].primary UNKNOWN_FIELD"},
			{`{"additionalEmails":[null]}`, "additionalEmails[0] INVALID_TYPE"},
			{`{"additionalEmails":` + list(21, `{"email":"a@b.example"}`) + `}`, "additionalEmails TOO_LONG"},
			{`{"additionalPhones":[{"phone":" "}]}`, "additionalPhones[0].phone INVALID_FORMAT"},
			{`{"additionalPhones":[{"phone":""}]}`, "additionalPhones[0].phone TOO_SHORT"},
			{`{"additionalPhones":[{"phone":"1","label":""}]}`, "additionalPhones[0].label TOO_SHORT"},
			{`{"additionalPhones":[{"phone":"1","label":"` + strings.Repeat("x", 51) + `"}]}`, "additionalPhones[0].label TOO_LONG"},
			{`{"additionalPhones":[{"phone":"1","label":"a\u202eb"}]}`, "additionalPhones[0].label INVALID_FORMAT"},
			{`{"additionalPhones":` + list(21, `{"phone":"1"}`) + `}`, "additionalPhones TOO_LONG"},
			{`{"additionalAddresses":[{"country":"XX"}]}`, "additionalAddresses[0].country NOT_IN_ENUM"},
			{`{"additionalAddresses":` + list(11, `{"city":"Bonn"}`) + `}`, "additionalAddresses TOO_LONG"},
			{`{"attributes":["a"]}`, "attributes INVALID_TYPE"},
			{`{"attributes":{"a":1}}`, "attributes.a INVALID_TYPE"},
			{`{"attributes":{"a":""}}`, "attributes.a TOO_SHORT"},
			{`{"attributes":{"1a":"x"}}`, "attributes.1a INVALID_FORMAT"},
			{`{"attributes":{"a.b":"x"}}`, "attributes.a.b INVALID_FORMAT"},
			{`{"attributes":{"` + long + `":"x"}}`, "attributes." + long + " INVALID_FORMAT"},
			{`{"attributes":{"a":"` + strings.Repeat("x", 501) + `"}}`, "attributes.a TOO_LONG"},
			{attributes("a", 1, 21, `"x"`), "attributes TOO_LONG"},
		} {
			whole := `{"lastName":"A",` + strings.TrimPrefix(test.body, "{")
			refused := c.Do("POST", "/contacts", whole).Want(422, "VALIDATION_FAILED")
			if got := strings.Join(refused.Fields(), ", "); got != test.want {
				t.Errorf("%s: %s, want %s", test.body, got, test.want)
			}
		}
		if n := c.Do("GET", "/contacts/count", nil).JSON()["count"]; n != 0.0 {
			t.Errorf("%v contacts after refused calls, want none", n)
		}
	})
}
