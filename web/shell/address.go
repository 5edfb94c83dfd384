package shell

import (
	"net/url"
	"strings"

	"kartei/kit/id"
)

// These constants are the paths of the pages to which other pages have links.
const (
	SettingsPath = "/settings" // has links to the other pages below it
	ProfilePath  = "/settings/profile"
	SecurityPath = "/settings/security"
	// ActingPath is the path of the page that lists everything with access to the person's account.
	ActingPath = SecurityPath + "/access"

	KeysPath         = "/settings/interfaces/keys"
	RequestsPath     = "/settings/interfaces/requests"
	EventsPath       = "/settings/interfaces/events"
	UsagePath        = "/settings/interfaces/usage"
	ApplicationsPath = "/settings/interfaces/applications"
	WebhooksPath     = "/settings/interfaces/webhooks"

	PeoplePath       = "/settings/people"
	AccountsPath     = "/settings/service-accounts"
	DataPath         = "/settings/data"
	OrganizationPath = "/settings/organization"
	AuditPath        = "/settings/audit"

	// ChangesPath is the path of the list of bulk changes.
	ChangesPath = "/changes"

	// DuplicatesPath is the path of the list of possible duplicates, and MergedPath the path of the
	// list of merges.
	DuplicatesPath = "/duplicates"
	MergedPath     = DuplicatesPath + "/merged"

	// ConflictsPath is the path of the conflict check, and ConflictsParameter its query parameter with the
	// id of a contact or company.
	ConflictsPath      = "/conflicts"
	ConflictsParameter = "id"

	SignOutPath = "/signout"
	// SwitchPath is the path that switches the session to another organization of the person.
	SwitchPath = "/switch"
)

// SandboxPath is the prefix of the path of each page in the sandbox. The path of a page thus shows
// its environment.
const SandboxPath = "/sandbox"

// EventPath returns the path of the page of an event.
func EventPath(id string) string { return EventsPath + "/" + id }

// PrincipalAt returns the path of the page of a person or of a service account. name is the id.
func PrincipalAt(name string) string {
	if id.Valid(id.ServiceAccount, name) {
		return AccountsPath + "/" + name
	}
	return PeoplePath + "/" + name
}

// OrganizationAt returns the path of the page about the organization or about its sandbox.
func OrganizationAt(sandbox bool) string {
	if sandbox {
		return OrganizationPath + "?of=sandbox"
	}
	return OrganizationPath
}

// DuplicatesOf returns the address of the list of possible duplicates in a family. If id is not empty,
// the list is about the record with this id.
func DuplicatesOf(family, id string) string {
	path := DuplicatesPath + "?of=" + family
	if id != "" {
		path += "&id=" + id
	}
	return path
}

// ConflictsOf returns the address of the conflict check for the name of a contact or company.
func ConflictsOf(id string) string { return ConflictsPath + "?" + ConflictsParameter + "=" + id }

// pathsByPrefix maps the prefix of an id to the path of the pages for such ids.
var pathsByPrefix = map[string]string{
	id.Contact: "/contacts/", id.Company: "/companies/", id.Task: "/tasks/", id.Document: "/documents/",
	id.Operation: "/operations/", id.Import: DataPath + "/",
	id.Key: KeysPath + "/", id.WebhookEndpoint: WebhooksPath + "/", id.Event: EventsPath + "/", id.Request: RequestsPath + "/",
	id.User: PeoplePath + "/", id.ServiceAccount: AccountsPath + "/",
}

// pathFor returns the path of the pages for ids with the same prefix as name. It ends with a slash.
// It is empty if ids with this prefix have no pages.
func pathFor(name string) string { return pathsByPrefix[name[:strings.Index(name, "_")+1]] }

// PathOf returns the path of the page about the object with this id. It is empty if ids of this
// kind have no page.
func PathOf(name string) string {
	path := pathFor(name)
	if path == "" {
		return ""
	}
	return path + url.PathEscape(name)
}

// PathOf returns the path of the page about the object with this id. It is empty if there is no
// such page, or if only admins may open the page and the person is no admin.
func (v *Request) PathOf(name string) string {
	page := v.Site.PageAt(pathFor(name) + "{id}")
	if page == nil || page.AdminsOnly() && !v.Session.Administers {
		return ""
	}
	return PathOf(name)
}
