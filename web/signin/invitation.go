package signin

import (
	"net/http"
	"time"

	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/web/shell"
)

// invitationForm is the page on which a person accepts an invitation.
type invitationForm struct {
	Token, Name string
	Problem     string
	Wait        time.Duration
	Wrong       map[string]string
}

// showInvitation serves the page of an invitation. The token is in the fragment of the URL, which
// browsers do not send. A script moves it into the form. Without a script, the person pastes the
// link.
func showInvitation(v *shell.Request) shell.View {
	return drawInvitation(v, invitationForm{}, http.StatusOK)
}

func drawInvitation(v *shell.Request, f invitationForm, status int) shell.View {
	return v.Card(v.Words.Say("Invitation"), invitationView(v, f)).WithStatus(status)
}

// acceptInvitation accepts an invitation with the person's name and password or passkey. It then
// signs the person in.
func acceptInvitation(v *shell.Request) shell.View {
	f := invitationForm{Token: tokenOf(v.Sent.Text("token")), Name: v.Sent.Text("name")}
	if v.Site.Unprotected(v.Request) {
		return drawSignIn(v, signInForm{}, http.StatusForbidden)
	}
	in := account.Acceptance{Token: f.Token, Name: f.Name}
	var given bool
	if in.Ticket, in.Response, given = passkeyIn(v.Sent); !given {
		in.Password = v.Sent.Get("password")
	}
	a := shell.Do(v, account.Accept, in)
	if a.Fault != nil {
		return notAccepted(v, f, a.Fault)
	}
	return signedIn(v, a.Value.SignedIn, signInForm{Next: "/"})
}

// notAccepted serves the page again with the reason of the refusal.
func notAccepted(v *shell.Request, f invitationForm, why *fault.Fault) shell.View {
	if why.Code == fault.ValidationFailed {
		f.Wrong = shell.FieldTexts(why, v.Words.Language)
		return drawInvitation(v, f, why.Code.Status())
	}
	f.Problem, f.Wait = v.Reason(why), why.Wait()
	v.RetryAfter(f.Wait)
	return drawInvitation(v, f, why.Code.Status())
}

// tokenOf returns the token in a text, which is the token itself or a link that ends with it.
func tokenOf(text string) string {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '#' {
			return text[i+1:]
		}
	}
	return text
}
