package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/store/db"
)

// The kinds of notices about limits.
const (
	// QuotaLow says that most of a day or hour quota of a key is used.
	QuotaLow Kind = "quota_low"
	// KeyPaused says that a key has used its day quota of deletes and was paused.
	KeyPaused Kind = "key_paused"
	// SessionQuotaLow says that a person has used most of a day or hour quota in the web
	// application.
	SessionQuotaLow Kind = "session_quota_low"
)

// QuotaFacts are the facts of a notice about a quota.
type QuotaFacts struct {
	Key string `json:"key,omitempty"`
	// PrincipalID is the id of the person who used the quota in the web application.
	PrincipalID string       `json:"principalId,omitempty"`
	KidShort    string       `json:"kidShort,omitempty"`
	Policy      string       `json:"policy"`
	Used        int64        `json:"used"`
	Quota       int64        `json:"quota"`
	At          clock.Micros `json:"at"`
}

// Forms maps the kinds of notices about limits to their forms.
var Forms = map[Kind]Form{
	QuotaLow:  {Words: quotaWords(QuotaLow), Mail: quotaMail(QuotaLow), Page: keyPage, Farewell: farewell},
	KeyPaused: {Words: quotaWords(KeyPaused), Mail: quotaMail(KeyPaused), Page: keyPage, Farewell: farewell},

	SessionQuotaLow: {Words: sessionWords, Mail: sessionMail, Page: sessionPage, Farewell: sessionFarewell},
}

// keyPage returns the page of the key, on which people pause, resume and revoke it. For a grant, it
// returns the page of applications, on which people end the grant.
func keyPage(_ string, data []byte) (Page, error) {
	var f QuotaFacts
	err := json.Unmarshal(data, &f)
	if id.Valid(id.Grant, f.Key) {
		return Page{
			Path: "/settings/interfaces/applications",
			Name: "View the connected applications",
		}, err
	}
	return Page{
		Path: "/settings/interfaces/keys/" + f.Key,
		Name: "View the key",
	}, err
}

// sessionPage returns the page on which people end their own sessions. For other recipients, it
// returns the page on which an admin disables the person.
func sessionPage(recipient string, data []byte) (Page, error) {
	var f QuotaFacts
	err := json.Unmarshal(data, &f)
	if f.PrincipalID == recipient {
		return Page{
			Path: "/settings/security",
			Name: "View your sessions",
		}, err
	}
	return Page{
		Path: "/settings/people/" + f.PrincipalID,
		Name: "View the person",
	}, err
}

// quotaWords returns Form.Words for a kind of notice about a quota.
func quotaWords(kind Kind) func(context.Context, db.Tx, []byte) (Words, error) {
	return func(ctx context.Context, tx db.Tx, data []byte) (Words, error) {
		var f QuotaFacts
		if err := json.Unmarshal(data, &f); err != nil {
			return Words{}, err
		}
		label, err := access.LabelIn(ctx, tx, f.Key)
		return wordsFor(kind, f, label), err
	}
}

// quotaMail returns Form.Mail for a kind of notice about a quota. The email identifies the key like
// the request log.
func quotaMail(kind Kind) func([]byte) (Words, error) {
	return func(data []byte) (Words, error) {
		var f QuotaFacts
		if err := json.Unmarshal(data, &f); err != nil {
			return Words{}, err
		}
		return wordsFor(kind, f, access.Label{
			KidShort: cmp.Or(f.KidShort, f.Key), Application: id.Valid(id.Grant, f.Key),
		}), nil
	}
}

// sessionWords is Form.Words of SessionQuotaLow.
func sessionWords(ctx context.Context, tx db.Tx, data []byte) (Words, error) {
	var f QuotaFacts
	if err := json.Unmarshal(data, &f); err != nil {
		return Words{}, err
	}
	user, err := access.UserIn(ctx, tx, f.PrincipalID)
	return sessionLow(f, cmp.Or(user.Name, f.PrincipalID)), err
}

// sessionMail is Form.Mail of SessionQuotaLow.
func sessionMail(data []byte) (Words, error) {
	var f QuotaFacts
	err := json.Unmarshal(data, &f)
	return sessionLow(f, f.PrincipalID), err
}

// sessionLow returns the text of a notice about the quota of a person.
func sessionLow(f QuotaFacts, person string) Words {
	did, quota := named(sessionUses, f.Policy), named(quotas, strings.TrimPrefix(f.Policy, "session-"))
	percent, when := f.Used*100/max(1, f.Quota), minute(f.At)
	return Words{
		i18n.Format("Web application: %d%% of the %s used", percent, quota),
		i18n.Format("%s has %s in the web application by %s (UTC): %d of %d. Once the quota is used up, the application asks to wait until older ones no longer count. Everything else goes on, programs with API keys too.\n\n"+
			"If you do not expect this, end the sessions of this person and have the password changed.",
			person, did, when, f.Used, f.Quota),
	}
}

// sessionUses maps each policy for sessions to the words for what a person did.
var sessionUses = map[string]i18n.Text{
	"session-deletes-day": "deleted entries within 24 hours",
	"session-outflow":     "read records within an hour",
}

// minute returns a time for people, exact to the minute.
func minute(at clock.Micros) string { return strings.Replace(at.String(), "T", " ", 1)[:16] }

func language(user access.PrincipalInfo) i18n.Language {
	if l := i18n.Language(user.Language); l.Known() {
		return l
	}
	return i18n.German
}

// units maps each policy to the words for what it counts in its period.
var units = map[string]i18n.Text{
	"deletes-day": "deletions that it is allowed in 24 hours",
	"outflow":     "records that it may read in an hour",
}

var quotas = map[string]i18n.Text{
	"deletes-day": "daily quota of deletions",
	"outflow":     "hourly quota of records read",
}

func named(texts map[string]i18n.Text, policy string) i18n.Text {
	if t, known := texts[policy]; known {
		return t
	}
	return i18n.Format("%s", policy)
}

// wordsFor returns the text of a notice about a quota.
func wordsFor(kind Kind, f QuotaFacts, k access.Label) Words {
	if k.Application {
		return wordsForApplication(kind, f, k)
	}
	key := i18n.Text("An API key")
	switch {
	case k.KidShort != "" && k.Name != "":
		key = i18n.Format("The API key %s (“%s”)", k.KidShort, k.Name)
	case k.KidShort != "":
		key = i18n.Format("The API key %s", k.KidShort)
	}
	if of := k.Organization; of != "" { // the name of a sandbox shows that it is a sandbox
		key = i18n.Format("%s of %s", key, of)
	}
	when := minute(f.At)
	quota, unit := named(quotas, f.Policy), named(units, f.Policy)
	percent := f.Used * 100 / max(1, f.Quota)
	if kind == KeyPaused {
		return Words{
			i18n.Format("API key %s was paused: %s used up", k.KidShort, quota),
			i18n.Format("%s used all %d %s, at %s (UTC). It was therefore paused and is refused until further notice.\n\n"+
				"Check whether these deletions were intended. If so, an admin can resume the key. If not, revoke it.",
				key, f.Quota, unit, when),
		}
	}
	return Words{
		i18n.Format("API key %s: %d%% of the %s used", k.KidShort, percent, quota),
		i18n.Format("%s had used %d of the %d %s by %s (UTC). Once the quota is used up, such calls are refused with QUOTA_EXHAUSTED until older calls no longer count. All other calls go on.\n\n"+
			"If you do not expect this, pause the key or revoke it.", key, f.Used, f.Quota, unit, when),
	}
}

// usesOfApplications maps each policy to the words for what an application did.
var usesOfApplications = map[string]i18n.Text{
	"deletes-day": "deletions in 24 hours",
	"outflow":     "records read in an hour",
}

// wordsForApplication does the same as wordsFor for the grant of an application.
func wordsForApplication(kind Kind, f QuotaFacts, k access.Label) Words {
	title := i18n.Text("A connected application")
	if k.Name != "" {
		title = i18n.Format("The application “%s”", k.Name)
	}
	app := title
	if of := k.Organization; of != "" {
		app = i18n.Format("%s, connected to %s,", title, of)
	}
	when, quota, did := minute(f.At), named(quotas, f.Policy), named(usesOfApplications, f.Policy)
	percent := f.Used * 100 / max(1, f.Quota)
	if kind == KeyPaused {
		return Words{
			i18n.Format("%s was paused: %s used up", title, quota),
			i18n.Format("%s used all %d permitted %s at %s (UTC). It was therefore paused and is refused until further notice.\n\n"+
				"Check whether these deletions were intended. If so, connect the application again. If not, disconnect it.",
				app, f.Quota, did, when),
		}
	}
	return Words{
		i18n.Format("%s: %d%% of the %s used", title, percent, quota),
		i18n.Format("%s had used %d of %d %s by %s (UTC). Once the quota is used up, such calls are refused with QUOTA_EXHAUSTED until older calls no longer count. All other calls go on.\n\n"+
			"If you do not expect this, disconnect the application.", app, f.Used, f.Quota, did, when),
	}
}

// These texts surround the texts of the notices in an email.
var (
	greeting        = i18n.Text("Hello,")
	andMore         = i18n.Text("%s (and %d more)")
	further         = i18n.Text("Further notices of this kind since then: %d. All of them are also under Notifications: %s")
	unnamed         = i18n.Text("and %d more that are not listed here")
	sessionFarewell = i18n.Text("Kartei sent this message because it is about your session or because you administer the organization. You get at most one message in each window of a quota.")
	farewell        = i18n.Text("Kartei sent this message because the key is yours or because you administer the organization. You get at most one message in each window of a quota.")
)
