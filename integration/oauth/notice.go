package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/notify"
	"kartei/store/db"
)

// TokenReused is the kind of notice about a grant that was ended because a code or a refresh token
// was used twice.
const TokenReused notify.Kind = "token_reused"

// ReuseFacts are the data of a TokenReused notice.
type ReuseFacts struct {
	Grant string `json:"grantId"`
}

// The other kinds of notices about the connections of people.
const (
	// Connected is about a new or a renewed connection. It goes to the person and the admins, so
	// that no connection stays unnoticed.
	Connected notify.Kind = "application_connected"
	// AskedFor goes to the admins: a person wants to connect an application that is not approved.
	// Approved goes to the people who asked for the application.
	AskedFor notify.Kind = "application_asked"
	Approved notify.Kind = "application_approved"
	// EndsSoon goes to a person whose connection ends unless they renew it. NotRenewed goes to a
	// person whose connection has ended without a renewal.
	EndsSoon   notify.Kind = "application_ends"
	NotRenewed notify.Kind = "application_ended"
)

// GrantFacts are the data of a notice about a connection.
type GrantFacts struct {
	Grant       string       `json:"grantId"`
	PrincipalID string       `json:"principalId"`
	Scopes      []string     `json:"scopes,omitempty"`
	ExpiresAt   clock.Micros `json:"expiresAt,omitzero"`
	Renewed     bool         `json:"renewed,omitempty"`
}

// ApprovalFacts are the data of a notice about a request for an application.
type ApprovalFacts struct {
	Approval string `json:"approvalId"`
	Client   string `json:"clientId"`
	// PrincipalID is the id of the person who asked.
	PrincipalID string `json:"principalId,omitempty"`
}

// applicationsPath is the path of the page about applications.
const applicationsPath = "/settings/interfaces/applications"

// ofGrant returns the form of notices about a connection. words gets the names of the application,
// its organization and the person. In an email, which has no names, person is an id and the others
// are empty.
func ofGrant(words func(GrantFacts, names) notify.Words, page i18n.Text) notify.Form {
	return notify.Form{
		Words: func(ctx context.Context, tx db.Tx, data []byte) (w notify.Words, err error) {
			var f GrantFacts
			if err := json.Unmarshal(data, &f); err != nil {
				return w, err
			}
			n, err := namesOf(ctx, tx, f.PrincipalID)
			if err != nil {
				return w, err
			}
			label, err := access.LabelIn(ctx, tx, f.Grant)
			n.application, n.organization = label.Name, label.Organization
			return words(f, n), err
		},
		Mail: func(data []byte) (notify.Words, error) {
			var f GrantFacts
			err := json.Unmarshal(data, &f)
			return words(f, names{person: f.PrincipalID}), err
		},
		Page: func(string, []byte) (notify.Page, error) {
			return notify.Page{Path: applicationsPath, Name: page}, nil
		},
		Farewell: toBoth,
	}
}

// ofApproval returns the form of notices about a request for an application.
func ofApproval(words func(names) notify.Words, page func(ApprovalFacts) notify.Page, farewell i18n.Text) notify.Form {
	return notify.Form{
		Words: func(ctx context.Context, tx db.Tx, data []byte) (w notify.Words, err error) {
			var f ApprovalFacts
			if err := json.Unmarshal(data, &f); err != nil {
				return w, err
			}
			n, err := namesOf(ctx, tx, f.PrincipalID)
			if err != nil {
				return w, err
			}
			client, err := grant.ClientByID(ctx, tx, f.Client)
			if errors.Is(err, db.ErrNoRows) {
				err = nil
			}
			n.application = client.Name
			return words(n), err
		},
		Mail: func(data []byte) (notify.Words, error) {
			var f ApprovalFacts
			err := json.Unmarshal(data, &f)
			return words(names{person: f.PrincipalID}), err
		},
		Page: func(_ string, data []byte) (notify.Page, error) {
			var f ApprovalFacts
			err := json.Unmarshal(data, &f)
			return page(f), err
		},
		Farewell: farewell,
	}
}

// names are the names that a notice on a page may contain.
type names struct{ application, organization, person string }

func namesOf(ctx context.Context, tx db.Tx, principal string) (n names, err error) {
	if principal == "" {
		return n, nil
	}
	p, err := access.UserIn(ctx, tx, principal)
	if fault.Is(err, fault.NotFound) { // the id of a service account
		err = nil
	}
	n.person = cmp.Or(p.Name, principal)
	return n, err
}

// app returns the application as the subject of a sentence.
func (n *names) app() i18n.Text {
	if n.application == "" {
		return "An application"
	}
	return i18n.Format("The application “%s”", n.application)
}

// day returns a date in the format of each language.
func day(at clock.Micros) i18n.Text {
	return i18n.InEach(func(l i18n.Language) string {
		if l == i18n.German {
			return at.Time().Format("02.01.2006")
		}
		return at.Time().Format("2 January 2006")
	})
}

func connectedWords(f GrantFacts, n names) notify.Words {
	app, scopes, until := n.app(), scopeText(f.Scopes), day(f.ExpiresAt)
	person := i18n.Format("%s", n.person)
	if n.organization != "" {
		person = i18n.Format("%s in %s", n.person, n.organization)
	}
	w := notify.Words{
		Title: i18n.Format("%s was connected", app),
		Text:  i18n.Format("%s now acts for %s and may: %s.", app, person, scopes),
	}
	if f.Renewed {
		w.Title = i18n.Format("%s stays connected", app)
		w.Text = i18n.Format("The connection of %s was renewed until %s. It permits: %s.", person, until, scopes)
	}
	w.Text = i18n.Join("\n\n", w.Text,
		"If you do not expect this, disconnect the application. Its next call is refused then.")
	return w
}

func endsWords(f GrantFacts, n names) notify.Words {
	app, until := n.app(), day(f.ExpiresAt)
	return notify.Words{
		Title: i18n.Format("%s is connected until %s only", app, until),
		Text:  "Nobody has checked who is behind this application. So its connection ends after 90 days unless you renew it. If you do not need it any more, you need not do anything.",
	}
}

func endedWords(_ GrantFacts, n names) notify.Words {
	app := n.app()
	return notify.Words{
		Title: i18n.Format("%s is not connected any more", app),
		Text:  "The connection was not renewed, and has ended after 90 days. If you still need the application, connect it again, beginning in the application.",
	}
}

func askedWords(n names) notify.Words {
	app := n.app()
	return notify.Words{
		Title: i18n.Format("%s waits for your approval", app),
		Text: i18n.Format("%s wants to connect this application. It is new to your office. See where it comes from, and ask if you do not know it: what the application reads leaves Kartei.",
			n.person),
	}
}

func approvedWords(n names) notify.Words {
	app := n.app()
	return notify.Words{
		Title: i18n.Format("%s is approved", app),
		Text:  "You can connect the application now. If its page is still open, reload it; otherwise start again in the application.",
	}
}

var (
	toBoth        = i18n.Text("This email went to the person for whom the application acts, or to the admins of the organization.")
	toAdmins      = i18n.Text("Kartei sent this message because you administer the organization.")
	toAsker       = i18n.Text("Kartei sent this message because you wanted to connect the application.")
	viewConnected = i18n.Text("View the connected applications")
)

// Forms maps each kind of notice about applications to its form.
var Forms = map[notify.Kind]notify.Form{
	Connected:  ofGrant(connectedWords, viewConnected),
	EndsSoon:   ofGrant(endsWords, "Renew the connection"),
	NotRenewed: ofGrant(endedWords, viewConnected),
	AskedFor: ofApproval(askedWords, func(f ApprovalFacts) notify.Page {
		return notify.Page{
			Path: applicationsPath + "/approvals/" + f.Approval,
			Name: "View and approve",
		}
	}, toAdmins),
	Approved: ofApproval(approvedWords, func(ApprovalFacts) notify.Page {
		return notify.Page{
			Path: applicationsPath,
			Name: "View the approved applications",
		}
	}, toAsker),
	TokenReused: {
		Words: func(ctx context.Context, tx db.Tx, data []byte) (notify.Words, error) {
			var f ReuseFacts
			if err := json.Unmarshal(data, &f); err != nil {
				return notify.Words{}, err
			}
			label, err := access.LabelIn(ctx, tx, f.Grant)
			return reuseWords(label), err
		},
		Mail: func([]byte) (notify.Words, error) { return reuseWords(access.Label{}), nil },
		Page: func(string, []byte) (notify.Page, error) {
			return notify.Page{Path: applicationsPath, Name: viewConnected}, nil
		},
		Farewell: "This email went to the person for whom the application acted, and to the admins of the organization.",
	},
}

func reuseWords(l access.Label) notify.Words {
	app := i18n.Text("A connected application")
	if l.Name != "" {
		app = i18n.Format("The application “%s”", l.Name)
	}
	return notify.Words{
		Title: i18n.Format("%s was disconnected", app),
		Text: i18n.Format("%s showed a token that was used up. Somebody may have stolen it. So the connection was ended; the application can be connected again. Check what was changed lately, and which webhooks are set up.",
			app),
	}
}

// tellReuse sends the TokenReused notice to the principal of a grant and the admins.
func tellReuse(ctx context.Context, c *op.Call, g *grant.Grant) error {
	return tellBoth(ctx, c, g, TokenReused, ReuseFacts{g.ID})
}

// tellConnected sends the Connected notice to the principal of a grant and the admins.
func tellConnected(ctx context.Context, c *op.Call, g *grant.Grant, renewed bool) error {
	return tellBoth(ctx, c, g, Connected, GrantFacts{
		Grant: g.ID, PrincipalID: g.Principal, Scopes: g.Scopes, ExpiresAt: g.ExpiresAt, Renewed: renewed,
	})
}

// tellBoth sends a notice to the principal of a grant and the admins.
func tellBoth(ctx context.Context, c *op.Call, g *grant.Grant, kind notify.Kind, facts any) error {
	center := notify.Service.In(c)
	if center == nil {
		return nil
	}
	live, users, err := access.Audience(ctx, c.Tx, g.Organization, g.Principal)
	if err != nil {
		return err
	}
	return center.Post(ctx, c.Tx, live, users, kind, facts)
}

// tellPerson sends a notice only to the principal of a grant. It sends nothing if the principal is
// disabled.
func tellPerson(ctx context.Context, tx db.Tx, center *notify.Center, g *grant.Grant, kind notify.Kind) error {
	if center == nil {
		return nil
	}
	live, users, err := access.Audience(ctx, tx, g.Organization, g.Principal)
	if err != nil || !slices.Contains(users, g.Principal) {
		return err
	}
	return center.Post(ctx, tx, live, []string{
		g.Principal,
	}, kind, GrantFacts{Grant: g.ID, PrincipalID: g.Principal, ExpiresAt: g.ExpiresAt})
}

// tellAsked sends the AskedFor notice to the admins of an organization. by is the id of the person
// who asked.
func tellAsked(ctx context.Context, c *op.Call, a *grant.Approval, by string) error {
	center := notify.Service.In(c)
	if center == nil {
		return nil
	}
	live, admins, err := access.Audience(ctx, c.Tx, a.Organization, "")
	if err != nil {
		return err
	}
	return center.Post(ctx, c.Tx, live, admins, AskedFor, ApprovalFacts{Approval: a.ID, Client: a.Client, PrincipalID: by})
}

// tellApproved sends the Approved notice to the people who asked for an application, and to the
// person for whom it is approved. The caller gets no notice.
func tellApproved(ctx context.Context, c *op.Call, a *grant.Approval) error {
	center := notify.Service.In(c)
	if center == nil {
		return nil
	}
	waiting := slices.Clone(a.AskedBy)
	if a.Principal != "" && !slices.Contains(waiting, a.Principal) {
		waiting = append(waiting, a.Principal)
	}
	for _, user := range waiting {
		live, users, err := access.Audience(ctx, c.Tx, a.Organization, user)
		if err != nil {
			return err
		}
		if user == c.Actor.PrincipalID() || !slices.Contains(users, user) {
			continue
		}
		if err := center.Post(ctx, c.Tx, live, []string{user}, Approved,
			ApprovalFacts{Approval: a.ID, Client: a.Client}); err != nil {
			return err
		}
	}
	return nil
}
