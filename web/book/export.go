package book

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	spreadsheet "kartei/kit/sheet"
	"kartei/kit/vcard"
	"kartei/transfer/exports"
	"kartei/web/records"
	"kartei/web/shell"
)

// exportPage is the number of records that one call reads for an export.
const exportPage = "100"

// exportList returns the handler that exports a list, or its selected records, as a file. It reads
// the list page by page while it writes the file. The rights and limits of lists apply. If reading
// fails halfway, the connection is aborted. The browser then does not take a part for the whole
// file.
func exportList(f *records.Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		asked := v.Sent.Get("format")
		format := "csv"
		if asked == "vcard" || asked == "vcard3" {
			format = "vcard"
		}
		e, err := beginExport(v, f, format)
		if err != nil {
			return v.Failed(err)
		}
		e.old = asked == "vcard3"
		w := shell.Download{Name: v.Words.Say(f.Many) + " " + v.Words.Now.In(v.Zone()).Format(time.DateOnly) + ".csv", MediaType: spreadsheet.MediaType, Write: e.csv}
		if format == "vcard" {
			w.Name, w.MediaType, w.Write = strings.TrimSuffix(w.Name, "csv")+"vcf", vcard.MediaType, e.vcards
		}
		return w
	}
}

// export is a running export of a list.
type export struct {
	v       *shell.Request
	family  *records.Family
	listing records.Listing
	// page has the records to write next. next is the cursor of the following page. It is empty at
	// the end.
	page []shell.Values
	next string
	// old selects vCard 3.0 instead of 4.0.
	old bool
	// names maps the ids to which records refer to their names.
	names map[string]string
}

// beginExport adds a line to the audit log and reads the first records: the selected records, or
// the first page of the list.
func beginExport(v *shell.Request, f *records.Family, format string) (*export, error) {
	l := f.ListingOf(v.URL.Query())
	var picks []pick
	if v.Sent.Get(wholeField) == "" {
		var err error
		if picks, err = readPicks(v, f); err != nil {
			return nil, err
		}
	}
	in := exports.ListInput{Family: f.Name, Format: format, Chosen: int64(len(picks)), Q: l.Q, Filters: map[string]string{}}
	for name, list := range l.Filters(v.Session.Principal.ID) {
		in.Filters[name] = list[0]
	}
	delete(in.Filters, "q")
	// The call has no idempotency key. If the form is sent again, the list is read again, so the
	// export must be checked and logged again.
	if _, err := shell.Ask(v, exports.BeginList, in); err != nil {
		return nil, err
	}
	e := &export{v: v, family: f, names: map[string]string{}, listing: l.From("", false)}
	if len(picks) > 0 {
		return e, e.readPicks(picks)
	}
	return e, e.read("")
}

// read reads the page of the list at a cursor. An empty cursor means the first page.
func (e *export) read(cursor string) error {
	q := e.listing.Parameters(e.v.Session.Principal.ID)
	q.Set("limit", exportPage)
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	page, err := records.ReadPage(e.v, e.family, q)
	if err != nil {
		return err
	}
	e.page, e.next = page.Records, ""
	if page.HasMore {
		e.next = page.NextCursor
	}
	return e.family.Resolve(e.v, e.names, e.page...)
}

// readPicks reads the selected records. It leaves out records that do not exist any more.
func (e *export) readPicks(picks []pick) error {
	b := bulkResult{family: e.family, picks: picks}
	if err := readChosen(e.v, &b); err != nil {
		return err
	}
	e.page = b.records
	return e.family.Resolve(e.v, e.names, e.page...)
}

// each calls write for each record of all pages, and flush after each page.
func (e *export) each(w http.ResponseWriter, write func(shell.Values) error, flush func() error) error {
	control := http.NewResponseController(w)
	for {
		_ = control.SetWriteDeadline(time.Now().Add(shell.ExportPatience)) // an error means that the connection has no deadlines
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

// csv writes a CSV table with a column for each member.
func (e *export) csv(w http.ResponseWriter) error {
	table := spreadsheet.NewWriter(w)
	var heads []string
	for _, m := range e.family.Fields {
		if m.Kind == records.ListField || m.Kind == records.AttributesField {
			continue
		}
		heads = append(heads, m.Label.In(e.v.Words.Language))
	}
	if e.family.InBook {
		for _, l := range additionalLists {
			heads = append(heads, l.headings(e.v.Words)...)
		}
	}
	heads = append(heads, e.v.Words.Say("Attributes"))
	heads = append(heads, e.v.Words.Say("Identifier"), e.v.Words.Say("Created"), e.v.Words.Say("Changed"))
	if e.family.Has("companyId") {
		heads = append(heads, e.v.Words.Say("Company identifier"))
	}
	if err := table.Row(heads...); err != nil {
		return err
	}
	return e.each(w, func(r shell.Values) error { return table.Row(e.cells(r)...) }, table.Flush)
}

// cells returns the cells of a record in the table.
func (e *export) cells(r shell.Values) []string {
	var cells []string
	for _, m := range e.family.Fields {
		if m.Kind == records.ListField || m.Kind == records.AttributesField {
			continue
		}
		text := r[m.Name]
		switch m.Kind {
		case records.Choice:
			text = m.LabelOf(text).In(e.v.Words.Language)
		case records.CountryField:
			text = e.v.Words.Country(text)
		case records.TagsField:
			text = joinTags(shell.Lines(text))
		case records.Reference:
			text = e.names[text]
		}
		cells = append(cells, text)
	}
	if e.family.InBook {
		for _, l := range additionalLists {
			cells = append(cells, l.cells(e.v.Words, r[l.member])...)
		}
	}
	attributes := ""
	if list := shell.Attributes(r); len(list) > 0 {
		attributes = attributesJSON(list...)
	}
	cells = append(cells, attributes, r["id"], e.moment(r["createdAt"]), e.moment(r["updatedAt"]))
	if e.family.Has("companyId") { // the id tells an import which company is meant if several have the same name
		cells = append(cells, r["companyId"])
	}
	return cells
}

// joinTags joins tags with commas. A tag that contains a separator is quoted, so that an import can
// split the text again.
func joinTags(tags []string) string {
	list := slices.Clone(tags)
	for i, tag := range list {
		if strings.ContainsAny(tag, ",;\"") {
			list[i] = `"` + strings.ReplaceAll(tag, `"`, `""`) + `"`
		}
	}
	return strings.Join(list, ", ")
}

// moment returns a time in a format that spreadsheets of all languages can read.
func (e *export) moment(at string) string {
	if t, ok := shell.TimeOf(at); ok {
		return t.In(e.v.Zone()).Format("2006-01-02 15:04")
	}
	return ""
}

// vcards writes a vCard for each record.
func (e *export) vcards(w http.ResponseWriter) error {
	return e.each(w, func(r shell.Values) error {
		company := e.names[r["companyId"]]
		card := card(e.family, e.v.Words, r, company, true)
		if e.old {
			card = oldCard(e.family, e.v.Words, r, company)
		}
		_, err := io.WriteString(w, card)
		return err
	}, func() error { return nil })
}
