package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
)

// The kinds of notice about limits.
const (
	// QuotaLow says that most of a key's day or hour quota is used.
	QuotaLow Kind = "quota_low"
	// KeyPaused says that a key used its day quota of deletes and was paused.
	KeyPaused Kind = "key_paused"
	// SessionQuotaLow says that a person has used most of a day or hour quota in the
	// web application.
	SessionQuotaLow Kind = "session_quota_low"
)

// QuotaFacts are the facts of a notice about a quota.
type QuotaFacts struct {
	Key string `json:"key,omitempty"`
	// PrincipalID is the person who used the quota in the web application.
	PrincipalID string       `json:"principalId,omitempty"`
	KidShort    string       `json:"kidShort,omitempty"`
	Policy      string       `json:"policy"`
	Used        int64        `json:"used"`
	Quota       int64        `json:"quota"`
	At          clock.Micros `json:"at"`
}

// Forms holds the forms of notices about limits.
var Forms = map[Kind]Form{
	QuotaLow:  {Words: quotaWords(QuotaLow), Mail: quotaMail(QuotaLow), Page: keyPage, Farewell: farewell},
	KeyPaused: {Words: quotaWords(KeyPaused), Mail: quotaMail(KeyPaused), Page: keyPage, Farewell: farewell},

	SessionQuotaLow: {Words: sessionWords, Mail: sessionMail, Page: sessionPage, Farewell: sessionFarewell},
}

// keyPage returns the page of the key, where it is paused, resumed and revoked. For a
// grant it returns the page of the applications, where the grant is ended.
func keyPage(_ string, data []byte) (Page, error) {
	var f QuotaFacts
	err := json.Unmarshal(data, &f)
	if id.Valid(id.Grant, f.Key) {
		return Page{
			Path: "/settings/interfaces/applications",
			Name: fault.Text{DE: "Verbundene Anwendungen ansehen", EN: "View the connected applications"},
		}, err
	}
	return Page{
		Path: "/settings/interfaces/keys/" + f.Key,
		Name: fault.Text{DE: "Schlüssel ansehen", EN: "View the key"},
	}, err
}

// sessionPage is the page on which people end their own sessions, or on which an admin
// disables a person.
func sessionPage(recipient string, data []byte) (Page, error) {
	var f QuotaFacts
	err := json.Unmarshal(data, &f)
	if f.PrincipalID == recipient {
		return Page{
			Path: "/settings/security",
			Name: fault.Text{DE: "Eigene Sitzungen ansehen", EN: "View your sessions"},
		}, err
	}
	return Page{
		Path: "/settings/people/" + f.PrincipalID,
		Name: fault.Text{DE: "Person ansehen", EN: "View the person"},
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

// quotaMail returns Form.Mail for a kind of notice about a quota. It names the
// key like the request log.
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

// sessionWords is Form.Words for SessionQuotaLow.
func sessionWords(ctx context.Context, tx db.Tx, data []byte) (Words, error) {
	var f QuotaFacts
	if err := json.Unmarshal(data, &f); err != nil {
		return Words{}, err
	}
	user, err := access.UserIn(ctx, tx, f.PrincipalID)
	return sessionLow(f, cmp.Or(user.Name, f.PrincipalID)), err
}

// sessionMail is Form.Mail for SessionQuotaLow.
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
		fault.Text{
			DE: fmt.Sprintf("Webanwendung: %s zu %d %% verbraucht", quota.DE, percent),
			EN: fmt.Sprintf("Web application: %d%% of the %s used", percent, quota.EN),
		},
		fault.Text{
			DE: fmt.Sprintf("%s hat in der Webanwendung bis %s (UTC) %s: %d von %d. Ist das Kontingent aufgebraucht, bittet die Anwendung zu warten, bis ältere nicht mehr mitzählen. Alles andere funktioniert weiter, auch Programme mit API-Schlüsseln.\n\n"+
				"Falls Sie das nicht erwarten, beenden Sie die Anmeldungen dieser Person, und lassen Sie ihr Kennwort ändern.",
				person, when, did.DE, f.Used, f.Quota),
			EN: fmt.Sprintf("%s has %s in the web application by %s (UTC): %d of %d. Once the quota is used up, the application asks to wait until older ones no longer count. Everything else goes on, programs with API keys too.\n\n"+
				"If you do not expect this, end the sessions of this person and have the password changed.", person, did.EN,
				when, f.Used, f.Quota),
		},
	}
}

// sessionUses are the acts of a person.
var sessionUses = map[string]fault.Text{
	"session-deletes-day": {DE: "innerhalb von 24 Stunden Einträge gelöscht", EN: "deleted entries within 24 hours"},
	"session-outflow":     {DE: "innerhalb einer Stunde Datensätze abgerufen", EN: "read records within an hour"},
}

// minute formats a time for people, to the minute.
func minute(at clock.Micros) string { return strings.Replace(at.String(), "T", " ", 1)[:16] }

func language(user access.PrincipalInfo) fault.Language {
	if user.Language == access.English {
		return fault.English
	}
	return fault.German
}

// units are what a policy counts, and its period.
var units = map[string]fault.Text{
	"deletes-day": {
		DE: "Löschungen, die ihm innerhalb von 24 Stunden zustehen",
		EN: "deletions that it is allowed in 24 hours",
	},
	"outflow": {DE: "Datensätzen, die er innerhalb einer Stunde abrufen darf", EN: "records that it may read in an hour"},
}

var quotas = map[string]fault.Text{
	"deletes-day": {DE: "Tageskontingent für Löschungen", EN: "daily quota of deletions"},
	"outflow":     {DE: "Stundenkontingent für abgerufene Datensätze", EN: "hourly quota of records read"},
}

func named(texts map[string]fault.Text, policy string) fault.Text {
	if t, known := texts[policy]; known {
		return t
	}
	return fault.Text{DE: policy, EN: policy}
}

// wordsFor returns the text of a notice about a quota.
func wordsFor(kind Kind, f QuotaFacts, k access.Label) Words {
	if k.Application {
		return wordsForApplication(kind, f, k)
	}
	keyDE, keyEN := "Ein API-Schlüssel", "An API key"
	if k.KidShort != "" {
		keyDE, keyEN = "Der API-Schlüssel "+k.KidShort, "The API key "+k.KidShort
		if k.Name != "" {
			keyDE, keyEN = keyDE+" („"+k.Name+"“)", keyEN+" (“"+k.Name+"”)"
		}
	}
	if of := k.Organization; of != "" { // the name of a sandbox shows that it is one
		keyDE, keyEN = keyDE+" von "+of, keyEN+" of "+of
	}
	when := minute(f.At)
	quota, unit := named(quotas, f.Policy), named(units, f.Policy)
	percent := f.Used * 100 / max(1, f.Quota)
	if kind == KeyPaused {
		return Words{
			fault.Text{
				DE: "API-Schlüssel " + k.KidShort + " wurde angehalten: " + quota.DE + " aufgebraucht",
				EN: "API key " + k.KidShort + " was paused: " + quota.EN + " used up",
			},
			fault.Text{
				DE: fmt.Sprintf("%s hat am %s (UTC) alle %d %s, verbraucht. Er wurde deshalb angehalten und wird bis auf Weiteres abgewiesen.\n\n"+
					"Prüfen Sie, ob diese Löschungen gewollt waren. Wenn ja, kann eine Administratorin oder ein Administrator den Schlüssel wieder freigeben. Wenn nein, widerrufen Sie ihn.", keyDE, when, f.Quota, unit.DE),
				EN: fmt.Sprintf("%s used all %d %s, at %s (UTC). It was therefore paused and is refused until further notice.\n\n"+
					"Check whether these deletions were intended. If so, an admin can resume the key. If not, revoke it.", keyEN,
					f.Quota, unit.EN, when),
			},
		}
	}
	return Words{
		fault.Text{
			DE: fmt.Sprintf("API-Schlüssel %s: %s zu %d %% verbraucht", k.KidShort, quota.DE, percent),
			EN: fmt.Sprintf("API key %s: %d%% of the %s used", k.KidShort, percent, quota.EN),
		},
		fault.Text{
			DE: fmt.Sprintf("%s hat bis %s (UTC) %d von %d %s, verbraucht. Ist das Kontingent aufgebraucht, werden solche Aufrufe mit QUOTA_EXHAUSTED abgewiesen, bis ältere Aufrufe nicht mehr mitzählen. Alle anderen Aufrufe funktionieren weiter.\n\n"+
				"Falls Sie das nicht erwarten, halten Sie den Schlüssel an, oder widerrufen Sie ihn.", keyDE, when, f.Used,
				f.Quota, unit.DE),
			EN: fmt.Sprintf("%s had used %d of the %d %s by %s (UTC). Once the quota is used up, such calls are refused with QUOTA_EXHAUSTED until older calls no longer count. All other calls go on.\n\n"+
				"If you do not expect this, pause the key or revoke it.", keyEN, f.Used, f.Quota, unit.EN, when),
		},
	}
}

// usesOfApplications are the acts of an application.
var usesOfApplications = map[string]fault.Text{
	"deletes-day": {DE: "Löschungen innerhalb von 24 Stunden", EN: "deletions in 24 hours"},
	"outflow":     {DE: "abgerufenen Datensätzen innerhalb einer Stunde", EN: "records read in an hour"},
}

// wordsForApplication is wordsFor for the grant of an application.
func wordsForApplication(kind Kind, f QuotaFacts, k access.Label) Words {
	appDE, appEN := "Eine verbundene Anwendung", "A connected application"
	if k.Name != "" {
		appDE, appEN = "Die Anwendung „"+k.Name+"“", "The application “"+k.Name+"”"
	}
	titleDE, titleEN := appDE, appEN
	if of := k.Organization; of != "" {
		appDE, appEN = appDE+", verbunden mit "+of+",", appEN+", connected to "+of+","
	}
	when, quota, did := minute(f.At), named(quotas, f.Policy), named(usesOfApplications, f.Policy)
	percent := f.Used * 100 / max(1, f.Quota)
	if kind == KeyPaused {
		return Words{
			fault.Text{
				DE: titleDE + " wurde angehalten: " + quota.DE + " aufgebraucht",
				EN: titleEN + " was paused: " + quota.EN + " used up",
			},
			fault.Text{
				DE: fmt.Sprintf("%s hat am %s (UTC) alle %d erlaubten %s verbraucht. Sie wurde deshalb angehalten und wird bis auf Weiteres abgewiesen.\n\n"+
					"Prüfen Sie, ob diese Löschungen gewollt waren. Wenn ja, verbinden Sie die Anwendung neu. Wenn nein, trennen Sie sie.", appDE, when, f.Quota, did.DE),
				EN: fmt.Sprintf("%s used all %d permitted %s at %s (UTC). It was therefore paused and is refused until further notice.\n\n"+
					"Check whether these deletions were intended. If so, connect the application again. If not, disconnect it.",
					appEN, f.Quota, did.EN, when),
			},
		}
	}
	return Words{
		fault.Text{
			DE: fmt.Sprintf("%s: %s zu %d %% verbraucht", titleDE, quota.DE, percent),
			EN: fmt.Sprintf("%s: %d%% of the %s used", titleEN, percent, quota.EN),
		},
		fault.Text{
			DE: fmt.Sprintf("%s hat bis %s (UTC) %d von %d %s verbraucht. Ist das Kontingent aufgebraucht, werden solche Aufrufe mit QUOTA_EXHAUSTED abgewiesen, bis ältere Aufrufe nicht mehr mitzählen. Alle anderen Aufrufe funktionieren weiter.\n\n"+
				"Falls Sie das nicht erwarten, trennen Sie die Anwendung.", appDE, when, f.Used, f.Quota, did.DE),
			EN: fmt.Sprintf("%s had used %d of %d %s by %s (UTC). Once the quota is used up, such calls are refused with QUOTA_EXHAUSTED until older calls no longer count. All other calls go on.\n\n"+
				"If you do not expect this, disconnect the application.", appEN, f.Used, f.Quota, did.EN, when),
		},
	}
}

// greeting and farewell enclose the text of an email.
var (
	greeting = fault.Text{DE: "Guten Tag,", EN: "Hello,"}
	andMore  = fault.Text{DE: " (und %d weitere)", EN: " (and %d more)"}
	further  = fault.Text{
		DE: "Weitere Mitteilungen dieser Art seitdem: %d. Alle stehen auch unter „Mitteilungen“: %s",
		EN: "Further notices of this kind since then: %d. All of them are also under Notifications: %s",
	}
	unnamed = fault.Text{
		DE: "und %d weitere, die hier nicht einzeln aufgeführt sind",
		EN: "and %d more that are not listed here",
	}
	sessionFarewell = fault.Text{
		DE: "Sie erhalten diese Nachricht von Kartei, weil es um Ihre Anmeldung geht oder weil Sie die Organisation verwalten. Zum selben Kontingent erhalten Sie höchstens eine Nachricht je Zeitfenster.",
		EN: "Kartei sent this message because it is about your session or because you administer the organization. You get at most one message in each window of a quota.",
	}
	farewell = fault.Text{
		DE: "Sie erhalten diese Nachricht von Kartei, weil Ihnen der Schlüssel gehört oder weil Sie die Organisation verwalten. Zum selben Kontingent erhalten Sie höchstens eine Nachricht je Zeitfenster.",
		EN: "Kartei sent this message because the key is yours or because you administer the organization. You get at most one message in each window of a quota.",
	}
)
