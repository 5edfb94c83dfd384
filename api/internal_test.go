package api_test

import (
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/release"
	"kartei/test/apitest"
)

// TestInternalVersion checks that sessions use the internal version of the API. No key can select
// this version, use its filters, or get its document.
func TestInternalVersion(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	token := o.Session(c.Principal)
	made := c.Do("POST", "/contacts", `{"lastName":"Berg","tags":["Mandant"]}`).Want(201).Text("id")
	if a := o.InSession(token, "/contacts?tag=mandant&externalId=x").Want(200); len(a.Data()) != 0 ||
		a.Header.Get("Svc-Version") != "internal" || a.Header.Get("Link") != "" {
		t.Errorf("%s %v", a.Body, a.Header)
	}
	if a := o.InSession(token, "/contacts?tag=MANDANT").Want(200); len(a.Data()) != 1 || a.Data()[0]["id"] != made {
		t.Errorf("%s", a.Body)
	}
	wantFields(t, o.InSession(token, "/contacts?tags=x").Want(400, "UNKNOWN_PARAMETER"), "tags UNKNOWN_FIELD")
	wantFields(t, o.InSession(token, "/contacts?q=x&tag=y").Want(400, "INVALID_REQUEST"), "tag FORBIDDEN_COMBINATION")
	if a := o.InSession(token, "/openapi.json").Want(200); !strings.Contains(string(a.Body),
		`"version": "`+apitest.Current()) {
		t.Errorf("%.200s", a.Body)
	}

	both := rc(t).As(access.Member)
	for family, parameters := range release.Internal.Parameters {
		for _, p := range parameters {
			for _, version := range []string{old, next} {
				a := both.Do("GET", creator(family).Path+"?"+p+"=x", nil, "Svc-Version", version).Want(400, "UNKNOWN_PARAMETER")
				wantFields(t, a, p+" UNKNOWN_FIELD")
				if strings.Contains(string(a.Body), "internal") {
					t.Errorf("%s names the internal version: %s", p, a.Body)
				}
			}
		}
	}
	a := both.Do("GET", "/contacts", nil, "Svc-Version", "internal").Want(400, "INVALID_REQUEST")
	if strings.Contains(strings.ReplaceAll(string(a.Body), url.QueryEscape("internal"), ""), `"internal"`) {
		t.Errorf("%s", a.Body)
	}
	both.Do("GET", "/openapi.json?version=internal", nil).Want(400, "INVALID_REQUEST")
}
