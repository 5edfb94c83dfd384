package office

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/people/account"
	"kartei/web/ui"
)

// A row that gives access or erases asks for a sign-in of the last ten minutes. Then
// the person confirms that it is them: by a passkey, or by the password and a code.
// Afterwards the same form is sent again with the same token, so nothing that was
// typed is lost, and nothing happens twice. Every page has this for free (serve).
// With a script the page is a dialog over the other page, whose form the script sends
// again.

const confirmPath = "/confirm"

// factorsInfo is the answer of factors.get.
type factorsInfo struct {
	Email             string        `json:"email"`
	HasPassword       bool          `json:"hasPassword"`
	PasswordChangedAt string        `json:"passwordChangedAt"`
	TOTP              bool          `json:"totp"`
	TOTPSince         string        `json:"totpSince"`
	RecoveryCodes     int           `json:"recoveryCodes"`
	Passkeys          []passkeyInfo `json:"passkeys"`
	PasskeysPossible  bool          `json:"passkeysPossible"`
	// KnownElsewhere counts the other browsers and networks that the account knows.
	KnownElsewhere int `json:"knownElsewhere"`
	// SSO is the name of the provider, empty without one.
	SSO        string         `json:"sso"`
	Identities []identityInfo `json:"identities"`
}

// identityInfo is who the account is at a provider.
type identityInfo struct {
	ID         string `json:"id"`
	Label      string `json:"label"`
	LinkedAt   string `json:"linkedAt"`
	LastUsedAt string `json:"lastUsedAt"`
	Former     bool   `json:"former"`
}

// linked reports whether the account is linked with the present provider.
func (f *factorsInfo) linked() bool {
	return slices.ContainsFunc(f.Identities, func(i identityInfo) bool { return !i.Former })
}

// passkeyInfo is a passkey in the list of its owner.
type passkeyInfo struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	CreatedAt  string `json:"createdAt"`
	LastUsedAt string `json:"lastUsedAt"`
}

// second reports whether the account has a second factor.
func (f *factorsInfo) second() bool { return f.TOTP || len(f.Passkeys) > 0 }

// confirmForm is the page on which a person confirms that it is them.
type confirmForm struct {
	factors factorsInfo
	// Next is the page to go to, if no form waits.
	Next string
	// Resume is the form that waits, or nil.
	Resume  *again
	Problem string
	Wait    time.Duration
	wrong   map[string]string
}

// confirmFirst answers a request for which the sign-in is not recent enough.
func (v *request) confirmFirst() view {
	v.stale = false
	if v.wantsData() {
		return view{status: http.StatusForbidden, data: map[string]any{"confirm": true}}
	}
	f := confirmForm{Next: v.URL.RequestURI()}
	if v.scripted() {
		v.overPage()
	} else if v.form != nil {
		f.Resume = v.again(v.form.token)
	}
	return v.confirmForm(f, http.StatusForbidden)
}

// showConfirm serves the page.
func showConfirm(v *request) view {
	return v.confirmForm(confirmForm{Next: v.URL.Query().Get("next")}, http.StatusOK)
}

func (v *request) confirmForm(f confirmForm, status int) view {
	factors, err := fetch[factorsInfo](v, account.GetFactors, arguments{})
	if err != nil {
		return v.failed(err)
	}
	f.factors, f.Next = factors, local(f.Next)
	title := v.words.Say("Anmeldung bestätigen", "Confirm your sign-in")
	if v.scripted() {
		return view{status: status, body: cardPage(v.look(), title, confirmView(v, f))}
	}
	return view{status: status, body: appPage(v.frame(title, ""), confirmView(v, f), nil)}
}

// confirm checks the factors, and then sends the form that waits.
func confirm(v *request) view {
	f := confirmForm{Next: v.form.Get("next"), Resume: v.resumed()}
	body := map[string]any{}
	if !v.form.passkey(body) {
		body["password"] = v.form.Get("password")
		v.form.codes(body)
	}
	a := v.send(account.Refresh, arguments{body: body})
	if a.Fault != nil {
		return v.notConfirmed(f, a)
	}
	var fresh struct {
		Token  string       `json:"token"`
		EndsAt clock.Micros `json:"endsAt"`
	}
	if err := decode(a.Body, &fresh); err != nil {
		return v.failed(err)
	}
	v.office.signIn(v.w, fresh.Token, fresh.EndsAt.Time())
	switch {
	case v.over():
		return v.signedInOver(fresh.Token)
	case f.Resume == nil:
		return view{to: local(f.Next)}
	}
	return v.resend(f.Resume, fresh.Token)
}

// notConfirmed says why the factors were refused.
func (v *request) notConfirmed(f confirmForm, a reply) view {
	f.wrong = fieldTexts(a.Fault, v.words.Language)
	if len(f.wrong) == 0 {
		f.Problem, f.Wait = v.reason(a.Fault), a.Fault.Wait()
	}
	v.retryAfter(f.Wait)
	return v.confirmForm(f, a.Status)
}

// resend sends a form that waited, as the browser would: with its own token, and with
// the new cookie.
func (v *request) resend(waiting *again, token string) view {
	target, err := url.Parse(waiting.Action)
	if err != nil || strings.HasPrefix(target.Path, confirmPath) {
		return view{to: "/"}
	}
	fields := url.Values{tokenField: {waiting.Token}}
	for name, list := range waiting.Fields {
		fields[name] = list
	}
	body := fields.Encode()
	next := v.Clone(v.Context())
	next.URL, next.RequestURI = target, waiting.Action
	next.Body, next.ContentLength = io.NopCloser(bytes.NewReader([]byte(body))), int64(len(body))
	next.Form, next.PostForm = nil, nil
	next.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	next.Header.Set("Cookie", v.office.cookie+"="+token)
	return view{next: next}
}

// seconds returns a duration in whole seconds, at least one unless it is zero.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// retryAfter says when to try again, for browsers and programs.
func (v *request) retryAfter(wait time.Duration) {
	if wait > 0 {
		v.w.Header().Set("Retry-After", seconds(wait))
	}
}

// The fields in which a script answers with a passkey.
const (
	ticketField   = "passkey-ticket"
	responseField = "passkey-response"
)

// showPasskeyOptions asks a browser for a passkey: for a sign-in, for an invitation,
// or to confirm.
func showPasskeyOptions(v *request) view {
	body := map[string]any{}
	if token := v.form.Get("token"); token != "" {
		body["invitation"] = tokenOf(token)
	}
	return v.data(v.send(account.AskPasskey, arguments{body: body}))
}

// data answers a script with the answer of a row, or with its problem.
func (v *request) data(a reply) view {
	if a.Fault != nil {
		v.retryAfter(a.Fault.Wait())
		return view{status: a.Status, data: map[string]any{"problem": v.reason(a.Fault)}}
	}
	return view{status: a.Status, data: rawJSON(string(a.Body))}
}

// passkey sets the answer of a browser in the input of a row, and reports whether
// there is one.
func (f *form) passkey(body map[string]any) bool {
	response := f.Get(responseField)
	if response == "" {
		return false
	}
	body["ticket"], body["response"] = f.Get(ticketField), rawJSON(response)
	return true
}

// rawJSON returns a text that is JSON, or null.
func rawJSON(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// codes sets the code of a second factor in the input of a row: of a generator, or a
// recovery code, which is longer.
func (f *form) codes(body map[string]any) {
	code, recovery := strings.Join(strings.Fields(f.Get("code")), ""), f.text("recoveryCode")
	switch {
	case recovery != "":
		body["recoveryCode"] = recovery
	case len(code) > totpDigits:
		body["recoveryCode"] = code
	case code != "":
		body["code"] = code
	}
}

// fields are the fields of the form.
func (f confirmForm) fields(v *request) (password, code ui.Field) {
	password = ui.Field{Name: "password", ID: "f-confirm-password", Type: "password", Label: v.words.Say("Kennwort", "Password"), Autocomplete: "current-password", Required: true, Focus: true, Errors: present(f.wrong["password"])}
	label := v.words.Say("Wiederherstellungscode", "Recovery code")
	if f.factors.TOTP {
		label = v.words.Say("Code aus der App oder ein Wiederherstellungscode", "Code from the app, or a recovery code")
	}
	code = ui.Field{Name: "code", ID: "f-confirm-code", Label: label, Autocomplete: "one-time-code", Required: true, Errors: present(f.wrong["code"], f.wrong["recoveryCode"])}
	return password, code
}
