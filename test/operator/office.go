package operator

import (
	"context"
	"errors"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
)

// Start is the initial time of an Office's clock.
var Start = time.Date(2026, 11, 1, 9, 30, 0, 0, time.UTC)

// Office is an organization with the API turned on, and an admin.
type Office struct {
	*testing.T
	Dir      *access.Directory
	Operator *Operator
	DB       db.DB
	Clock    *clock.Fake
	Org      access.OrganizationInfo
	Admin    access.PrincipalInfo
}

// NewOffice creates an office in a database.
func NewOffice(t *testing.T, d db.DB) *Office {
	t.Helper()
	c := clock.NewFake(Start)
	o := &Office{T: t, Dir: access.NewDirectory(d, c, access.Options{Failures: 1_000_000}), DB: d, Clock: c}
	o.Operator = New(d, c, o.Dir)
	var err error
	if o.Org, err = o.Operator.CreateOrganization(context.Background(), organization.New{
		Name: "Kanzlei Morgenstern", Module: "on", Secrecy: "declared", Level: access.On,
	}); err != nil {
		t.Fatal(err)
	}
	if o.Admin, err = o.Operator.CreateUser(context.Background(), principal.New{
		Organization: o.Org.ID, Name: "Johanna Morgenstern", Email: "johanna@morgenstern.example", Role: access.Admin,
	}); err != nil {
		t.Fatal(err)
	}
	return o
}

// Wrong returns the wrong fields of a validation error, each as its name and error code. It fails
// the test if err is no validation error, or if a field has no message.
func Wrong(t *testing.T, err error) []string {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != fault.ValidationFailed {
		t.Fatalf("no 422: %v", err)
	}
	var fields []string
	for _, field := range f.Fields {
		fields = append(fields, field.Name+" "+string(field.Code))
		if field.Message(i18n.German) == "" || field.Message(i18n.English) == "" {
			t.Errorf("%s says nothing", field.Name)
		}
	}
	return fields
}
