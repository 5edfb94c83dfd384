package api

import (
	"slices"
	"strings"
	"time"

	"kartei/kit/fault"
)

// Version is one version of the API, as a release declares it.
type Version struct {
	// Name is a date, YYYY-MM-DD. The frozen document of that name says
	// everything that holds in the version.
	Name string
	// Candidate keeps a version to the environment rc until it is current.
	Candidate bool
	// Deprecated and Sunset are announced by setting them: from when on nobody
	// should begin with the version any more, and when it ends. Both may lie
	// ahead; every answer of the version tells them (RFC 9745, RFC 8594).
	Deprecated, Sunset time.Time
	// Parameters are the query parameters that lists and counts of a family
	// take from this version on.
	Parameters map[string][]string
}

// Standing says in words what is announced of the version, for its page: the
// header Link leads there. It is empty if there is nothing to say.
func (v Version) Standing() fault.Text {
	var s fault.Text
	say := func(de, en string) {
		s.DE, s.EN = strings.TrimSpace(s.DE+" "+de), strings.TrimSpace(s.EN+" "+en)
	}
	const form = "2006-01-02, 15:04 UTC"
	if v.Candidate {
		say("Diese Version ist noch nicht veröffentlicht und kann sich ändern.", "This version is not released yet and may change.")
	}
	if !v.Deprecated.IsZero() {
		at := v.Deprecated.UTC().Format(form)
		say("Veraltet ab "+at+": Bitte beginnen Sie nichts Neues mehr mit dieser Version.", "Deprecated from "+at+" on: please begin nothing new with this version.")
	}
	if !v.Sunset.IsZero() {
		at := v.Sunset.UTC().Format(form)
		say("Abgeschaltet wird sie am "+at+"; danach antwortet sie 410 VERSION_SUNSET.", "It ends at "+at+"; afterwards it answers 410 VERSION_SUNSET.")
	}
	return s
}

// Versions are all there are, the oldest first. This table, and the column
// Channel of the table of operations, are all that tells one version from the
// next: nothing that runs asks for a version's name.
var Versions = []Version{
	{Name: "2026-11-01"},
	{
		Name:      "2027-02-01",
		Candidate: true,
		// Writes of contacts, companies and tasks are stable: stableFrom2027.
		Parameters: map[string][]string{
			"contacts":  {"companyId", "email", "externalId"},
			"companies": {"externalId"},
			"tasks":     {"status", "assigneeId", "contactId", "companyId"},
			"documents": {"contactId", "companyId", "taskId"},
		},
	},
}

// VersionsIn returns the versions that are served in an environment,
// production or rc, the oldest first.
func VersionsIn(environment string) []Version {
	return slices.DeleteFunc(slices.Clone(Versions), func(v Version) bool { return v.Candidate && environment != "rc" })
}

// Names returns the names of versions, the current one first: the newest that
// is no candidate. The others follow, the newest first.
func Names(versions []Version) []string {
	var names []string
	for _, v := range slices.Backward(versions) {
		if !v.Candidate {
			names = append(names, v.Name)
		}
	}
	for _, v := range versions {
		if v.Candidate {
			names = slices.Insert(names, min(1, len(names)), v.Name)
		}
	}
	return names
}

// TakesIn reports whether the operation takes a query parameter in a version:
// from the first that names it on, or always, where none does.
func (o *Operation) TakesIn(version, parameter string) bool {
	named := false
	for _, v := range Versions {
		if slices.Contains(v.Parameters[o.Family], parameter) {
			if v.Name <= version {
				return true
			}
			named = true
		}
	}
	return !named
}

// later returns the first version that has a query parameter of a list or of
// its count, or "".
func later(operation, parameter string) string {
	family, verb, _ := strings.Cut(operation, ".")
	for _, v := range Versions {
		if (verb == "list" || verb == "count") && slices.Contains(v.Parameters[family], parameter) {
			return v.Name
		}
	}
	return ""
}
