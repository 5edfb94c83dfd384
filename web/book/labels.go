package book

import (
	"slices"

	"kartei/web/records"
	"kartei/web/shell"
)

// A sheet of labels is A4 with three in a row and eight rows, 70 by 37 mm each, as
// office shops sell it. maxLabels are a hundred sheets: a browser prints no more.
const (
	labelsOnSheet = 24
	maxLabels     = 100 * labelsOnSheet
)

// labelSheets are the addresses of a list, to be printed on labels.
type labelSheets struct {
	family *records.Family
	// labels are the lines of each address.
	labels [][]string
	// missing have no address. without are the first of them. more says that the
	// list goes on.
	missing int
	without []unaddressedRecord
	more    bool
	back    string
}

// unaddressedRecord is a record without an address.
type unaddressedRecord struct{ id, name string }

// leaveOut counts a record without an address. Only those that are shown are kept.
func (s *labelSheets) leaveOut(r shell.Values) {
	if s.missing++; len(s.without) < withoutShown {
		s.without = append(s.without, unaddressedRecord{r["id"], records.SortName(s.family, r)})
	}
}

// sheets are the labels of each sheet.
func (s labelSheets) sheets() [][][]string {
	return slices.Collect(slices.Chunk(s.labels, labelsOnSheet))
}

// showLabels serves the addresses of a list, or of the chosen records of it, as a page
// that is printed on labels. It has the rights and limits of an export.
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
				case len(v.Words.Lines(addressOf(r))) == 0:
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
