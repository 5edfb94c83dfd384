package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kartei/door/admin/socket"
	"kartei/kit/fault"
	"kartei/kit/masterkey"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// Exports are written while no server runs on the data. Imports need one.
func TestDataCommands(t *testing.T) {
	data := t.TempDir()
	run := func(want int, args ...string) (out, errs string) {
		t.Helper()
		status, out, errs := kartei(nil, append(args, "--data-dir", data)...)
		if status != want {
			t.Fatalf("%q: %d, want %d: %s%s", args, status, want, out, errs)
		}
		return out, errs
	}
	made := func(args ...string) (id string) {
		t.Helper()
		out, _ := run(0, append(args, "--json")...)
		var one struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal([]byte(out), &one); err != nil {
			t.Fatal(out, err)
		}
		return one.ID
	}
	run(0, "migrate")
	org := made("org", "create", "Kanzlei")
	person := made("user", "create", "--org", org, "--name", "Petra Morgenstern", "--email", "petra@example.com")

	file := filepath.Join(data, "März.csv")
	if err := os.WriteFile(file, []byte("Nachname\nBerg\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"import", "start", file, "--org", org, "--for", person},
		{"import", "list", "--org", org},
		{"import", "run", "imp_x", "--org", org},
	} {
		if _, errs := run(1, args...); !strings.Contains(errs, "no server runs") {
			t.Errorf("%q: %s", args, errs)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "master.key"), bytes.Repeat([]byte("k"), masterkey.Size),
		0o600); err != nil {
		t.Fatal(err)
	}

	for words, want := range map[string]string{
		"org export " + org: "people.jsonl", "user export " + person: "person.json",
	} {
		target := filepath.Join(data, strings.Fields(words)[0]+".zip")
		args := append(strings.Fields(words), "--output", target)
		if _, errs := run(0, args...); !strings.Contains(errs, "not encrypted") {
			t.Errorf("%s: %s", words, errs)
		}
		r, err := zip.OpenReader(target)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Open(want); err != nil {
			t.Errorf("%s: %s", words, err)
		}
		r.Close()
		if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", target, info.Mode(), err)
		}
		run(1, args...) // it is there already
	}
	missing := filepath.Join(data, "missing.zip")
	run(1, "contact", "export", "con_x", "--org", org, "--output", missing)
	if _, err := os.Stat(missing); err == nil {
		t.Error("a failed export leaves a file")
	}
	if out, _ := run(0, "org", "export", org, "-o", "-"); !strings.HasPrefix(out, "PK") {
		t.Errorf("%.10q", out)
	}
}

// The columns of a check come from the flags, then from the profile, then from what
// was guessed.
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

// Columns with the same heading are named by their numbers, in profiles too.
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

// Whether rows are companies, and months come first, is what was guessed, unless a profile
// or a flag says it.
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

// A flag takes back what a profile says about dates.
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

// The refused entries keep their cells, also those without a heading: behind the reasons.
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

// answers are the results of calls, one after the other.
type answers []error

func (a *answers) Call(_ context.Context, _ string, _, out any) error {
	err := (*a)[0]
	if *a = (*a)[1:]; err == nil {
		*out.(*imports.Import) = imports.Import{ID: "imp_a", State: imports.Running}
	}
	return err
}

// A command whose server ends says how to learn what became of the import, which goes
// on by itself.
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
		var g Globals
		of := imports.Reference{Organization: "org_a", ID: "imp_a"}
		err := step(t.Context(), &g, &c.answers, JSON{}, imports.Run, of, of)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "kartei import show imp_a --org org_a") || strings.Contains(err.Error(), "unknown") {
			t.Errorf("%v", err)
		}
	}
}
