package office

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	spreadsheet "kartei/kit/sheet"
	"kartei/kit/vcard"
	"kartei/record/lookup"
)

// exportPage is the number of records that are read at once for a file.
// exportPatience is how long a connection may take for them.
const (
	exportPage = "100"
)

// exportList serves a list, or the chosen records of it, as a file. The file is
// written while the list is read, page by page, with the rights and limits of every
// list. If that fails halfway the connection is cut, so that no browser takes a part
// for the whole.
func exportList(f *family) func(*request) view {
	return func(v *request) view {
		asked := v.form.Get("format")
		format := "csv"
		if asked == "vcard" || asked == "vcard3" {
			format = "vcard"
		}
		e, err := v.beginExport(f, format)
		if err != nil {
			return v.failed(err)
		}
		e.old = asked == "vcard3"
		w := &written{name: f.many.In(v.words.Language) + " " + v.words.Now.In(v.zone()).Format(time.DateOnly) + ".csv", mediaType: spreadsheet.MediaType, write: e.csv}
		if format == "vcard" {
			w.name, w.mediaType, w.write = strings.TrimSuffix(w.name, "csv")+"vcf", vcard.MediaType, e.vcards
		}
		return view{status: http.StatusOK, written: w}
	}
}

// export is a list that becomes a file.
type export struct {
	v       *request
	family  *family
	listing listing
	// page has the records to write now. next is the cursor of the page after it.
	page []values
	next string
	// old writes cards of version 3.0.
	old bool
	// names are the names of what records refer to, by id.
	names map[string]string
}

// beginExport notes an export in the audit log and reads its first records: the chosen
// records, or the first page of the list in the address.
func (v *request) beginExport(f *family, format string) (*export, error) {
	l := f.listingOf(v.URL.Query())
	var picks []pick
	if v.form.Get(wholeField) == "" {
		var err error
		if picks, err = v.picks(f); err != nil {
			return nil, err
		}
	}
	in := lookup.ExportInput{Family: f.name, Format: format, Chosen: int64(len(picks)), Q: l.Q, Filters: map[string]string{}}
	for name, list := range l.filters(v.session.Principal.ID) {
		in.Filters[name] = list[0]
	}
	delete(in.Filters, "q")
	// The call has no idempotency key: a form that is sent again reads the list
	// again, so it is checked and noted again.
	if _, err := ask(v, lookup.BeginExport, in); err != nil {
		return nil, err
	}
	e := &export{v: v, family: f, names: map[string]string{}, listing: l.from("", false)}
	if len(picks) > 0 {
		return e, e.readPicks(picks)
	}
	return e, e.read("")
}

// read reads a page of the list.
func (e *export) read(cursor string) error {
	q := e.listing.parameters(e.v.session.Principal.ID)
	q.Set("limit", exportPage)
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	page, err := e.v.listed(e.family, q)
	if err != nil {
		return err
	}
	e.page, e.next = page.records, ""
	if page.hasMore {
		e.next = page.nextCursor
	}
	return e.family.resolve(e.v, e.names, e.page...)
}

// readPicks reads chosen records. Those that are gone are left out.
func (e *export) readPicks(picks []pick) error {
	b := bulkDone{family: e.family, picks: picks}
	if err := e.v.readChosen(&b); err != nil {
		return err
	}
	e.page = b.records
	return e.family.resolve(e.v, e.names, e.page...)
}

// each writes the records of all pages.
func (e *export) each(w http.ResponseWriter, write func(values) error, flush func() error) error {
	control := http.NewResponseController(w)
	for {
		_ = control.SetWriteDeadline(time.Now().Add(exportPatience)) // a connection without deadlines does not need one
		for _, record := range e.page {
			if err := write(record); err != nil {
				return err
			}
		}
		if err := flush(); err != nil {
			return err
		}
		if e.next == "" {
			return nil
		}
		if err := e.read(e.next); err != nil {
			return err
		}
	}
}

// csv writes a table with a column for each member.
func (e *export) csv(w http.ResponseWriter) error {
	table := spreadsheet.NewWriter(w)
	var heads []string
	for _, m := range e.family.fields {
		heads = append(heads, m.label.In(e.v.words.Language))
	}
	heads = append(heads, e.v.words.Say("Kennung", "Identifier"), e.v.words.Say("Angelegt", "Created"), e.v.words.Say("Geändert", "Changed"))
	if e.family == &contacts {
		heads = append(heads, e.v.words.Say("Kennung der Firma", "Company identifier"))
	}
	if err := table.Row(heads...); err != nil {
		return err
	}
	return e.each(w, func(r values) error { return table.Row(e.cells(r)...) }, table.Flush)
}

// cells are the cells of a record in the table.
func (e *export) cells(r values) []string {
	var cells []string
	for _, m := range e.family.fields {
		text := r[m.name]
		switch m.kind {
		case choice:
			text = m.labelOf(text).In(e.v.words.Language)
		case countryField:
			text = e.v.words.Country(text)
		case tagsField:
			text = joinTags(lines(text))
		case reference:
			text = e.names[text]
		}
		cells = append(cells, text)
	}
	cells = append(cells, r["id"], e.moment(r["createdAt"]), e.moment(r["updatedAt"]))
	if e.family == &contacts { // an import finds the company by it, of several of one name
		cells = append(cells, r["companyId"])
	}
	return cells
}

// joinTags joins tags. One that has what divides them stands in quotes, so that the table
// can be imported as it was.
func joinTags(tags []string) string {
	list := slices.Clone(tags)
	for i, tag := range list {
		if strings.ContainsAny(tag, ",;\"") {
			list[i] = `"` + strings.ReplaceAll(tag, `"`, `""`) + `"`
		}
	}
	return strings.Join(list, ", ")
}

// moment returns a time as spreadsheets of all languages read it.
func (e *export) moment(at string) string {
	if t, ok := timeOf(at); ok {
		return t.In(e.v.zone()).Format("2006-01-02 15:04")
	}
	return ""
}

// vcards writes a card for each record.
func (e *export) vcards(w http.ResponseWriter) error {
	return e.each(w, func(r values) error {
		company := e.names[r["companyId"]]
		card := e.family.card(e.v.words, r, company, true)
		if e.old {
			card = e.family.oldCard(e.v.words, r, company)
		}
		_, err := io.WriteString(w, card)
		return err
	}, func() error { return nil })
}
