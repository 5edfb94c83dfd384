package office

import (
	"net/http"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/people/settings"
	"kartei/web/ui"
)

// accountForm is the form of a new service account.
type accountForm struct {
	typed values
	wrong map[string]string
}

// fields are the fields before the fields of rights.
func (f *accountForm) fields(v *request) []ui.Field {
	return []ui.Field{
		{Name: "name", Label: "Name", Value: f.typed["name"], Errors: present(f.wrong["name"]), Autocomplete: "off", Focus: true,
			Hint: v.words.Say("Wofür das Konto da ist, zum Beispiel „Buchhaltung“. Einträge, die das Programm anlegt, nennen diesen Namen.", "What the account is for, for example “Accounting”. Records that the program creates name it.")},
		roleField(v, f.typed, f.wrong),
	}
}

// showNewAccount serves the form.
func showNewAccount(v *request) view {
	return v.accountForm(accountForm{typed: rightsTyped(values{"role": "member"}, nil)}, http.StatusOK)
}

func (v *request) accountForm(f accountForm, status int) view {
	return v.settingsAs(status, accountsPath, v.words.Say("Neues Dienstkonto", "New service account"), newAccountView(v, f))
}

// createAccount creates a service account, and leads to its page.
func createAccount(v *request) view {
	f := accountForm{typed: values{"name": v.form.text("name"), "role": v.form.text("role")}}
	rights := v.rightsSent(f.typed)
	a := do(v, settings.CreateServiceAccount, settings.NewPrincipal{Name: f.typed["name"], Role: access.Role(f.typed["role"]), Rights: rights}, once)
	switch {
	case a.is(fault.ValidationFailed):
		f.wrong = fieldTexts(a.Fault, v.words.Language)
		return v.accountForm(f, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(accounts.at(a.Value.ID), "account")
}
