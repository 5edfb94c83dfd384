package people

import (
	"net/http"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/people/principal"
	"kartei/web/shell"
	"kartei/web/ui"
)

// accountForm is the form for a new service account.
type accountForm struct {
	typed shell.Values
	wrong map[string]string
}

// fields returns the fields of the form, except the fields of rights.
func (f *accountForm) fields(v *shell.Request) []ui.Field {
	return []ui.Field{
		{Name: "name", Label: v.Words.Say("Name"), Value: f.typed["name"], Errors: shell.Present(f.wrong["name"]), Autocomplete: "off", Focus: true,
			Hint: v.Words.Say("What the account is for, for example “Accounting”. Records that the program creates name it.")},
		roleField(v, f.typed, f.wrong),
	}
}

// showNewAccount serves the form for a new service account.
func showNewAccount(v *shell.Request) shell.View {
	return drawAccountForm(v, accountForm{typed: rightsTyped(shell.Values{"role": "member"}, nil)}, http.StatusOK)
}

func drawAccountForm(v *shell.Request, f accountForm, status int) shell.View {
	return v.Settings(shell.AccountsPath, v.Words.Say("New service account"), newAccountView(v, f)).WithStatus(status)
}

// createAccount creates a service account and redirects to its page.
func createAccount(v *shell.Request) shell.View {
	f := accountForm{typed: shell.Values{"name": v.Sent.Text("name"), "role": v.Sent.Text("role")}}
	rights := rightsSent(v, f.typed)
	a := shell.Do(v, principal.CreateServiceAccount, principal.New{Name: f.typed["name"], Role: access.Role(f.typed["role"]), Rights: rights}, shell.Once)
	switch {
	case a.Is(fault.ValidationFailed):
		f.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
		return drawAccountForm(v, f, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(accounts.at(a.Value.ID), "account")
}
