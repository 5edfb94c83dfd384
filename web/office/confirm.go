package office

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
	"kartei/web/ui"
)

// An operation that gives access or erases asks for a sign-in of the last ten minutes. Then
// the person confirms that it is them: by a passkey, or by the password and a code.
// Afterwards the same form is sent again with the same token, so nothing that was
// typed is lost, and nothing happens twice. Every page has this for free (serve).
// With a script the page is a dialog over the other page, whose form the script sends
// again.

// linked reports whether an account is linked with the present provider.
func linked(f account.Factors) bool {
	return slices.ContainsFunc(f.Identities, func(i account.Identity) bool { return !i.Former })
}

// hasSecond reports whether an account has a second factor.
func hasSecond(f account.Factors) bool { return f.TOTP || len(f.Passkeys) > 0 }

// confirmForm is the page on which a person confirms that it is them.
type confirmForm struct {
	factors account.Factors
	// Next is the page to go to, if no form waits.
	Next string
	// Resume is the form that waits, or nil.
	Resume  *again
	Problem string
	Wait    time.Duration
	wrong   map[string]string
}

// showConfirm serves the page.
func showConfirm(v *request) view {
	return v.confirmForm(confirmForm{Next: v.URL.Query().Get("next")}, http.StatusOK)
}

// askToConfirm draws the page in the place of another one. waiting is the form that is sent
// afterwards, or nil.
func askToConfirm(v *request, next string, waiting *again) view {
	return v.confirmForm(confirmForm{Next: next, Resume: waiting}, http.StatusForbidden)
}

func (v *request) confirmForm(f confirmForm, status int) view {
	factors, err := ask(v, account.GetFactors, op.None{})
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
	var in account.Fresh
	var given bool
	if in.Ticket, in.Response, given = v.form.passkey(); !given {
		in.Password = v.form.Get("password")
		in.Code, in.RecoveryCode = v.form.codes()
	}
	a := do(v, account.Refresh, in)
	if a.Fault != nil {
		return v.notConfirmed(f, a.Fault)
	}
	fresh := a.Value
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
func (v *request) notConfirmed(f confirmForm, why *fault.Fault) view {
	f.wrong = fieldTexts(why, v.words.Language)
	if len(f.wrong) == 0 {
		f.Problem, f.Wait = v.reason(why), why.Wait()
	}
	v.retryAfter(f.Wait)
	return v.confirmForm(f, why.Code.Status())
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

// showPasskeyOptions asks a browser for a passkey: for a sign-in, for an invitation,
// or to confirm.
func showPasskeyOptions(v *request) view {
	return data(v, do(v, account.AskPasskey, account.PasskeyFor{Invitation: tokenOf(v.form.Get("token"))}))
}

// data answers a script with the answer of an operation, or with its problem.
func data[Out any](v *request, a answer[Out]) view {
	if a.Fault != nil {
		v.retryAfter(a.Fault.Wait())
		return view{status: a.Status, data: map[string]any{"problem": v.reason(a.Fault)}}
	}
	return view{status: a.Status, data: a.Value}
}

// passkey returns the answer of a browser that was asked for a passkey, with the ticket of
// the question, and reports whether there is one.
func (f *form) passkey() (ticket string, response json.RawMessage, given bool) {
	text := f.Get(responseField)
	if text == "" {
		return "", nil, false
	}
	return f.Get(ticketField), rawJSON(text), true
}

// rawJSON returns a text that is JSON, or null.
func rawJSON(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// codes returns the code of a second factor: of a generator, or a recovery code, which is
// longer. The other one is empty.
func (f *form) codes() (code, recovery string) {
	code, recovery = strings.Join(strings.Fields(f.Get("code")), ""), f.text("recoveryCode")
	switch {
	case recovery != "":
		return "", recovery
	case len(code) > totpDigits:
		return "", code
	}
	return code, ""
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
