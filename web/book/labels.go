package book

import (
	"slices"

	"kartei/web/records"
	"kartei/web/shell"
)

// A sheet of labels is A4 with three columns and eight rows of 70 by 37 mm. Office shops sell such
// sheets. maxLabels is a hundred sheets, the largest number that a browser prints in one go.
const (
	labelsOnSheet = 24
	maxLabels     = 100 * labelsOnSheet
)

// labelSheets is the data of the page with address labels.
type labelSheets struct {
	family *records.Family
	// labels has the lines of each address.
	labels [][]string
	// missing is the number of records without an address. without are the first of these records.
	// more says that the list has more records than labels.
	missing int
	without []unaddressedRecord
	more    bool
	back    string
}

// unaddressedRecord is a record without an address.
type unaddressedRecord struct{ id, name string }

// leaveOut counts a record without an address. It stores only the first withoutShown of them.
func (s *labelSheets) leaveOut(r shell.Values) {
	if s.missing++; len(s.without) < withoutShown {
		s.without = append(s.without, unaddressedRecord{r["id"], records.SortName(s.family, r)})
	}
}

// sheets returns the labels of each sheet.
func (s labelSheets) sheets() [][][]string {
	return slices.Collect(slices.Chunk(s.labels, labelsOnSheet))
}

// showLabels returns the handler of the printable page with the addresses of a list, or of its
// selected records. The rights and limits of an export apply.
func showLabels(f *records.Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		e, err := beginExport(v, f, "labels")
		if err != nil {
			return v.Failed(err)
		}
		s := labelSheets{family: f, back: e.listing.At("/" + f.Name)}
		for {
			for _, r := range e.page {
				switch {
				case len(v.Words.Lines(shell.AddressOf(r))) == 0:
					s.leaveOut(r)
				case len(s.labels) == maxLabels:
					s.more = true
				default:
					s.labels = append(s.labels, letterTo(v, r, e.names))
				}
			}
			if e.next == "" || s.more {
				break
			}
			if err := e.read(e.next); err != nil {
				return v.Failed(err)
			}
		}
		return v.OK(v.Words.Say("Address labels"), f.Name, labelsView(v, s))
	}
}
