package account

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/people/notify"
	"kartei/store/db"
)

// SignInChanged is the kind of notice about a change of the sign-in.
const SignInChanged notify.Kind = "sign_in_changed"

// ChangeFacts is the data of a notice about a change of the sign-in.
type ChangeFacts struct {
	What change       `json:"what"`
	At   clock.Micros `json:"at"`
	// Session is the id of the new session, if the change is a sign-in.
	Session string `json:"session,omitempty"`
}

// change is a kind of change of the sign-in. Stored notices contain its values, so they must not
// change.
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

// givesNothing reports whether the change adds no way to sign in.
func (w change) givesNothing() bool { return w == codeUsed || w == newDevice || w == allEnded }

// changes maps each change to the title and text of its notice.
var changes = map[change]notify.Words{
	newPassword: {Title: "Your password was changed",
		Text: "The password of your account was changed. All other sessions have ended."},
	totpAdded:   {Title: factorTitle, Text: "An app for codes was set up in your account."},
	totpRemoved: {Title: factorTitle, Text: "The app for codes was removed from your account."},
	codesRenewed: {Title: factorTitle,
		Text: "New recovery codes were made in your account. The old ones are no longer valid."},
	codeUsed: {Title: "A recovery code was used",
		Text: "A recovery code was used to sign in to your account. It is no longer valid."},
	passkeyAdded: {Title: factorTitle, Text: "A passkey was added to your account."},
	passkeyGone:  {Title: factorTitle, Text: "A passkey was removed from your account."},
	ssoLinked:    {Title: factorTitle, Text: "Your account was linked with single sign-on."},
	ssoUnlinked:  {Title: factorTitle, Text: "Your account is no longer linked with single sign-on."},
	factorsGone: {Title: factorTitle,
		Text: "The second factors of your account were removed: the app for codes, passkeys and recovery codes. Set up new ones at the next sign-in."},
	addressBegun: {Title: addressTitle,
		Text: "Your account is to get another sign-in address. Both addresses got a link that confirms it."},
	addressMoved: {Title: addressTitle, Text: "The sign-in address of your account was changed."},
	resetByAdmin: {Title: liftTitle,
		Text: "An admin of your organization wants to remove the second factors of your account. You have an email with a link that confirms it."},
	allEnded: {Title: factorTitle,
		Text: "The passkeys of your account and its links with single sign-on were removed. All other sessions have ended."},
	newDevice: {Title: "Sign-in from an unknown device",
		Text: "Somebody signed in to your account with a browser that the account did not know."},
}

var fromWhere = i18n.Text("The sign-in came from the address %s.")

const selectAddress = `select address from sessions where id = $1`

// wordsOf returns the title and text of a notice. The address of a sign-in is omitted once its
// session was deleted.
func wordsOf(ctx context.Context, tx db.Tx, data []byte) (notify.Words, error) {
	var f ChangeFacts
	if err := json.Unmarshal(data, &f); err != nil || f.Session == "" {
		return f.words(""), err
	}
	var address string
	err := tx.QueryRow(ctx, selectAddress, f.Session).Scan(&address)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return f.words(address), err
}

var factorTitle = i18n.Text("Your sign-in was changed")

// Forms are the notify.Forms of notices about accounts. Their emails are sent to the address of the
// account (mailOf), and not with the notice: a person can have another address.
var Forms = map[notify.Kind]notify.Form{SignInChanged: {
	Words: wordsOf,
	Mail:  changeWords,
	Page: func(string, []byte) (notify.Page, error) {
		return notify.Page{Path: AccessPath, Name: "View all access [email]"}, nil
	},
	Farewell: notYou, FarewellPath: AccessPath,
}}

func changeWords(data []byte) (w notify.Words, err error) {
	var f ChangeFacts
	if err := json.Unmarshal(data, &f); err != nil {
		return w, err
	}
	return f.words(""), nil
}

// words returns the title and text of a notice. The text includes the address of the sign-in unless
// address is empty.
func (f *ChangeFacts) words(address string) notify.Words {
	w := changes[f.What]
	at := strings.Replace(f.At.String(), "T", " ", 1)[:16]
	said := []i18n.Text{w.Text, i18n.Format("That was at %s (UTC).", at)}
	if address != "" {
		said = append(said, i18n.Format(fromWhere, address))
	}
	w.Text = i18n.Join("\n\n", i18n.Join(" ", said...), notYou)
	return w
}
