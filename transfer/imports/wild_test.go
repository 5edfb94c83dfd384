package imports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/test/apitest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// members are the members that tell writes, in this order.
var members = []string{
	"salutation", "title", "firstName", "lastName", "nameSuffix", "name", "legalForm", "vatId", "registerNumber", "email", "phone", "mobile",
	"website", "jobTitle", "department", "companyId", "address",
	"additionalEmails", "additionalPhones", "additionalAddresses",
	"birthday", "language", "note", "tags", "externalId", "visibility", "attributes",
}

// untold are the members that all records have.
var untold = strings.Fields("object id revision createdAt updatedAt displayName ownerId")

// tell returns the members of a record as member=value. It omits members that all records have.
func (d desk) tell(id string) string {
	d.Helper()
	family := "contacts"
	if strings.HasPrefix(id, "cmp_") {
		family = "companies"
	}
	r := d.Do("GET", "/"+family+"/"+id, nil).Want(200).JSON()
	for name := range r {
		if !slices.Contains(members, name) && !slices.Contains(untold, name) {
			d.Errorf("a record has %s: add it to members in transfer/imports/wild_test.go", name)
		}
	}
	var parts []string
	for _, m := range members {
		switch v := r[m].(type) {
		case nil:
		case map[string]any:
			for _, part := range []string{"street", "postalCode", "city", "region", "country"} {
				if v[part] != nil {
					parts = append(parts, fmt.Sprintf("%s=%v", part, v[part]))
				}
			}
			if m == "attributes" && len(v) > 0 {
				parts = append(parts, fmt.Sprintf("attributes=%v", v))
			}
		case []any:
			if m == "tags" && len(v) > 0 {
				parts = append(parts, fmt.Sprintf("%s=%q", m, v))
				continue
			}
			for _, one := range v {
				parts = append(parts, "+"+tellEntry(one.(map[string]any)))
			}
		default:
			text := fmt.Sprint(v)
			if m == "companyId" {
				text = d.Do("GET", "/companies/"+text, nil).Want(200).Text("name")
			}
			if m != "visibility" || text != "organization" {
				parts = append(parts, m+"="+strings.ReplaceAll(text, "\n", "|"))
			}
		}
	}
	return strings.Join(parts, " ")
}

// tellEntry returns an additional value as LABEL:VALUE.
func tellEntry(entry map[string]any) string {
	var parts []string
	for _, part := range []string{"email", "phone", "street", "postalCode", "city", "region", "country"} {
		if entry[part] != nil {
			parts = append(parts, fmt.Sprint(entry[part]))
		}
	}
	label, _ := entry["label"].(string)
	return label + ":" + strings.Join(parts, ", ")
}

// report returns the report of an import: the outcome and the record of each entry, and the
// problems of its values in brackets.
func (d desk) report(x imports.Import) (list []string) {
	d.Helper()
	for _, l := range d.lines(x) {
		text := string(l.Outcome)
		if l.File != "" {
			text = fmt.Sprintf("%s:%d %s", l.File, l.Line, text)
		}
		if l.RecordID != "" {
			text += " " + l.RecordID[:4] + " " + d.tell(l.RecordID)
		}
		for _, p := range l.Problems {
			text += fmt.Sprintf(" [%s %s %s %.60s]", p.Fate, p.Field, p.Heading, strings.ReplaceAll(p.Value, "\n", "|"))
		}
		list = append(list, text)
	}
	return list
}

// TestWild imports files as other programs and offices write them. testdata/wild has a file for
// each kind of mistake.
func TestWild(t *testing.T) {
	golden := filepath.Join("testdata", "wild.txt")
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		files, err := filepath.Glob("testdata/wild/*.*")
		if err != nil || len(files) < 27 {
			t.Fatal(files, err)
		}
		var b strings.Builder
		for _, name := range files {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			x := d.upload(filepath.Base(name), string(content))
			fmt.Fprintf(&b, "== %s\n", filepath.Base(name))
			if x.Files > 0 || x.Sheet != "" || x.LeftOut != nil {
				fmt.Fprintf(&b, "%s, %d files, sheet %q, left out %v\n", x.Format, x.Files, x.Sheet, x.LeftOut)
			}
			if x.State != imports.Mapping {
				fmt.Fprintf(&b, "%s %s\n", x.State, x.Reason)
				continue
			}
			checked := d.check(x, mapping.Skip)
			if checked.State != imports.Checked {
				fmt.Fprintf(&b, "%s %s\n", checked.State, checked.Reason)
				continue
			}
			told := toldBy(d.lines(checked))
			x = d.run(checked)
			if after := toldBy(d.lines(x)); !slices.Equal(told, after) {
				t.Errorf("%s: the check tells\n%q\nand the report\n%q", name, told, after)
			}
			for _, line := range d.report(x) {
				fmt.Fprintln(&b, line)
			}
			ask[struct{}](d, "imports.discard", op.ByID{ID: x.ID}) // makes room, because the number of imports is limited
		}
		if os.Getenv("KARTEI_TEST_UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != string(want) {
			t.Errorf("KARTEI_TEST_UPDATE=1 writes %s anew. Now:\n%s", golden, got)
		}
	})
}

// toldBy returns the problems in a report as texts.
func toldBy(lines []imports.Line) (list []string) {
	for _, l := range lines {
		for _, p := range l.Problems {
			list = append(list, fmt.Sprintf("%d %s %s %s %s", l.Line, p.Fate, p.Field, p.Heading, p.Value))
		}
	}
	return list
}
