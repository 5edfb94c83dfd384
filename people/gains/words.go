package gains

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/notify"
	"kartei/store/db"
)

// Forms maps the kind of notices about access to its form.
var Forms = map[notify.Kind]notify.Form{AccessGiven: {
	Words: func(ctx context.Context, tx db.Tx, data []byte) (notify.Words, error) {
		var f Facts
		if err := json.Unmarshal(data, &f); err != nil {
			return notify.Words{}, err
		}
		n, err := f.names(ctx, tx)
		return f.words(n), err
	},
	Mail: func(data []byte) (notify.Words, error) {
		var f Facts
		err := json.Unmarshal(data, &f)
		return f.words(names{thing: cmp.Or(f.KidShort, f.ID), organization: f.Organization}), err
	},
	Page: func(recipient string, data []byte) (notify.Page, error) {
		var f Facts
		err := json.Unmarshal(data, &f)
		return f.page(recipient), err
	},
	Farewell:     "Kartei sent this message because it is about access that is yours, that you set up or that you administer. Everything that acts for your account is listed here:",
	FarewellPath: accessPath,
}}

// accessPath is the path of the page that lists everything that acts for an account.
const accessPath = "/settings/security/access"

// names are the names that a notice contains. In an email, ids replace them.
type names struct{ thing, by, to, organization string }

// names reads the present names of the principals and of the object in the facts.
func (f *Facts) names(ctx context.Context, tx db.Tx) (n names, err error) {
	o, err := access.OrganizationIn(ctx, tx, f.Organization)
	if err != nil {
		return n, err
	}
	n = names{thing: cmp.Or(f.KidShort, f.ID), organization: o.Name}
	if f.By != "" {
		if n.by, err = nameOf(ctx, tx, f.By); err != nil {
			return n, err
		}
	}
	if f.To != "" {
		if n.to, err = nameOf(ctx, tx, f.To); err != nil {
			return n, err
		}
	}
	called := ""
	switch {
	case id.Valid(id.Key, f.ID):
		var label access.Label
		label, err = access.LabelIn(ctx, tx, f.ID)
		called = label.Name
	case id.Valid(id.WebhookEndpoint, f.ID):
		err = tx.QueryRow(ctx, `select name from webhook_endpoints where organization = $1 and id = $2`, o.Number,
			f.ID).Scan(&called)
	case id.Valid(id.Client, f.ID):
		var client grant.Client
		client, err = grant.ClientByID(ctx, tx, f.ID)
		called = client.Name
	case id.Valid(id.User, f.ID), id.Valid(id.ServiceAccount, f.ID):
		called, err = nameOf(ctx, tx, f.ID)
	}
	if errors.Is(err, db.ErrNoRows) || fault.Is(err, fault.NotFound) { // it no longer exists
		err = nil
	}
	n.thing = cmp.Or(called, n.thing)
	return n, err
}

// nameOf returns the name of a principal, or its id if it has no name.
func nameOf(ctx context.Context, tx db.Tx, principal string) (string, error) {
	p, err := access.PrincipalIn(ctx, tx, "", principal)
	return cmp.Or(p.Name, principal), err
}

// sentences are the title and the text of a gain. The title of a key has a fmt verb for the key's
// short name. The text has fmt verbs for the time, the name of the object and the organization, in
// this order.
type sentences struct{ title, text i18n.Text }

var words = map[op.GainWord]sentences{
	op.KeyCreated: {
		"New API key %s",
		"At %s (UTC) the API key “%s” was created for %s.",
	},
	op.KeyRotated: {
		"API key %s has a new secret",
		"At %s (UTC) the API key “%s” of %s got a new secret. The old one is no longer valid.",
	},
	op.KeyWidened: {
		"API key %s works for longer or from more addresses",
		"At %s (UTC) the API key “%s” of %s was changed. It now works for longer, or from more addresses.",
	},
	op.KeyResumed: {
		"API key %s is resumed",
		"At %s (UTC) the paused API key “%s” of %s was resumed.",
	},
	op.ClientMade: {
		"New application of a service account",
		"At %s (UTC) the application “%s” of a service account was created in %s.",
	},
	op.NewSecret: {
		"An application has a new secret",
		"At %s (UTC) the application “%s” of %s got a new secret. The old one is no longer valid.",
	},
	op.ClientKnown: {
		"An application is approved",
		"At %s (UTC) the application “%s” was approved for %s. People can connect it now.",
	},
	op.ClientOn: {
		"An application is enabled again",
		"At %s (UTC) the application “%s” of %s was enabled.",
	},
	op.HookCreated: {
		"New webhook endpoint",
		"At %s (UTC) the webhook endpoint “%s” of %s was created. Events now go to its address.",
	},
	op.HookChanged: {
		"A webhook endpoint was changed",
		"At %s (UTC) the webhook endpoint “%s” of %s was changed. Events now go to another address, or more of them.",
	},
	op.HookRotated: {
		"A webhook endpoint has a new secret",
		"At %s (UTC) the webhook endpoint “%s” of %s got a new secret.",
	},
	op.HookEnabled: {
		"A webhook endpoint is enabled again",
		"At %s (UTC) the webhook endpoint “%s” of %s was enabled again.",
	},
	op.HookResent: {
		"Events were sent again",
		"At %s (UTC) events were sent to the webhook endpoint “%s” of %s again.",
	},
	op.PersonCreated: {
		"New person",
		"At %s (UTC) “%s” was created in %s.",
	},
	op.PasswordLink: {
		"A link for a new password was handed out",
		"At %[1]s (UTC) a link that sets a new password of “%[2]s” was handed out.",
	},
	op.PersonInvited: {
		"Somebody was invited",
		"At %[1]s (UTC) somebody was invited to %[3]s. The invitation is listed under people.",
	},
	op.PersonWidened: {
		"A person may do more than before",
		"At %s (UTC) “%s” got more rights or another role in %s, or was enabled.",
	},
	op.AccountCreated: {
		"New service account",
		"At %s (UTC) the service account “%s” was created in %s.",
	},
	op.AccountWidened: {
		"A service account may do more than before",
		"At %s (UTC) the service account “%s” got more rights or another role in %s, or was enabled.",
	},
	op.Opened: {
		"Your organization was opened further",
		"At %[1]s (UTC) settings of %[3]s were changed that let in more: the API, the module, the applications, the second factor, the sign-in by password, or the state.",
	},
	op.HandedOver: {
		"Records were handed over",
		"At %s (UTC) the records of “%s” in %s were handed over to somebody else.",
	},
	op.RecordsGiven: {
		"Records have another owner or are visible to all",
		"At %[1]s (UTC) the owner or the visibility of records of %[3]s was changed.",
	},
	op.ListGiven: {
		"A whole list is being handed over",
		"At %[1]s (UTC) somebody began to hand over all entries of a list of %[3]s, or to show them to all, also private ones of others.",
	},
	op.AddressChanged: {
		"An email address was changed",
		"At %s (UTC) the address was changed to which “%s” gets emails of %s.",
	},
	op.ListExported: {
		"Many entries were exported",
		"At %[1]s (UTC) entries of %[3]s were exported as a file. There were more than 200 on that day.",
	},
	op.PersonExported: {
		"Personal data was exported",
		"At %[1]s (UTC) what is stored in %[3]s about “%[2]s” was exported.",
	},
	op.AllExported: {
		"The whole organization was exported",
		"At %[1]s (UTC) everything that is stored of %[3]s was exported.",
	},
	op.AuditExported: {
		"The audit log was exported",
		"At %[1]s (UTC) the audit log of %[3]s was exported as a file.",
	},
}

var unexpected = i18n.Text("If you do not expect this, take it back. Settings, security, “Access” shows all that acts for your account.")

// words returns the title and the text of the notice.
func (f *Facts) words(n names) notify.Words {
	s := words[f.Word]
	title := s.title
	if f.kind() == "key" {
		title = i18n.Format(title, f.KidShort)
	}
	said := []i18n.Text{i18n.Format(s.text, minute(f.At), n.thing, n.organization)}
	said = append(append(said, f.records(n)...), f.who(n))
	return notify.Words{Title: title, Text: i18n.Join("\n\n", i18n.Join(" ", said...), unexpected)}
}

// records returns sentences with the number of the given records and their new owner. An act on a
// list has no number yet, because its notice is posted before the records are counted.
func (f *Facts) records(n names) (said []i18n.Text) {
	if f.Count > 0 {
		said = append(said, i18n.Format("Number: %d.", f.Count))
	}
	if n.to != "" {
		said = append(said, i18n.Format("New owner: %s.", n.to))
	}
	return said
}

// who returns the sentence that says who gave the access.
func (f *Facts) who(n names) i18n.Text {
	switch {
	case f.Kind == string(access.Operator):
		return "The operator of the instance did that."
	case f.Kind == string(access.Key):
		return i18n.Format("A program with the API key %s did that.", f.Short)
	case f.Kind == string(access.Token):
		return "A connected application did that."
	case f.Own:
		return "That was done in a session of yours."
	case n.by != "":
		return i18n.Format("%s did that.", n.by)
	}
	return "Somebody else of your organization did that. The notifications say who."
}

// givenPages maps the id prefix of an act or a record to the path of its page.
var givenPages = []struct {
	prefix, path string
	name         i18n.Text
}{
	{id.BulkAct, "/changes/", "View the change"},
	{id.Contact, "/contacts/", "View the record"},
	{id.Company, "/companies/", "View the record"},
	{id.Task, "/tasks/", "View the record"},
	{id.Document, "/documents/", "View the record"},
}

// kind returns the part of the word before the dot, for example key, client or person.
func (f *Facts) kind() string {
	kind, _, _ := strings.Cut(string(f.Word), ".")
	return kind
}

// page returns the page on which the recipient can revoke the access or look at it.
func (f *Facts) page(recipient string) notify.Page {
	at := func(path string, name i18n.Text) notify.Page { return notify.Page{Path: path, Name: name} }
	switch kind := f.kind(); {
	case kind == "key":
		return at("/settings/interfaces/keys/"+f.ID, "View the key")
	case kind == "client":
		return at("/settings/interfaces/applications", "View the connected applications")
	case kind == "webhook":
		return at("/settings/interfaces/webhooks/"+f.ID, "View the endpoint")
	case kind == "serviceAccount":
		return at("/settings/service-accounts/"+f.ID, "View the service account")
	case f.Word == op.PersonInvited:
		return at("/settings/people", "View the invitations")
	case f.Word == op.RecordsGiven, f.Word == op.ListGiven:
		if f.Word == op.RecordsGiven && recipient == f.Principal {
			return at("/bell", "View the notifications")
		}
		for _, p := range givenPages {
			if strings.HasPrefix(f.ID, p.prefix) {
				return notify.Page{Path: p.path + f.ID, Name: p.name}
			}
		}
		return at("/settings/audit", "View the audit log")
	case f.Word == op.Opened:
		return at("/settings/organization", "View the organization")
	case f.Word == op.AllExported, f.Word == op.AuditExported:
		return at("/settings/audit", "View the audit log")
	case kind == "person" && recipient != f.ID, kind == "records" && recipient != f.Principal:
		return at("/settings/people/"+f.ID, "View the person")
	}
	return at(accessPath, "View all access [email]")
}

// minute returns a time for people, exact to the minute.
func minute(at clock.Micros) string { return strings.Replace(at.String(), "T", " ", 1)[:16] }
