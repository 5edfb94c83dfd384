package office

import (
	"net/http"
	"time"

	"kartei/kit/fault"
	"kartei/people/account"
)

// invitationForm is the page that accepts an invitation.
type invitationForm struct {
	Token, Name string
	Problem     string
	Wait        time.Duration
	Wrong       map[string]string
}

// showInvitation serves the page of an invitation. The token is the fragment of the
// address, which browsers do not send. A script moves it into the form; without one
// the person pastes the link.
func showInvitation(v *request) view { return v.invitation(invitationForm{}, http.StatusOK) }

func (v *request) invitation(f invitationForm, status int) view {
	return view{status: status, body: cardPage(v.look(), v.words.Say("Einladung", "Invitation"), invitationView(v, f))}
}

// acceptInvitation takes the name and the password of a person who was invited, and
// signs the person in.
func acceptInvitation(v *request) view {
	f := invitationForm{Token: tokenOf(v.form.text("token")), Name: v.form.text("name")}
	if v.office.unprotected(v.Request) {
		return v.signInForm(signInForm{}, http.StatusForbidden)
	}
	in := account.Acceptance{Token: f.Token, Name: f.Name}
	var given bool
	if in.Ticket, in.Response, given = v.form.passkey(); !given {
		in.Password = v.form.Get("password")
	}
	a := do(v, account.Accept, in)
	if a.Fault != nil {
		return v.notAccepted(f, a.Fault)
	}
	return v.signedIn(a.Value.SignedIn, signInForm{Next: "/"})
}

// notAccepted says why an invitation was not accepted.
func (v *request) notAccepted(f invitationForm, why *fault.Fault) view {
	if why.Code == fault.ValidationFailed {
		f.Wrong = fieldTexts(why, v.words.Language)
		return v.invitation(f, why.Code.Status())
	}
	f.Problem, f.Wait = v.reason(why), why.Wait()
	v.retryAfter(f.Wait)
	return v.invitation(f, why.Code.Status())
}

// tokenOf returns the token of a text that is one, or a link with one.
func tokenOf(text string) string {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '#' {
			return text[i+1:]
		}
	}
	return text
}
