package office

import (
	"net/http"
	"slices"
)

// A sheet of labels is A4 with three in a row and eight rows, 70 by 37 mm each, as
// office shops sell it. mostLabels are a hundred sheets: a browser prints no more.
const (
	labelsOnSheet = 24
	mostLabels    = 100 * labelsOnSheet
)

// labelSheets are the addresses of a list, to be printed on labels.
type labelSheets struct {
	family *family
	// labels are the lines of each address.
	labels [][]string
	// missing have no address. without are the first of them. more says that the
	// list goes on.
	missing int
	without []unaddressed
	more    bool
	back    string
}

// unaddressed is a record without an address.
type unaddressed struct{ id, name string }

// leaveOut counts a record without an address. Only those that are shown are kept.
func (s *labelSheets) leaveOut(r values) {
	if s.missing++; len(s.without) < withoutShown {
		s.without = append(s.without, unaddressed{r["id"], sortName(s.family, r)})
	}
}

// sheets are the labels of each sheet.
func (s labelSheets) sheets() [][][]string {
	return slices.Collect(slices.Chunk(s.labels, labelsOnSheet))
}

// showLabels serves the addresses of a list, or of the chosen records of it, as a page
// that is printed on labels. It has the rights and limits of an export.
func showLabels(f *family) func(*request) view {
	return func(v *request) view {
		e, err := v.beginExport(f, "labels")
		if err != nil {
			return v.failed(err)
		}
		s := labelSheets{family: f, back: e.listing.at("/" + f.name)}
		for {
			for _, r := range e.page {
				switch {
				case len(v.words.Lines(addressOf(r))) == 0:
					s.leaveOut(r)
				case len(s.labels) == mostLabels:
					s.more = true
				default:
					s.labels = append(s.labels, v.letterTo(r, e.names))
				}
			}
			if e.next == "" || s.more {
				break
			}
			if err := e.read(e.next); err != nil {
				return v.failed(err)
			}
		}
		out := v.ok(v.words.Say("Adressaufkleber", "Address labels"), f.name, labelsView(v, s))
		out.status = http.StatusOK
		return out
	}
}
