package imports_test

import (
	"fmt"
	"strings"
	"testing"

	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// TestEveryTargetIsTaken imports a person and a company with a value for each target of a column.
// Each value must be in a record, or the report must name it.
func TestEveryTargetIsTaken(t *testing.T) {
	for _, companies := range []bool{false, true} {
		d := at(t)
		targets := mapping.Targets()
		var headings, values []string
		for i, target := range targets {
			headings, values = append(headings, fmt.Sprint("Spalte ", i)), append(values, fmt.Sprintf("Wert%02d", i))
			if strings.HasSuffix(target, ".label") || target == "address.formatted" { // these belong to other values
				values[i] = ""
			}
		}
		x := d.upload("a.csv", strings.Join(headings, ";")+"\n"+strings.Join(values, ";")+"\n")
		ask[imports.Import](d, "imports.map", imports.MapInput{
			Reference: imports.Reference{ID: x.ID}, Targets: targets,
			Options: mapping.Options{Duplicates: mapping.Skip, Companies: companies},
		})
		d.Recover()
		said := ""
		for _, l := range d.lines(d.run(d.get(x.ID))) {
			for _, p := range l.Problems {
				said += p.Value + "\n"
			}
		}
		for _, path := range []string{"/contacts", "/companies"} {
			said += string(d.Do("GET", path, nil).Want(200).Body)
		}
		for i, target := range targets {
			if !strings.Contains(said, values[i]) {
				t.Errorf("companies %v: the value of %s is lost: nothing in transfer/imports/entry asks for this member", companies, target)
			}
		}
	}
}
