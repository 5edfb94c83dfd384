package api_test

import (
	"bytes"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/openapi"
	"kartei/apitest"
)

func TestVersionOfTheRequest(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	current := openapi.Versions()[len(openapi.Versions())-1]
	if key := c.Do("GET", "/me", nil).Want(200).JSON()["key"].(map[string]any); key["versionPin"] != current {
		t.Errorf("the key pins %v", key["versionPin"])
	}
	for op := range rows() {
		for _, asked := range []string{"2000-01-01", "2026-11-02", "2026-11", "2026-11-01 ", "latest", "../2026-11-01", "2026-11-01.json", "9999-12-31"} {
			a := c.Do(op.Method, somePath(op), nil, "Svc-Version", asked).Want(400, "INVALID_REQUEST")
			wantFields(t, a, "Svc-Version NOT_IN_ENUM")
			checkHeaders(t, op.ID, a) // in the current version
		}
		r := c.Request(op.Method, somePath(op), nil)
		r.Header["Svc-Version"] = []string{current, current}
		wantFields(t, c.Send(r).Want(400, "INVALID_REQUEST"), "Svc-Version INVALID_FORMAT")
	}
	for op := range built() {
		for _, version := range append(openapi.Versions(), "") {
			a := call(t, c, op, "Svc-Version", version).Want(op.Run.Status())
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

// TestDocument: the frozen file is served byte for byte.
func TestDocument(t *testing.T) {
	c := office(t).As(access.Member)
	for _, version := range openapi.Versions() {
		frozen, _ := openapi.Document(version)
		a := c.Do("GET", "/openapi.json?version="+version, nil).Want(200)
		if !bytes.Equal(a.Body, frozen) {
			t.Errorf("%s: %d bytes, the file has %d", version, len(a.Body), len(frozen))
		}
		c.Do("GET", "/openapi.json?version="+version, nil, "If-None-Match", a.Header.Get("ETag")).Want(304)
		b := c.Do("GET", "/openapi.json", nil, "Svc-Version", version).Want(200)
		if !bytes.Equal(b.Body, frozen) || b.Header.Get("ETag") != a.Header.Get("ETag") {
			t.Errorf("%s: the version of the request gives another document", version)
		}
	}
	c.Do("GET", "/openapi.json?version=2000-01-01", nil).Want(404, "NOT_FOUND")
	wantFields(t, c.Do("GET", "/openapi.json?version=", nil).Want(400, "INVALID_REQUEST"), "version TOO_SHORT")
	for _, wrong := range []string{"latest", "2026-1-1", "2026-11-01.json", "..%2F2026-11-01"} {
		wantFields(t, c.Do("GET", "/openapi.json?version="+wrong, nil).Want(400, "INVALID_REQUEST"), "version INVALID_FORMAT")
	}
}

// TestRetirement follows a version from its deprecation to its end.
func TestRetirement(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	version := openapi.Versions()[0]
	a := c.Do("GET", "/me", nil).Want(200)
	if a.Header.Get("Deprecation") != "" || a.Header.Get("Sunset") != "" {
		t.Errorf("%v", a.Header)
	}
	deprecated, sunset := apitest.Begin.Add(-24*time.Hour), apitest.Begin.Add(time.Hour)
	o.API.Retire(version, deprecated, sunset)
	for op := range built() {
		for _, a := range []*apitest.Answer{call(t, c, op).Want(op.Run.Status()), c.Do(op.Method, somePath(op)+"?nosuch=1", nil).Want(400)} {
			if got := a.Header.Get("Deprecation"); got != "@1793523600" { // 2026-11-01T09:00:00Z
				t.Errorf("%s: Deprecation %q", op.ID, got)
			}
			if got := a.Header.Get("Sunset"); got != "Mon, 02 Nov 2026 10:00:00 GMT" {
				t.Errorf("%s: Sunset %q", op.ID, got)
			}
		}
	}
	o.Clock.Advance(time.Hour - time.Microsecond)
	c.Do("GET", "/me", nil).Want(200)
	o.Clock.Advance(time.Microsecond)
	for op := range rows() {
		at := somePath(op)
		a := c.Do(op.Method, at, nil).Want(410, "VERSION_SUNSET")
		checkProblem(t, a, at, false)
		checkHeaders(t, op.ID, a)
		c.Do(op.Method, at, nil, "Authorization", "").Want(401)
	}
}
