// Package release owns the versions of the API, as releases declare them.
package release

import (
	"slices"
	"strings"
	"time"

	"kartei/api/openapi"
	"kartei/kit/i18n"
)

// Version is a version of the API, as a release declares it.
type Version struct {
	// Name is a date, YYYY-MM-DD. The frozen document with this name defines all rules of the
	// version.
	Name string
	// Candidate restricts a version to the environment rc until its release.
	Candidate bool
	// Deprecated is the time from which new clients should not use the version, and Sunset the time
	// at which it ends. Zero means that no time is announced. Headers in every response of the
	// version announce these times (RFC 9745, RFC 8594).
	Deprecated, Sunset time.Time
	// Parameters has, by family, the query parameters of lists and counts that are new in this
	// version.
	Parameters map[string][]string
	// Orders has, by family, the values of the parameter sort that are new in this version. Only
	// Internal has such values.
	Orders map[string][]string
}

// Announcement returns a text about the state of the version, for the page to which the header Link
// leads. It is empty if the version is neither a candidate nor deprecated nor has an end.
func (v Version) Announcement() i18n.Text {
	var said []i18n.Text
	const form = "2006-01-02, 15:04 UTC"
	if v.Candidate {
		said = append(said, "This version is not released yet and may change.")
	}
	if !v.Deprecated.IsZero() {
		at := v.Deprecated.UTC().Format(form)
		said = append(said, i18n.Format("Deprecated from %s on: please begin nothing new with this version.", at))
	}
	if !v.Sunset.IsZero() {
		at := v.Sunset.UTC().Format(form)
		said = append(said, i18n.Format("It ends at %s; afterwards it answers 410 VERSION_SUNSET.", at))
	}
	if said == nil {
		return ""
	}
	return i18n.Join(" ", said...)
}

// Versions lists all versions, the oldest first. They differ only in this table and in the column
// Channel of the operations. No other code depends on the name of a version.
var Versions = []Version{
	{Name: "2026-11-01"},
	{
		Name:      "2027-02-01",
		Candidate: true,
		// Writes of contacts, companies and tasks are stable: stableFrom2027.
		Parameters: map[string][]string{
			"contacts":  {"companyId", "email", "externalId"},
			"companies": {"externalId"},
			"tasks":     {"status", "assigneeId", "contactId", "companyId", "reference"},
			"documents": {"contactId", "companyId", "taskId", "reference"},
		},
	},
}

// Internal is the version for sessions: the newest version, with additions for the pages of the web
// application. Every environment serves it. A credential that can choose a version never gets it.
// Its document, internal.json, is not public and may change in every release.
var Internal = Version{
	Name: openapi.Internal,
	Parameters: map[string][]string{
		"contacts":  {"ownerId", "tag", "back", "near"},
		"companies": {"ownerId", "tag", "back", "near"},
		"tasks":     {"tag", "back", "near"},
		"documents": {"ownerId", "tag", "kind", "back", "near"},
	},
	Orders: map[string][]string{
		"contacts":  {"name", "-name"},
		"companies": {"name", "-name"},
		"tasks":     {"dueAt", "-dueAt", "reference", "-reference"},
		"documents": {"name", "-name", "reference", "-reference"},
	},
}

// VersionsIn returns the versions that an environment, production or rc,
// serves, the oldest first.
func VersionsIn(environment string) []Version {
	return slices.DeleteFunc(slices.Clone(Versions), func(v Version) bool { return v.Candidate && environment != "rc" })
}

// Names returns the names of versions. The current version comes first, which is the newest that is
// not a candidate. The others follow, the newest first.
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

// Takes reports whether the lists of a family have a query parameter in a version. A parameter
// exists from the first version that declares it. If no version declares it, all versions have it.
// The internal version has all parameters.
func Takes(family, version, parameter string) bool {
	named := slices.Contains(Internal.Parameters[family], parameter)
	if version == Internal.Name {
		return true
	}
	for _, v := range Versions {
		if slices.Contains(v.Parameters[family], parameter) {
			if v.Name <= version {
				return true
			}
			named = true
		}
	}
	return !named
}

// First returns the first version that has a query parameter of a list or count. It is empty if no
// version declares the parameter.
func First(operation, parameter string) string {
	family, verb, _ := strings.Cut(operation, ".")
	for _, v := range Versions {
		if (verb == "list" || verb == "count") && slices.Contains(v.Parameters[family], parameter) {
			return v.Name
		}
	}
	return ""
}
