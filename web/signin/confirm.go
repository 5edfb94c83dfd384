package signin

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/identity"
	"kartei/web/shell"
	"kartei/web/ui"
)

// confirmPath is the page on which a person confirms the sign-in, with a passkey, or with the
// password and a code. Operations that give access or erase data need a sign-in or a confirmation
// of the last ten minutes.
//
// After the confirmation, the refused form is sent again with the same token. No entered value is
// lost, and the form has its effect once. Package shell does this for every page. For a script, the
// page is a dialog, and the script sends the form again.

const confirmPath = "/confirm"

// linked reports whether the account has an identity at the current SSO provider.
func linked(f account.Factors) bool {
	return slices.ContainsFunc(f.Identities, func(i identity.Identity) bool { return !i.Former })
}

// hasSecond reports whether the account has a second factor.
func hasSecond(f account.Factors) bool { return f.TOTP || len(f.Passkeys) > 0 }

// ConfirmForm is the page on which a person confirms the sign-in.
type ConfirmForm struct {
	factors account.Factors
	// Next is the path to which the browser is redirected if no form waits.
	Next string
	// Resume is the form that waits for the confirmation, or nil.
	Resume  *shell.Again
	Problem string
	Wait    time.Duration
	wrong   map[string]string
}

// showConfirm serves the page for the confirmation.
func showConfirm(v *shell.Request) shell.View {
	return DrawConfirmForm(v, ConfirmForm{Next: v.URL.Query().Get("next")}, http.StatusOK)
}

// AskToConfirm serves the page for the confirmation instead of the requested page. waiting is the
// form that is sent afterwards, or nil.
func AskToConfirm(v *shell.Request, next string, waiting *shell.Again) shell.View {
	return DrawConfirmForm(v, ConfirmForm{Next: next, Resume: waiting}, http.StatusForbidden)
}

func DrawConfirmForm(v *shell.Request, f ConfirmForm, status int) shell.View {
	factors, err := shell.Ask(v, account.GetFactors, op.None{})
	if err != nil {
		return v.Failed(err)
	}
	f.factors, f.Next = factors, shell.Local(f.Next)
	title := v.Words.Say("Confirm your sign-in")
	if v.Scripted() {
		return v.Card(title, confirmView(v, f)).WithStatus(status)
	}
	return shell.HTML{Body: shell.AppPage(v.Frame(title, ""), confirmView(v, f), nil)}.WithStatus(status)
}

// confirm checks the password, the code or the passkey. It then sends the form that waits.
func confirm(v *shell.Request) shell.View {
	f := ConfirmForm{Next: v.Sent.Get("next"), Resume: v.Resumed()}
	var in account.Fresh
	var given bool
	if in.Ticket, in.Response, given = passkeyIn(v.Sent); !given {
		in.Password = v.Sent.Get("password")
		in.Code, in.RecoveryCode = codesIn(v.Sent)
	}
	a := shell.Do(v, account.Refresh, in)
	if a.Fault != nil {
		return notConfirmed(v, f, a.Fault)
	}
	fresh := a.Value
	v.Site.SignIn(v.Writer, fresh.Token, fresh.EndsAt.Time())
	switch {
	case over(v):
		return signedInOver(v, fresh.Token)
	case f.Resume == nil:
		return shell.Redirect{To: shell.Local(f.Next)}
	}
	return resend(v, f.Resume, fresh.Token)
}

// notConfirmed serves the page again with the reason of the refusal.
func notConfirmed(v *shell.Request, f ConfirmForm, why *fault.Fault) shell.View {
	f.wrong = shell.FieldTexts(why, v.Words.Language)
	if len(f.wrong) == 0 {
		f.Problem, f.Wait = v.Reason(why), why.Wait()
	}
	v.RetryAfter(f.Wait)
	return DrawConfirmForm(v, f, why.Code.Status())
}

// resend handles the form that waited as a new request with the new session cookie. The form keeps
// its own token.
func resend(v *shell.Request, waiting *shell.Again, token string) shell.View {
	target, err := url.Parse(waiting.Action)
	if err != nil || strings.HasPrefix(target.Path, confirmPath) {
		return shell.Redirect{To: "/"}
	}
	fields := url.Values{shell.TokenField: {waiting.Token}}
	for name, list := range waiting.Fields {
		fields[name] = list
	}
	body := fields.Encode()
	next := v.Clone(v.Context())
	next.URL, next.RequestURI = target, waiting.Action
	next.Body, next.ContentLength = io.NopCloser(bytes.NewReader([]byte(body))), int64(len(body))
	next.Form, next.PostForm = nil, nil
	next.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	next.Header.Set("Cookie", v.Site.Cookie+"="+token)
	return shell.Forward{To: next}
}

// showPasskeyOptions serves the WebAuthn options for a sign-in, an invitation or a confirmation.
func showPasskeyOptions(v *shell.Request) shell.View {
	return data(v, shell.Do(v, account.AskPasskey, account.PasskeyFor{Invitation: tokenOf(v.Sent.Get("token"))}))
}

// data returns the result of an operation as JSON, or its error message.
func data[Out any](v *shell.Request, a shell.Answer[Out]) shell.View {
	if a.Fault != nil {
		v.RetryAfter(a.Fault.Wait())
		return shell.JSON{Status: a.Status, Value: map[string]any{"problem": v.Reason(a.Fault)}}
	}
	return shell.JSON{Status: a.Status, Value: a.Value}
}

// passkeyIn returns the WebAuthn response in a form, and the ticket of its challenge. given reports
// whether there is one.
func passkeyIn(f *shell.Form) (ticket string, response json.RawMessage, given bool) {
	text := f.Get(shell.ResponseField)
	if text == "" {
		return "", nil, false
	}
	return f.Get(shell.TicketField), rawJSON(text), true
}

// rawJSON returns text if it is valid JSON, and null otherwise.
func rawJSON(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// codesIn returns the TOTP code or the recovery code in a form. At most one of them is not empty. A
// code in the field code that is longer than a TOTP code is a recovery code.
func codesIn(f *shell.Form) (code, recovery string) {
	code, recovery = strings.Join(strings.Fields(f.Get("code")), ""), f.Text("recoveryCode")
	switch {
	case recovery != "":
		return "", recovery
	case len(code) > totpDigits:
		return "", code
	}
	return code, ""
}

// fields returns the fields for the password and the code.
func (f ConfirmForm) fields(v *shell.Request) (password, code ui.Field) {
	password = ui.Field{Name: "password", ID: "f-confirm-password", Type: "password", Label: v.Words.Say("Password"), Autocomplete: "current-password", Required: true, Focus: true, Errors: shell.Present(f.wrong["password"])}
	label := v.Words.Say("Recovery code")
	if f.factors.TOTP {
		label = v.Words.Say("Code from the app, or a recovery code")
	}
	code = ui.Field{Name: "code", ID: "f-confirm-code", Label: label, Autocomplete: "one-time-code", Required: true, Errors: shell.Present(f.wrong["code"], f.wrong["recoveryCode"])}
	return password, code
}
