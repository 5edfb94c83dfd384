package transfer

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kartei/cmd/kartei/command"
	"kartei/door/admin/socket"
	"kartei/kit/fault"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// TestImportMapping checks that the columns of a check come from the flags, else from the profile,
// else from the guessed targets.
func TestImportMapping(t *testing.T) {
	x := imports.Import{Columns: []mapping.Column{
		{Heading: "Name", Target: "name"},
		{Heading: "Tel", Target: "phone"},
		{Heading: "Firma", Target: "company"},
		{Heading: "X"},
	}}
	name := filepath.Join(t.TempDir(), "profile.json")
	first := importCheckCmd{
		Columns:    map[string]string{"Name": "lastName", "4": "note"},
		Duplicates: mapping.Fill,
		Tags:       []string{"Umzug"},
	}
	in, err := first.mapping(&x)
	if err != nil || strings.Join(in.Targets, " ") != "lastName phone company note" || in.Duplicates != mapping.Fill {
		t.Fatalf("%+v %v", in, err)
	}
	if err := saveProfile(name, &x, in); err != nil {
		t.Fatal(err)
	}
	second := importCheckCmd{Profile: name, Columns: map[string]string{"Firma": ""}, Duplicates: mapping.Skip}
	in, err = second.mapping(&x)
	if err != nil || strings.Join(in.Targets, " ") != "lastName phone  note" || in.Duplicates != mapping.Skip ||
		len(in.Tags) != 1 {
		t.Errorf("%+v %v", in, err)
	}
	if _, err := (&importCheckCmd{Columns: map[string]string{"Fax": "phone"}}).mapping(&x); err == nil {
		t.Error("a column that there is not")
	}
}

// TestImportSameHeading checks that columns with the same heading are selected by their numbers,
// also in profiles.
func TestImportSameHeading(t *testing.T) {
	x := imports.Import{Columns: []mapping.Column{
		{Heading: "Telefon", Target: "phone"},
		{Heading: "Telefon"},
		{Heading: "Ort", Target: "address.city"},
	}}
	if _, err := (&importCheckCmd{Columns: map[string]string{"Telefon": "mobile"}}).mapping(&x); err == nil ||
		!strings.Contains(err.Error(), "several columns") {
		t.Errorf("%v", err)
	}
	in, err := (&importCheckCmd{Columns: map[string]string{"2": "mobile"}}).mapping(&x)
	if err != nil || strings.Join(in.Targets, " ") != "phone mobile address.city" {
		t.Fatalf("%+v %v", in, err)
	}
	name := filepath.Join(t.TempDir(), "profile.json")
	if err := saveProfile(name, &x, in); err != nil {
		t.Fatal(err)
	}
	in, err = (&importCheckCmd{Profile: name}).mapping(&x)
	if err != nil || strings.Join(in.Targets, " ") != "phone mobile address.city" {
		t.Errorf("%+v %v", in, err)
	}
}

// TestImportChoices checks the options companies and monthFirst. They are guessed, unless the
// profile or a flag sets them.
func TestImportChoices(t *testing.T) {
	yes, no := true, false
	for _, guessed := range []bool{false, true} {
		x := imports.Import{}
		x.Options.MonthFirst, x.Options.Companies = guessed, guessed
		name := filepath.Join(t.TempDir(), "profile.json")
		for _, c := range []struct {
			flags importCheckCmd
			want  bool
		}{
			{importCheckCmd{}, guessed},
			{importCheckCmd{MonthFirst: &yes, Companies: &yes, SaveProfile: name}, true},
			{importCheckCmd{MonthFirst: &no, Companies: &no}, false},
			{importCheckCmd{Profile: name}, true},
			{importCheckCmd{Profile: name, MonthFirst: &no, Companies: &no}, false},
		} {
			in, err := c.flags.mapping(&x)
			if err != nil || in.MonthFirst != c.want || in.Companies != c.want {
				t.Errorf("guessed %v, %+v: month first %v, companies %v, %v", guessed, c.flags, in.MonthFirst, in.Companies, err)
			}
			if c.flags.SaveProfile != "" {
				if err := saveProfile(name, &x, in); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestImportMonthFirst checks that a flag overrides the order of dates in a profile.
func TestImportMonthFirst(t *testing.T) {
	x, yes, no := imports.Import{}, true, false
	name := filepath.Join(t.TempDir(), "profile.json")
	in, err := (&importCheckCmd{MonthFirst: &yes}).mapping(&x)
	if err != nil || !in.MonthFirst {
		t.Fatalf("%+v %v", in, err)
	}
	if err := saveProfile(name, &x, in); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[*bool]bool{nil: true, &yes: true, &no: false} {
		if in, err := (&importCheckCmd{Profile: name, MonthFirst: flag}).mapping(&x); err != nil || in.MonthFirst != want {
			t.Errorf("%v: %+v %v", flag, in, err)
		}
	}
}

// TestRefusedCells checks that refused entries keep all cells. Cells without a heading come after
// the reasons.
func TestRefusedCells(t *testing.T) {
	l := imports.Line{Cells: []string{"Haas", "Anna", "a@example.com"}, Problems: []imports.Problem{{Message: "zu viele"}}}
	for columns, want := range map[int]string{
		3: "Haas|Anna|zu viele|a@example.com", 4: "Haas|Anna|a@example.com|zu viele",
		5: "Haas|Anna|a@example.com||zu viele",
	} {
		if got := strings.Join(reportRows(&l, columns, true)[0], "|"); got != want {
			t.Errorf("%d columns: %s, want %s", columns, got, want)
		}
	}
}

// answers are the errors of successive calls.
type answers []error

func (a *answers) Call(_ context.Context, _ string, _, out any) error {
	err := (*a)[0]
	if *a = (*a)[1:]; err == nil {
		*out.(*imports.Import) = imports.Import{ID: "imp_a", State: imports.Running}
	}
	return err
}

// TestImportWithoutItsServer checks the error if the server ends during a command. It says how to
// read the state of the import, which continues by itself.
func TestImportWithoutItsServer(t *testing.T) {
	gone := fmt.Errorf("admin: %w: EOF", socket.ErrNoAnswer)
	for _, c := range []struct {
		answers answers
		want    string
	}{
		{answers{gone}, "says whether the step has begun"},
		{answers{nil, gone}, "the server ended. imp_a goes on by itself"},
		{answers{nil, fmt.Errorf("admin: %w", syscall.ECONNREFUSED)}, "the server ended. imp_a goes on by itself"},
		{answers{nil, fault.New(fault.InstancePending)}, "imp_a goes on by itself"},
	} {
		var g command.Globals
		of := imports.Reference{Organization: "org_a", ID: "imp_a"}
		err := step(t.Context(), &g, &c.answers, command.JSON{}, imports.Run, of, of)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "kartei import show imp_a --org org_a") || strings.Contains(err.Error(), "unknown") {
			t.Errorf("%v", err)
		}
	}
}
