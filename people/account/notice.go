package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/notify"
	"kartei/store/db"
)

// SignInChanged is the kind of notice about how somebody signs in.
const SignInChanged notify.Kind = "sign_in_changed"

// ChangeFacts are the facts of a notice about how somebody signs in.
type ChangeFacts struct {
	What change       `json:"what"`
	At   clock.Micros `json:"at"`
	// Session is the session of a sign-in.
	Session string `json:"session,omitempty"`
}

// change is a change of how somebody signs in. Notices keep the word, so it stays as it is.
type change string

const (
	newPassword  change = "password"
	totpAdded    change = "totp"
	totpRemoved  change = "totpRemoved"
	codesRenewed change = "recoveryCodes"
	codeUsed     change = "recoveryCode"
	passkeyAdded change = "passkey"
	passkeyGone  change = "passkeyRemoved"
	ssoLinked    change = "sso"
	ssoUnlinked  change = "ssoRemoved"
	factorsGone  change = "factors"
	addressBegun change = "newEmail"
	addressMoved change = "email"
	resetByAdmin change = "resetFactors"
	newDevice    change = "device"
	allEnded     change = "allEnded"
)

// givesNothing reports whether a change makes no new way in.
func (w change) givesNothing() bool { return w == codeUsed || w == newDevice || w == allEnded }

// changes are the words of the changes.
var changes = map[change]notify.Words{
	newPassword: {Title: fault.Text{DE: "Ihr Kennwort wurde geändert", EN: "Your password was changed"}, Text: fault.Text{
		DE: "Das Kennwort Ihres Kontos wurde geändert. Alle anderen Sitzungen sind beendet.",
		EN: "The password of your account was changed. All other sessions have ended.",
	}},
	totpAdded: {Title: factorTitle, Text: fault.Text{
		DE: "In Ihrem Konto wurde eine App für Einmalcodes eingerichtet.", EN: "An app for codes was set up in your account.",
	}},
	totpRemoved: {Title: factorTitle, Text: fault.Text{
		DE: "In Ihrem Konto wurde die App für Einmalcodes entfernt.", EN: "The app for codes was removed from your account.",
	}},
	codesRenewed: {Title: factorTitle, Text: fault.Text{
		DE: "In Ihrem Konto wurden neue Wiederherstellungscodes erzeugt. Die alten gelten nicht mehr.",
		EN: "New recovery codes were made in your account. The old ones are no longer valid.",
	}},
	codeUsed: {Title: fault.Text{DE: "Ein Wiederherstellungscode wurde verwendet", EN: "A recovery code was used"},
		Text: fault.Text{
			DE: "Bei einer Anmeldung in Ihrem Konto wurde ein Wiederherstellungscode verwendet. Er gilt nun nicht mehr.",
			EN: "A recovery code was used to sign in to your account. It is no longer valid.",
		}},
	passkeyAdded: {Title: factorTitle, Text: fault.Text{
		DE: "In Ihrem Konto wurde ein Passkey eingerichtet.", EN: "A passkey was added to your account.",
	}},
	passkeyGone: {Title: factorTitle, Text: fault.Text{
		DE: "In Ihrem Konto wurde ein Passkey entfernt.", EN: "A passkey was removed from your account.",
	}},
	ssoLinked: {Title: factorTitle, Text: fault.Text{
		DE: "Ihr Konto wurde mit Single Sign-on verbunden.", EN: "Your account was linked with single sign-on.",
	}},
	ssoUnlinked: {Title: factorTitle, Text: fault.Text{
		DE: "Ihr Konto ist nicht mehr mit Single Sign-on verbunden.",
		EN: "Your account is no longer linked with single sign-on.",
	}},
	factorsGone: {Title: factorTitle, Text: fault.Text{
		DE: "Die zweiten Faktoren Ihres Kontos wurden entfernt: App für Einmalcodes, Passkeys und Wiederherstellungscodes. Richten Sie bei der nächsten Anmeldung neue ein.",
		EN: "The second factors of your account were removed: the app for codes, passkeys and recovery codes. Set up new ones at the next sign-in.",
	}},
	addressBegun: {Title: addressTitle, Text: fault.Text{
		DE: "Ihr Konto soll eine andere Adresse für die Anmeldung bekommen. Beide Adressen haben einen Link erhalten, der das bestätigt.",
		EN: "Your account is to get another sign-in address. Both addresses got a link that confirms it.",
	}},
	addressMoved: {Title: addressTitle, Text: fault.Text{
		DE: "Die Adresse für die Anmeldung in Ihrem Konto wurde geändert.",
		EN: "The sign-in address of your account was changed.",
	}},
	resetByAdmin: {Title: liftTitle, Text: fault.Text{
		DE: "Die Administration Ihrer Organisation möchte die zweiten Faktoren Ihres Kontos entfernen. Sie haben dazu eine E-Mail mit einem Link, der das bestätigt.",
		EN: "An admin of your organization wants to remove the second factors of your account. You have an email with a link that confirms it.",
	}},
	allEnded: {Title: factorTitle, Text: fault.Text{
		DE: "Passkeys und Verbindungen mit Single Sign-on Ihres Kontos wurden entfernt. Alle anderen Sitzungen sind beendet.",
		EN: "The passkeys of your account and its links with single sign-on were removed. All other sessions have ended.",
	}},
	newDevice: {Title: fault.Text{DE: "Anmeldung mit einem unbekannten Gerät", EN: "Sign-in from an unknown device"},
		Text: fault.Text{
			DE: "In Ihrem Konto hat sich jemand mit einem Browser angemeldet, den das Konto noch nicht kannte.",
			EN: "Somebody signed in to your account with a browser that the account did not know.",
		}},
}

var fromWhere = fault.Text{DE: " Die Anmeldung kam von der Adresse %s.", EN: " The sign-in came from the address %s."}

const selectAddress = `select address from sessions where id = $1`

// wordsOf returns the words of a notice. The address of a sign-in is known as long as its
// session is kept.
func wordsOf(ctx context.Context, tx db.Tx, data []byte) (notify.Words, error) {
	var f ChangeFacts
	w, err := changeWords(data)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil || f.Session == "" {
		return w, err
	}
	var address string
	err = tx.QueryRow(ctx, selectAddress, f.Session).Scan(&address)
	if errors.Is(err, db.ErrNoRows) || err == nil && address == "" {
		return w, nil
	}
	w.Text.DE = strings.Replace(w.Text.DE, "\n\n", fmt.Sprintf(fromWhere.DE, address)+"\n\n", 1)
	w.Text.EN = strings.Replace(w.Text.EN, "\n\n", fmt.Sprintf(fromWhere.EN, address)+"\n\n", 1)
	return w, err
}

var factorTitle = fault.Text{DE: "Ihre Anmeldung wurde geändert", EN: "Your sign-in was changed"}

// Forms holds the forms of notices about accounts. Their emails go to the account, and not by
// a notice: a person may have another address.
var Forms = map[notify.Kind]notify.Form{SignInChanged: {
	Words: wordsOf,
	Mail:  changeWords,
	Page: func(string, []byte) (notify.Page, error) {
		return notify.Page{Path: AccessPath, Name: fault.Text{DE: "Zugänge ansehen", EN: "View all access"}}, nil
	},
	Farewell: notYou, FarewellPath: AccessPath,
}}

func changeWords(data []byte) (w notify.Words, err error) {
	var f ChangeFacts
	if err := json.Unmarshal(data, &f); err != nil {
		return w, err
	}
	w = changes[f.What]
	at := strings.Replace(f.At.String(), "T", " ", 1)[:16]
	w.Text.DE += " Das war am " + at + " (UTC).\n\n" + notYou.DE
	w.Text.EN += " That was at " + at + " (UTC).\n\n" + notYou.EN
	return w, nil
}
