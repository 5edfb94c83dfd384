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

// versionResult is the result of the stage version: the version that serves a call, and its rules.
type versionResult struct {
	version string
	rules   *schema.Document
}

// servedVersion is one version as the path serves it.
type servedVersion struct {
	release.Version
	rules *schema.Document
	// The headers about the version in every answer; deprecation and sunset are
	// nil until they are announced. The internal version has no link.
	svcVersion, link, deprecation, sunset []string
}

// newServedVersion prepares a version for serving. successor is the name of the
// next served version, or empty. The headers name the document below base, the
// address of the instance, because it can be read without credentials.
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

// served returns a version as the path serves it.
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

// candidate says of a version that is published as a candidate where it is served.
func (a *API) candidate(wrong fault.Field) i18n.Text {
	return i18n.Join(" ", i18n.InEach(wrong.Message), "The version named is a candidate: "+
		"until its release only an instance of the environment rc serves it.")
}

// over reports whether the version has ended.
func (s *servedVersion) over(now clock.Micros) bool {
	return !s.Sunset.IsZero() && clock.FromTime(s.Sunset.Truncate(time.Second)) <= now
}

// version selects the version: the request's version, else the pin of the
// credential, else the current one. Kinds of credential without a version have the
// internal one, whatever they ask for.
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
