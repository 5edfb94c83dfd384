package api_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/openapi"
	"kartei/api/release"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/test/apitest"
	"kartei/test/operator"
)

// In the version old, writes are previews and lists have no filters. In the version next, writes
// are stable and lists have filters. Tests with these versions do not depend on which version is
// current.
const old, next = "2026-11-01", "2027-02-01"

func TestVersionOfTheRequest(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	current := apitest.Current()
	if key := c.Do("GET", "/me", nil).Want(200).JSON()["key"].(map[string]any); key["versionPin"] != current {
		t.Errorf("the key pins %v", key["versionPin"])
	}
	for op := range rows() {
		for _, asked := range append(candidates(), "2000-01-01", "2026-11-02", "2026-11", current+" ", "latest",
			"../"+current, current+".json", "9999-12-31") {
			a := c.Do(op.Method, somePath(op), nil, "Svc-Version", asked).Want(400, "INVALID_REQUEST")
			wantFields(t, a, "Svc-Version NOT_IN_ENUM")
			if is := strings.Contains(string(a.Body), "ein Kandidat"); is != slices.Contains(candidates(), asked) {
				t.Errorf("%s of %s: %s", asked, op.ID, a.Body)
			}
			checkHeaders(t, op.ID, a) // for the current version
		}
		r := c.Request(op.Method, somePath(op), nil)
		r.Header["Svc-Version"] = []string{current, current}
		wantFields(t, c.Send(r).Want(400, "INVALID_REQUEST"), "Svc-Version INVALID_FORMAT")
	}
	for op := range rows() {
		for _, version := range []string{current, ""} {
			a := call(t, c, op, "Svc-Version", version).Want(op.Status())
			if version == "" {
				version = current
			}
			if got := a.Header["Svc-Version"]; len(got) != 1 || got[0] != version {
				t.Errorf("%s: Svc-Version %q, want %s", op.ID, got, version)
			}
		}
	}
	if got := c.Do("GET", "/me", nil, "Svc-Version", current).Text("apiVersion"); got != current {
		t.Errorf("apiVersion %q", got)
	}
}

// candidates returns the names of the versions that production does not serve.
func candidates() (names []string) {
	for _, v := range release.Versions {
		if v.Candidate {
			names = append(names, v.Name)
		}
	}
	return names
}

// TestDocument checks that the server returns the frozen document of every served version byte for
// byte.
func TestDocument(t *testing.T) {
	for _, environment := range []string{"production", "rc"} {
		c := office(t, apitest.Versions(release.VersionsIn(environment)...)).As(access.Member)
		for _, version := range release.Versions {
			frozen, _ := openapi.Document(version.Name)
			if version.Candidate && environment != "rc" {
				c.Do("GET", "/openapi.json?version="+version.Name, nil).Want(404, "NOT_FOUND")
				continue
			}
			a := c.Do("GET", "/openapi.json?version="+version.Name, nil).Want(200)
			if !bytes.Equal(a.Body, frozen) {
				t.Errorf("%s: %d bytes, the file has %d", version.Name, len(a.Body), len(frozen))
			}
			c.Do("GET", "/openapi.json?version="+version.Name, nil, "If-None-Match", a.Header.Get("ETag")).Want(304)
			b := c.Do("GET", "/openapi.json", nil, "Svc-Version", version.Name).Want(200)
			if !bytes.Equal(b.Body, frozen) || b.Header.Get("ETag") != a.Header.Get("ETag") {
				t.Errorf("%s: the version of the request gives another document", version.Name)
			}
		}
		c.Do("GET", "/openapi.json?version=2000-01-01", nil).Want(404, "NOT_FOUND")
		wantFields(t, c.Do("GET", "/openapi.json?version=", nil).Want(400, "INVALID_REQUEST"), "version TOO_SHORT")
		for _, wrong := range []string{"latest", "2026-1-1", "2026-11-01.json", "..%2F2026-11-01"} {
			wantFields(t, c.Do("GET", "/openapi.json?version="+wrong, nil).Want(400, "INVALID_REQUEST"),
				"version INVALID_FORMAT")
		}
	}
}

// TestDeclaredVersions checks that there is a frozen document for each declared version, and no
// other document.
func TestDeclaredVersions(t *testing.T) {
	var names []string
	for _, v := range release.Versions {
		names = append(names, v.Name)
	}
	if !slices.Equal(names, openapi.Versions()) {
		t.Errorf("declared are %v, frozen %v", names, openapi.Versions())
	}
	// This is the current version in the contract ('Versioning', 1). Only this test names it.
	if got := apitest.Current(); got != "2026-11-01" {
		t.Errorf("the current version is %s", got)
	}
	for environment, hidden := range map[string][]string{"production": candidates(), "": candidates(), "rc": nil} {
		served := release.Names(release.VersionsIn(environment))
		if served[0] != apitest.Current() || len(served)+len(hidden) != len(names) {
			t.Errorf("%q serves %v", environment, served)
		}
		for _, candidate := range hidden {
			if slices.Contains(served, candidate) {
				t.Errorf("%q serves %s", environment, candidate)
			}
		}
	}
	four := []release.Version{{Name: "1"}, {Name: "2"}, {Name: "3", Candidate: true}, {Name: "4", Candidate: true}}
	if got := release.Names(four); !slices.Equal(got, []string{"2", "4", "3", "1"}) {
		t.Errorf("the current one first: %v", got)
	}
}

// TestStanding checks the German and English texts about the state of a version, such as its end.
func TestStanding(t *testing.T) {
	at := time.Date(2027, 11, 1, 1, 0, 0, 0, time.FixedZone("", 3600))
	for _, test := range []struct {
		version release.Version
		de, en  string
	}{
		{release.Version{}, "", ""},
		{
			release.Version{Candidate: true},
			"Diese Version ist noch nicht veröffentlicht und kann sich ändern.",
			"This version is not released yet and may change.",
		},
		{release.Version{Deprecated: at, Sunset: at.Add(time.Minute)},
			"Veraltet ab 2027-11-01, 00:00 UTC: Bitte beginnen Sie nichts Neues mehr mit dieser Version. Abgeschaltet wird sie am 2027-11-01, 00:01 UTC; danach antwortet sie 410 VERSION_SUNSET.",
			"Deprecated from 2027-11-01, 00:00 UTC on: please begin nothing new with this version. It ends at 2027-11-01, 00:01 UTC; afterwards it answers 410 VERSION_SUNSET."},
	} {
		if got := test.version.Announcement(); got.In(i18n.German) != test.de || got.In(i18n.English) != test.en {
			t.Errorf("%+v: %+v", test.version, got)
		}
	}
}

// TestDeclaredParameters checks that lists accept the parameters that a version declares.
func TestDeclaredParameters(t *testing.T) {
	for _, v := range release.Versions {
		for op := range rows() {
			for _, p := range v.Parameters[op.Family] {
				if list := op.Method == "GET" && !op.Named(); list && !op.Takes(p) {
					t.Errorf("%s of %s does not take %s: it needs a member of Filters in the package of its family", op.ID, v.Name, p)
				}
			}
		}
	}
}

// rc returns an office that serves the versions of the release candidate.
func rc(t testing.TB) *apitest.Office {
	t.Helper()
	return office(t, apitest.Versions(release.VersionsIn("rc")...))
}

// TestCandidate checks how a call selects its version in the release candidate: by the header
// Svc-Version, by the version pin of its key, or else the current version. Unreleased versions can
// be selected too.
func TestCandidate(t *testing.T) {
	apitest.BySession.Except(t, "version", "the header Link names it")
	apitest.ByTool.Except(t, "version", "the header Link names it")
	o := rc(t)
	first, last, current := release.Versions[0].Name, release.Versions[len(release.Versions)-1].Name, apitest.Current()
	c := o.As(access.Member)
	pinned := *c
	made, err := o.Operator.CreateKey(t.Context(), key.New{
		Organization: o.ID, Principal: c.Principal, Environment: "test", Scopes: apitest.AllScopes,
		Networks: []string{"192.0.2.0/24"}, VersionPin: last,
	})
	if err != nil {
		t.Fatal(err)
	}
	pinned.Key = made.Key
	for op := range rows() {
		for _, test := range []struct {
			*apitest.Client
			asked, want string
		}{{c, "", current}, {c, last, last}, {&pinned, "", last}, {&pinned, first, first}} {
			a := call(t, test.Client, op, "Svc-Version", test.asked).Want(op.Status())
			if got := a.Header["Svc-Version"]; !slices.Equal(got, []string{test.want}) {
				t.Errorf("%s, asked %q: Svc-Version %q, want %s", op.ID, test.asked, got, test.want)
			}
			want := `<https://kartei.example/docs/openapi.json?version=` + test.want +
				`>; rel="service-desc"; type="application/json"` + successor(test.want, release.Versions)
			if got := a.Header["Link"]; !slices.Equal(got, []string{want}) {
				t.Errorf("%s in %s: Link %q", op.ID, test.want, got)
			}
			// Without Svc-Preview, the call succeeds only if the operation is stable in the
			// version.
			a = call(t, test.Client, op, "Svc-Version", test.asked, "Svc-Preview", "")
			if op.Channel.Preview(test.want) {
				a.Want(404, "OPERATION_NOT_IN_VERSION")
			} else {
				a.Want(op.Status())
			}
		}
	}
	if got := c.Do("GET", "/me", nil, "Svc-Version", last).Text("apiVersion"); got != last {
		t.Errorf("apiVersion %q", got)
	}
	wantFields(t, c.Do("GET", "/me", nil, "Svc-Version", "2027-02-02").Want(400, "INVALID_REQUEST"),
		"Svc-Version NOT_IN_ENUM")
}

// successor returns the part of the Link header with the next served version, or "" if there is
// none.
func successor(version string, served []release.Version) string {
	for _, v := range served {
		if v.Name > version {
			return `, <https://kartei.example/docs/openapi.json?version=` + v.Name +
				`>; rel="successor-version"; type="application/json"`
		}
	}
	return ""
}

// TestPinOfProduction checks that a key with a version pin can be created only if the version is
// served. A key with such a pin from another environment gets an error.
func TestPinOfProduction(t *testing.T) {
	const unserved = "2099-01-01"
	o := office(t)
	c := o.As(access.Member)
	in := key.New{
		Organization: o.ID, Principal: c.Principal, Environment: "test", Scopes: []string{"contacts:read"},
		VersionPin: unserved,
	}
	if _, err := o.Operator.CreateKey(t.Context(), in); !fault.Is(err, fault.ValidationFailed) {
		t.Errorf("a key pins a version that is not served: %v", err)
	}
	made, err := operator.New(o.DB, o.Clock, o.Directory, unserved).CreateKey(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	c.Key = made.Key
	wantFields(t, c.Do("GET", "/me", nil).Want(400, "INVALID_REQUEST"), "Svc-Version NOT_IN_ENUM")
	c.Do("GET", "/me", nil, "Svc-Version", apitest.Current()).Want(200)
}

// TestRetirement checks the responses of a version from the announcement of its end to the end. Its
// successor is served too.
func TestRetirement(t *testing.T) {
	versions := []release.Version{
		{Name: old, Deprecated: apitest.Begin.Add(-24 * time.Hour), Sunset: apitest.Begin.Add(time.Hour)},
		{Name: next},
	}
	o := office(t, apitest.Versions(versions...))
	c := o.As(access.Member)
	if a := c.Do("GET", "/me", nil).Want(200); a.Header.Get("Svc-Version") != next ||
		a.Header.Get("Deprecation") != "" || a.Header.Get("Sunset") != "" {
		t.Errorf("%v", a.Header)
	}
	const link = `<https://kartei.example/docs/openapi.json?version=2026-11-01>; rel="service-desc"; type="application/json", ` +
		`</docs?version=2026-11-01>; rel="deprecation"; type="text/html", </docs?version=2026-11-01>; rel="sunset"; type="text/html", ` +
		`<https://kartei.example/docs/openapi.json?version=2027-02-01>; rel="successor-version"; type="application/json"`
	announced := func(op *api.Operation, a *apitest.Answer) {
		t.Helper()
		for header, want := range map[string]string{
			"Deprecation": "@1793523600", // 2026-11-01T09:00:00Z
			"Sunset":      "Mon, 02 Nov 2026 10:00:00 GMT",
			"Link":        link,
		} {
			if got := a.Header[header]; !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %s %q, want %q", op.ID, header, got, want)
			}
		}
	}
	for op := range rows() {
		announced(op, call(t, c, op, "Svc-Version", old).Want(op.Status()))
		announced(op, c.Do(op.Method, somePath(op)+"?nosuch=1", nil, "Svc-Version", old).Want(400))
	}
	o.Clock.Advance(time.Hour - time.Microsecond)
	c.Do("GET", "/me", nil, "Svc-Version", old).Want(200)
	o.Clock.Advance(time.Microsecond)
	for op := range rows() {
		at := somePath(op)
		a := c.Do(op.Method, at, nil, "Svc-Version", old).Want(410, "VERSION_SUNSET")
		checkProblem(t, a, at, false)
		announced(op, a)
		c.Do(op.Method, at, nil, "Svc-Version", old, "Authorization", "").Want(401)
		if a := c.Do(op.Method, at, nil); a.Status == 410 || a.Header.Get("Sunset") != "" {
			t.Errorf("%s of the next version: %d %v", op.ID, a.Status, a.Header)
		}
	}
	// The document of the old version can still be read.
	c.Do("GET", "/openapi.json?version="+old, nil).Want(200)
}

// TestVersionsInUse checks that the request log has the version of each key's calls, also for
// versions that have ended. Calls with an unknown version are left out.
func TestVersionsInUse(t *testing.T) {
	apitest.Alone(t)
	each(t, func(t *testing.T, o *apitest.Office) {
		o = apitest.New(t, o.DB, apitest.Versions(
			release.Version{Name: "2026-11-01", Sunset: apitest.Begin.Add(time.Hour)}, release.Version{Name: "2027-02-01"}))
		a, b := o.As(access.Member), o.As(access.Member)
		for range 3 {
			a.Do("GET", "/me", nil, "Svc-Version", "2026-11-01").Want(200)
		}
		a.Do("GET", "/me", nil).Want(200)
		a.Do("GET", "/me", nil, "Svc-Version", "2000-01-01").Want(400)
		a.Do("GET", "/me", nil, "Authorization", "").Want(401)
		o.Clock.Advance(2 * time.Hour)
		b.Do("GET", "/me", nil, "Svc-Version", "2026-11-01").Want(410)
		out, err := o.VersionsInUse(requestlog.VersionsInput{Organization: o.SandboxID})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range out.Data {
			who := "a"
			if strings.HasPrefix(b.Key, "kart_test_"+u.KidShort) {
				who = "b"
			}
			if u.KeyID == "" || u.OrganizationID != o.SandboxID {
				t.Errorf("%+v", u)
			}
			got = append(got, fmt.Sprintf("%s %s %d %s", u.Version, who, u.Calls, u.LastUsedAt.String()[11:16]))
		}
		if want := []string{
			"2026-11-01 b 1 11:00", "2026-11-01 a 3 09:00", "2027-02-01 a 1 09:00",
		}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		out, err = o.VersionsInUse(requestlog.VersionsInput{Version: "2027-02-01"})
		if err != nil || len(out.Data) != 1 {
			t.Errorf("one version: %+v, %v", out, err)
		}
		if _, err := o.VersionsInUse(requestlog.VersionsInput{Organization: "org_x"}); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("an unknown organization: %v", err)
		}
	})
}
