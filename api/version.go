package api

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"kartei/api/release"
	"kartei/api/schema"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// versionResult is the result of the stage version: the version of the call, and its rules.
type versionResult struct {
	version string
	rules   *schema.Document
}

// servedVersion is a version of the API with the values that each call needs.
type servedVersion struct {
	release.Version
	rules *schema.Document
	// These are the values of headers about the version. deprecation and sunset are nil until they
	// are announced. link is nil for the internal version.
	svcVersion, link, deprecation, sunset []string
}

// newServedVersion returns a version with its headers. successor is the name of the next version,
// or empty. base is the address of the instance. The links lead to documents below base, because
// these can be read without credentials.
func newServedVersion(v release.Version, successor string, rules *schema.Document, base string) *servedVersion {
	s := &servedVersion{Version: v, rules: rules, svcVersion: []string{v.Name}}
	document := func(version string) string { return base + "/docs/openapi.json?version=" + version }
	link := linkTo(document(v.Name), "service-desc", "application/json")
	page := "/docs?version=" + v.Name
	if !v.Deprecated.IsZero() {
		s.deprecation = []string{"@" + strconv.FormatInt(v.Deprecated.Unix(), 10)}
		link += ", " + linkTo(page, "deprecation", "text/html")
	}
	if !v.Sunset.IsZero() {
		s.sunset = []string{v.Sunset.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}
		link += ", " + linkTo(page, "sunset", "text/html")
	}
	if successor != "" {
		link += ", " + linkTo(document(successor), "successor-version", "application/json")
	}
	s.link = []string{link}
	return s
}

// served returns the served version with this name. It is nil if the version is not served.
func (a *API) served(name string) *servedVersion {
	if name == release.Internal.Name {
		return a.internal
	}
	return a.versions[name]
}

// linkTo formats one link of a Link header (RFC 8288).
func linkTo(target, rel, contentType string) string {
	return "<" + target + `>; rel="` + rel + `"; type="` + contentType + `"`
}

// candidate returns the text for a version that exists as a candidate and is not served here. It
// says where such a version is served.
func (a *API) candidate(wrong fault.Field) i18n.Text {
	return i18n.Join(" ", i18n.InEach(wrong.Message), "The version named is a candidate: "+
		"until its release only an instance of the environment rc serves it.")
}

// over reports whether the sunset of the version has passed.
func (s *servedVersion) over(now clock.Micros) bool {
	return !s.Sunset.IsZero() && clock.FromTime(s.Sunset.Truncate(time.Second)) <= now
}

// version selects the version of the call. It is the version in Svc-Version, else the pin of the
// credential, else the current version. Some kinds of credential always have the internal version.
func version(a *API, _ context.Context, c *call) error {
	if !c.duties.Version {
		c.version, c.rules = release.Internal.Name, a.internal.rules
		return nil
	}
	name := cmp.Or(c.actor.Credential().VersionPin, a.current)
	if asked := c.Header["Svc-Version"]; len(asked) > 0 {
		if len(asked) > 1 {
			return fault.BadRequest(fault.Field{Name: "Svc-Version", Code: fault.InvalidFormat})
		}
		name = asked[0]
	}
	v := a.versions[name]
	if v == nil {
		wrong := fault.Field{Name: "Svc-Version", Code: fault.NotInEnum, Limit: a.names}
		if slices.ContainsFunc(release.Versions, func(v release.Version) bool { return v.Name == name && v.Candidate }) {
			wrong.Text = a.candidate(wrong)
		}
		return fault.BadRequest(wrong)
	}
	c.version, c.rules = name, v.rules
	if v.over(c.now) {
		return fault.New(fault.VersionSunset)
	}
	return nil
}
