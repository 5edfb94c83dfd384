package data

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kartei/api"
	"kartei/api/op"
	"kartei/kit/archive"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	spreadsheet "kartei/kit/sheet"
	"kartei/transfer/imports"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
	"kartei/web/people"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// ImportPath is the path of the page of an import.
const ImportPath = shell.DataPath + "/{id}"

// importInfo is an import, with the texts for its pages.
type importInfo struct{ imports.Import }

// readImport reads the import whose id is in the path.
func readImport(v *shell.Request) (importInfo, error) {
	info, err := shell.Ask(v, imports.Get, imports.Reference{ID: v.PathValue("id")})
	return importInfo{info}, err
}

// whyLeftOut returns the text for the reason why a file or a sheet is not read.
func whyLeftOut(v *shell.Request, reason string) string {
	say := v.Words.Say
	switch reason {
	case "kind":
		return say("neither a table nor a vCard")
	case "nested":
		return say("a ZIP in a ZIP; please upload it by itself")
	case "encrypted":
		return say("protected by a password")
	case "hidden":
		return say("a hidden sheet")
	case "sheet":
		return say("another sheet; please save and upload it by itself")
	case "other":
		return say("another table; please upload it by itself")
	case "noCards":
		return say("has no vCard")
	}
	return say("unreadable")
}

// filesText returns how many files are read, or which sheet or table.
func (i *importInfo) filesText(v *shell.Request) string {
	switch {
	case i.Sheet != "":
		return v.Words.Say("“%s” is read.", i.Sheet)
	case i.Files > 0:
		return v.Words.Plural(i.Files, "One file is read.", "%d files are read.")
	}
	return ""
}

// lineText returns the position of an entry: its file and its line.
func lineText(v *shell.Request, l *imports.Line) string {
	line := v.Words.Say("Line %s", v.Number(l.Line))
	if l.File == "" {
		return line
	}
	return l.File + ", " + line
}

// heading returns the heading of a column. It is empty if the file has none.
func (i *importInfo) heading(v *shell.Request, c *mapping.Column) string {
	if i.Format == "vcard" {
		return targetLabel(v, c.Heading)
	}
	return c.Heading
}

// path returns the path of the import's page.
func (i *importInfo) path() string { return shell.DataPath + "/" + i.ID }

// title returns the file name of the import. Discarded and expired imports have no file name, so
// their title has the date.
func (i *importInfo) title(v *shell.Request) string {
	return cmp.Or(i.FileName, v.Words.Say("Import of %s", v.Words.Day(i.CreatedAt.Time())))
}

// undoable reports whether the import can be undone now.
func (i *importInfo) undoable(v *shell.Request) bool {
	return (i.State == imports.Finished || i.State == imports.Stopped) && !i.Forgotten && i.KeptUntil > clock.FromTime(v.Words.Now)
}

// fateText returns what the import did with a value, or would do with it.
func fateText(v *shell.Request, fate entry.Fate) string {
	switch fate {
	case entry.InNote:
		return v.Words.Say("into the note")
	case entry.LeftOut:
		return v.Words.Say("left out")
	case entry.Altered:
		return v.Words.Say("taken in another form")
	}
	return ""
}

// otherThan returns the id of the record in a problem. It is empty if that record is own, the
// record of the entry itself.
func otherThan(own string, p *imports.Problem) string {
	if p.RecordID == own {
		return ""
	}
	return p.RecordID
}

// whereText returns the heading of the column of a problem, or else the label of the member.
func whereText(v *shell.Request, p *imports.Problem) string {
	return cmp.Or(p.Heading, targetLabel(v, p.Field))
}

// shownValue is the maximum length of a value on the page, in characters. The report has the whole
// value.
const shownValue = 200

// cutValue returns the first shownValue characters of a value, with white space reduced to single
// spaces.
func cutValue(value string) string {
	text := strings.Join(strings.Fields(value), " ")
	if runes := []rune(text); len(runes) > shownValue {
		return string(runes[:shownValue]) + "…"
	}
	return text
}

// importsPage has the data of the list of imports.
type importsPage struct {
	list  []importInfo
	names map[string]string
	pages ui.Pages
	// people is the field in which an admin chooses a person or a service account for an export.
	people ui.Field
}

const importsShown = 20

// showData serves the page with the list of imports and the forms for exports.
func showData(v *shell.Request) shell.View {
	p := importsPage{names: map[string]string{}}
	if v.Session.May(records.Contacts.Write) {
		if err := p.read(v); err != nil {
			return v.Failed(err)
		}
	}
	if v.Session.Administers {
		options, err := people.PrincipalOptions(v, people.Everybody)
		if err != nil {
			return v.Failed(err)
		}
		p.people = ui.Field{Name: "id", Label: v.Words.Say("Person or service account"), Value: v.Session.Principal.ID, Options: options}
	}
	return v.Settings(shell.DataPath, v.Words.Say("Data"), dataView(v, p))
}

// read reads one page of the list of imports, and the names of their owners.
func (p *importsPage) read(v *shell.Request) error {
	after := v.URL.Query().Get("after")
	found, err := shell.Ask(v, imports.List, imports.ListInput{After: after, Limit: importsShown})
	if err != nil {
		return err
	}
	for _, i := range found.Data {
		p.list = append(p.list, importInfo{i})
	}
	if after != "" {
		p.pages.Newer = ui.Own(shell.DataPath)
	}
	if found.HasMore {
		p.pages.Older = ui.Own(shell.DataPath + "?" + url.Values{"after": {p.list[len(p.list)-1].ID}}.Encode())
	}
	var owners []string
	for _, i := range p.list {
		if i.PrincipalID != v.Session.Principal.ID {
			owners = append(owners, i.PrincipalID)
		}
	}
	return v.NamesOf(owners, p.names)
}

// showNewImport serves the form for a new import.
func showNewImport(v *shell.Request) shell.View { return drawNewImport(v, "", http.StatusOK) }

func drawNewImport(v *shell.Request, why string, status int) shell.View {
	return v.Settings(shell.DataPath, v.Words.Say("Import contacts"), newImportView(v, why)).WithStatus(status)
}

// importPiece is the size of the pieces in which a file is stored, in bytes.
const importPiece = 512 << 10

// createImport stores the uploaded files in pieces, and begins to read them.
func createImport(v *shell.Request) shell.View {
	file := v.Sent.File
	if file == nil {
		return drawNewImport(v, v.Words.Say(shell.NoFile), http.StatusUnprocessableEntity)
	}
	made, err := shell.Ask(v, imports.Create, imports.CreateInput{FileName: cutName(file.Name), Size: file.Size}, onceWith(file))
	if err == nil {
		made, err = shell.Ask(v, imports.Get, imports.Reference{ID: made.ID})
	}
	if err == nil && made.State == imports.Receiving { // another state means that the form was sent before
		err = sendImport(v, made.ID, file)
	}
	if err != nil {
		return refusedImport(v, shell.AsFault(err))
	}
	return shell.Redirect{To: shell.DataPath + "/" + made.ID}
}

// onceWith sets an Idempotency-Key that depends on the form and the file. The same form with
// another file begins another import.
func onceWith(file *shell.SentFile) shell.How {
	return func(v *shell.Request, by *api.Caller) {
		by.Header["Idempotency-Key"] = []string{file.Key(v.Sent.Token)}
	}
}

// cutName shortens a file name to its last 200 characters, which keeps the extension.
func cutName(name string) string {
	if runes := []rune(name); len(runes) > 200 {
		return string(runes[len(runes)-200:])
	}
	return name
}

// sendImport stores the files of the form in pieces while they arrive. It then completes the
// upload.
func sendImport(v *shell.Request, id string, file *shell.SentFile) error {
	all := archive.NewBundle(importPiece, func(number int64, content []byte) error {
		return shell.Do(v, imports.Append, imports.AppendInput{Reference: imports.Reference{ID: id}, Number: number, Content: content}).Err()
	})
	if err := file.Each(all.Add); err != nil {
		if _, refused := errors.AsType[*fault.Fault](err); !refused {
			err = shell.ErrBroken
		}
		return err
	}
	pieces, err := all.Close()
	if err != nil {
		return err
	}
	return shell.Do(v, imports.Complete, imports.CompleteInput{Reference: imports.Reference{ID: id}, Pieces: pieces}).Err()
}

// refusedImport serves the form again with the error f.
func refusedImport(v *shell.Request, f *fault.Fault) shell.View {
	switch f.Code {
	case fault.ValidationFailed:
		return drawNewImport(v, f.Fields[0].Message(v.Words.Language), http.StatusUnprocessableEntity)
	case fault.UploadIncomplete:
		return drawNewImport(v, v.Words.Say("The file did not arrive completely. Please send it again."), http.StatusUnprocessableEntity)
	case fault.QuotaExhausted:
		return drawNewImport(v, v.Reason(f), f.Code.Status())
	}
	return v.Failed(f)
}

// importPage has the data of the page of one import.
type importPage struct {
	importInfo
	owner string
	// lines are the entries with a problem. titles has the titles of the records in them that the
	// person can see.
	lines  []imports.Line
	titles map[string]string
	pages  ui.Pages
	// edit says that the form for the columns is shown after a dry run too.
	edit  bool
	wrong map[string]string
}

// problemsShown is the number of entries with a problem on one page.
const problemsShown = 20

// showImport serves the page of an import.
func showImport(v *shell.Request) shell.View {
	return drawImport(v, importPage{edit: v.URL.Query().Has("columns")}, http.StatusOK)
}

func drawImport(v *shell.Request, p importPage, status int) shell.View {
	info, err := readImport(v)
	if err != nil {
		return v.Failed(err)
	}
	if p.State == "" {
		p.importInfo = info
	}
	if p.PrincipalID != v.Session.Principal.ID {
		names := map[string]string{}
		if err := v.NamesOf([]string{p.PrincipalID}, names); err != nil {
			return v.Failed(err)
		}
		p.owner = names[p.PrincipalID]
	}
	if p.State.Works() {
		v.Writer.Header().Set("Refresh", "2")
	} else if p.State != imports.Mapping && !p.edit && !p.Forgotten {
		if err := p.problems(v); err != nil {
			return v.Failed(err)
		}
	}
	return v.Settings(shell.DataPath, p.title(v), importView(v, p)).WithStatus(status)
}

// problems reads one page of the entries with a problem.
func (p *importPage) problems(v *shell.Request) error {
	after, _ := strconv.ParseInt(v.URL.Query().Get("after"), 10, 64)
	found, err := shell.Ask(v, imports.GetLines, imports.LinesInput{Reference: imports.Reference{ID: p.ID}, After: max(0, after), Limit: problemsShown, Wrong: true})
	if err != nil {
		return err
	}
	p.lines = found.Data
	if after > 0 {
		p.pages.Newer = ui.Own(p.path())
	}
	if found.HasMore {
		p.pages.Older = ui.Own(fmt.Sprintf("%s?after=%d", p.path(), p.lines[len(p.lines)-1].Number))
	}
	var ids []string
	for _, l := range p.lines {
		for _, told := range l.Problems {
			ids = append(ids, shell.Present(told.RecordID)...)
		}
	}
	p.titles = map[string]string{}
	return v.TitlesOf(ids, p.titles)
}

// importTarget is a member of a record that can get the values of a column.
type importTarget struct {
	name  string
	label i18n.Text
}

// importTargets are the members, in the order of the select field. Members of contacts have the
// same labels as in the form of a contact.
var importTargets = func() []importTarget {
	list := []importTarget{{"lastName", ""}, {"firstName", ""}, {"middleName", "Middle name"}, {"nameSuffix", ""},
		{"name", "Whole name"}, {"salutation", ""}, {"title", ""},
		{"company", "Company"}, {"companyId", "Company identifier"}, {"department", "Department"}, {"jobTitle", ""}, {"email", ""}, {"phone", ""}, {"mobile", ""},
		{"fax", "Fax"}, {"website", "Website"},
		{"address.street", ""}, {"address.houseNumber", "House number"}, {"address.more", "Address line 2"},
		{"address.postalCode", ""}, {"address.city", ""}, {"address.place", "Postal code and city"},
		{"address.region", ""}, {"address.country", ""}, {"address.whole", "Whole address"}, {"address.formatted", "Address as on letters"},
		{"birthday", ""}, {"birthday.day", "Birthday: day"}, {"birthday.month", "Birthday: month"}, {"birthday.year", "Birthday: year"},
		{"language", ""}, {"note", ""}, {"other", "Into the note, with its heading"}, {"tags", ""}, {"externalId", ""},
		{"id", "Id in Kartei"}, {"visibility", ""},
		{"legalForm", "Legal form"}, {"vatId", "VAT ID"}, {"registerNumber", "Register number"},
		{"email.label", "Kind of the email address"}, {"email.display", "Name of the email address"}, {"phone.label", "Kind of the telephone number"},
		{"address.label", "Kind of the address"},
		{"website.label", "Kind of the website"},
		{"other.label", "Kind of the value beside it"},
		{"additionalEmail", "Additional email"},
		{"additionalEmail.label", "Kind of the additional email"},
		{"additionalPhone", "Additional telephone number"},
		{"additionalPhone.label", "Kind of the additional telephone number"},
		{"additionalAddress.street", "Additional address: street"},
		{"additionalAddress.postalCode", "Additional address: postal code"},
		{"additionalAddress.city", "Additional address: city"},
		{"additionalAddress.region", "Additional address: region"},
		{"additionalAddress.country", "Additional address: country"},
		{"additionalAddress.label", "Kind of the additional address"},
		{"additionalEmails", "Other additional emails"},
		{"additionalPhones", "Other additional numbers"},
		{"additionalAddresses", "Other additional addresses"}, {"attributes", "Attributes"}}
	for i, t := range list {
		if t.label == "" {
			list[i].label = records.Contacts.Field(t.name).Label
		}
	}
	return list
}()

// targetLabel returns the label of a member.
func targetLabel(v *shell.Request, name string) string {
	name, _, _ = strings.Cut(name, "[")
	if i := slices.IndexFunc(importTargets, func(t importTarget) bool { return t.name == name }); i >= 0 {
		return v.Words.Say(importTargets[i].label)
	}
	if name == "companyId" {
		return v.Words.Say("Company")
	}
	return name
}

// columnFields returns the fields of the columns: first the columns with a target, then the columns
// that are left out.
func (p *importPage) columnFields(v *shell.Request) (used, unused []ui.Field) {
	options := []ui.Option{{Text: v.Words.Say("leave out")}}
	guessed := slices.ContainsFunc(p.Columns,
		func(c mapping.Column) bool { return strings.HasPrefix(c.Target, "additional") })
	for _, t := range importTargets {
		if strings.HasPrefix(t.name, "additional") && !guessed { // a second email is additional anyway
			continue
		}
		options = append(options, ui.Option{Value: t.name, Text: v.Words.Say(t.label)})
	}
	for i, c := range p.Columns {
		if p.Format == "vcard" && len(c.Samples) == 0 { // no card of the file has this property
			continue
		}
		name := fmt.Sprintf("target.%d", i)
		f := ui.Field{Name: name, Label: cmp.Or(p.heading(v, &c), v.Words.Say("without a heading")), Hint: strings.Join(c.Samples, " · "), Value: c.Target, Options: options,
			Errors: shell.Present(p.wrong[fmt.Sprintf("targets[%d]", i)])}
		if c.Target == "" && len(f.Errors) == 0 {
			unused = append(unused, f)
		} else {
			used = append(used, f)
		}
	}
	return used, unused
}

// optionFields returns the other fields of the form by name.
func (p *importPage) optionFields(v *shell.Request) map[string]ui.Field {
	say := v.Words.Say
	dates := "dayFirst"
	if p.Options.MonthFirst {
		dates = "monthFirst"
	}
	records := "contacts"
	if p.Options.Companies {
		records = "companies"
	}
	return map[string]ui.Field{
		"records": {Name: "records", Label: say("What the rows are"), Value: records, Errors: shell.Present(p.wrong["companies"]), Options: []ui.Option{
			{Value: "contacts", Text: say("Contacts (company as a column)")}, {Value: "companies", Text: say("Companies")}}},
		"duplicates": {Name: "duplicates", Label: say("If a contact is there already"), Value: string(p.Options.Duplicates), Errors: shell.Present(p.wrong["duplicates"]),
			Hint: say("Kartei recognizes the same contact by the external ID, or by email address or telephone number if the names do not contradict."),
			Options: []ui.Option{
				{Value: "skip", Text: say("Leave it as it is")},
				{Value: "fill", Text: say("Fill in what is empty")},
				{Value: "replace", Text: say("Replace everything that the file has")},
			}},
		"dates": {Name: "dates", Label: say("Dates with slashes"), Value: dates, Hint: say("Used if the column itself does not show the order."), Options: []ui.Option{
			{Value: "dayFirst", Text: say("31/12/1984, day first")}, {Value: "monthFirst", Text: say("12/31/1984, month first")}}},
		"tags": {Name: "tags", Label: say("Tags for all"), Value: strings.Join(p.Options.Tags, ", "), Errors: shell.Present(p.wrong["tags"]), Optional: true,
			Hint: say("Separated by commas, for example: Move 2026")},
	}
}

// wrongs returns the fields in the order of the form. The summary above the form lists their
// errors.
func (p *importPage) wrongs(v *shell.Request) (list []ui.Field) {
	used, unused := p.columnFields(v)
	o := p.optionFields(v)
	if why := p.wrong["targets"]; why != "" && len(p.Columns) > 0 {
		list = append(list, ui.Field{Name: "target.0", Label: v.Words.Say("Columns"), Errors: []string{why}})
	}
	list = append(append(append(list, used...), unused...), o["duplicates"], o["tags"])
	if len(o["records"].Errors) > 0 { // the field is hidden from people who may not create companies
		list = append(list, o["records"])
	}
	return list
}

// mapImport stores the targets of the columns and begins the dry run.
func mapImport(v *shell.Request) shell.View {
	info, err := readImport(v)
	if err != nil {
		return v.Failed(err)
	}
	targets := []string{}
	info.Columns = slices.Clone(info.Columns)
	for i := range info.Columns {
		info.Columns[i].Target = v.Sent.Text(fmt.Sprintf("target.%d", i))
		if info.Format == "vcard" && !v.Sent.Has(fmt.Sprintf("target.%d", i)) { // no card of the file has this property
			info.Columns[i].Target = info.Columns[i].Heading
		}
		targets = append(targets, info.Columns[i].Target)
	}
	info.Options.Companies = v.Sent.Text("records") == "companies"
	info.Options.Duplicates, info.Options.MonthFirst, info.Options.Tags = mapping.Duplicates(v.Sent.Text("duplicates")), v.Sent.Text("dates") == "monthFirst", []string{}
	for tag := range strings.FieldsFuncSeq(v.Sent.Text("tags"), func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
		if tag = strings.TrimSpace(tag); tag != "" {
			info.Options.Tags = append(info.Options.Tags, tag)
		}
	}
	a := shell.Do(v, imports.Map, imports.MapInput{Reference: imports.Reference{ID: info.ID}, Targets: targets, Options: info.Options})
	switch {
	case a.Is(fault.ValidationFailed) && a.Fault.Fields[0].Name == "id": // the form was sent before
		return shell.Redirect{To: info.path()}
	case a.Is(fault.ValidationFailed):
		wrong := map[string]string{}
		for _, f := range a.Fault.Fields {
			wrong[f.Name] = cmp.Or(wrong[f.Name], f.Message(v.Words.Language))
		}
		return drawImport(v, importPage{importInfo: info, edit: true, wrong: wrong}, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return shell.Redirect{To: info.path()}
}

// actOnImport returns a handler that runs the operation row on an import and redirects to the
// import's page.
func actOnImport(row op.Operation[imports.Reference, imports.Import]) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		id := v.PathValue("id")
		a := shell.Do(v, row, imports.Reference{ID: id}, shell.Once)
		if a.Fault != nil && !a.Is(fault.ValidationFailed) { // the page shows the state
			return v.Failed(a.Fault)
		}
		return shell.Redirect{To: shell.DataPath + "/" + id}
	}
}

// askToUndo serves the page that asks for a confirmation before an import is undone.
func askToUndo(v *shell.Request) shell.View {
	info, err := readImport(v)
	if err != nil {
		return v.Failed(err)
	}
	if !info.undoable(v) {
		return shell.Redirect{To: info.path()}
	}
	return v.Settings(shell.DataPath, v.Words.Say("Undo the import"), undoImportView(v, info))
}

// discardImport discards an import and its file.
func discardImport(v *shell.Request) shell.View {
	switch a := shell.Do(v, imports.Discard, imports.Reference{ID: v.PathValue("id")}, shell.Once); {
	case a.Is(fault.NotFound): // the import is already discarded
		return shell.Redirect{To: shell.DataPath}
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.DataPath, "import")
}

// showReport serves the report of an import as a CSV table.
func showReport(v *shell.Request) shell.View {
	info, err := readImport(v)
	if err != nil {
		return v.Failed(err)
	}
	return shell.Download{
		Name: shell.NameOfFile(v.Words.Say("Report %s", info.title(v)), "csv"), MediaType: spreadsheet.MediaType,
		Write: func(w http.ResponseWriter) error { return writeReport(v, w, &info) },
	}
}

// writeReport writes the report with a row for each problem. It reads the entries page by page.
func writeReport(v *shell.Request, w http.ResponseWriter, info *importInfo) error {
	table, say := spreadsheet.NewWriter(w), v.Words.Say
	where := []string{say("Line")}
	if info.Files > 0 {
		where = []string{say("File"), say("Line")}
	}
	if err := table.Row(append(where, say("Outcome"), say("Id"), say("Field"), say("Heading"), say("Value"), say("What became of it"), say("Note [of an import]"))...); err != nil {
		return err
	}
	for after := int64(0); ; {
		found, err := shell.Ask(v, imports.GetLines, imports.LinesInput{Reference: imports.Reference{ID: info.ID}, After: after})
		if err != nil {
			return err
		}
		for _, l := range found.Data {
			after = l.Number
			problems := l.Problems
			if len(problems) == 0 {
				problems = []imports.Problem{{}}
			}
			for i := range problems { // a row for each value
				p := &problems[i]
				at := []string{strconv.FormatInt(l.Line, 10)}
				if info.Files > 0 {
					at = []string{l.File, at[0]}
				}
				if err := table.Row(append(at, outcomeLabel(v, l.Outcome, info.State == imports.Checked), l.RecordID, targetLabel(v, p.Field), p.Heading, cmp.Or(p.Value, otherThan(l.RecordID, p)), fateText(v, p.Fate), p.Message)...); err != nil {
					return err
				}
			}
		}
		if !found.HasMore {
			return table.Flush()
		}
	}
}

// showRefused serves the refused entries with their original cells, and the reasons in an
// additional column. People can correct this file and import it again.
func showRefused(v *shell.Request) shell.View {
	info, err := readImport(v)
	if err != nil {
		return v.Failed(err)
	}
	return shell.Download{
		Name: shell.NameOfFile(v.Words.Say("Refused %s", info.title(v)), "csv"), MediaType: spreadsheet.MediaType,
		Write: func(w http.ResponseWriter) error { return writeRefused(v, w, &info) },
	}
}

// writeRefused writes the refused entries. It reads them page by page.
func writeRefused(v *shell.Request, w http.ResponseWriter, info *importInfo) error {
	table := spreadsheet.NewWriter(w)
	var heads []string
	for _, c := range info.Columns {
		heads = append(heads, cmp.Or(info.heading(v, &c), targetLabel(v, c.Target)))
	}
	if err := table.Row(append(heads, v.Words.Say("Note by Kartei"))...); err != nil {
		return err
	}
	for after := int64(0); ; {
		found, err := shell.Ask(v, imports.GetLines, imports.LinesInput{Reference: imports.Reference{ID: info.ID}, After: after, Refused: true})
		if err != nil {
			return err
		}
		for _, l := range found.Data {
			after = l.Number
			headed := make([]string, len(heads)+1)
			n := copy(headed[:len(heads)], l.Cells)
			var notes []string
			for _, p := range l.Problems {
				if p.Fate == "" || p.Fate == entry.LeftOut {
					notes = append(notes, shell.Joined(": ", targetLabel(v, p.Field), p.Message))
				}
			}
			headed[len(heads)] = strings.Join(notes, "\n")
			if err := table.Row(slices.Concat(headed, l.Cells[n:])...); err != nil { // additional cells have no heading
				return err
			}
		}
		if !found.HasMore {
			return table.Flush()
		}
	}
}

// outcomes are the outcomes of entries in the order of summaries. would is the text after a dry
// run.
var outcomes = []struct {
	name       imports.Outcome
	was, would i18n.Text
}{
	{imports.Created, "created", "new"},
	{imports.Updated, "updated", "to be updated"},
	{imports.Unchanged, "unchanged", "unchanged"},
	{imports.Skipped, "skipped", "to be skipped"},
	{imports.Refused, "refused", "to be refused"},
	{imports.Erased, "erased meanwhile, not imported", "erased meanwhile"},
	{imports.Deleted, "deleted again", ""},
	{imports.Restored, "restored", ""},
	{imports.Kept, "changed or needed since, kept", ""},
	{imports.Gone, "deleted since", ""},
}

// outcomeLabel returns the text of an outcome. If would is set, it is the text for a dry run.
func outcomeLabel(v *shell.Request, name imports.Outcome, would bool) string {
	for _, o := range outcomes {
		if o.name == name && would && o.would != "" {
			return v.Words.Say(o.would)
		} else if o.name == name {
			return v.Words.Say(o.was)
		}
	}
	return v.Words.Say("not checked yet")
}

// problemsTitle returns the heading of the entries with problems.
func (p *importPage) problemsTitle(v *shell.Request) string {
	if p.State == imports.Checked {
		return v.Words.Say("What will be left out or changed")
	}
	return v.Words.Say("What was left out or changed")
}

// lineLabel returns the label of outcomeLabel in the singular, for one entry.
func lineLabel(v *shell.Request, name imports.Outcome, would bool) string {
	return strings.Replace(outcomeLabel(v, name, would), "werden ", "wird ", 1)
}

// badge returns the state of the import as a badge.
func (i *importInfo) badge(v *shell.Request) (ui.Kind, string) {
	say := v.Words.Say
	switch i.State {
	case imports.Receiving:
		return ui.Plain, say("file incomplete")
	case imports.Reading, imports.Checking, imports.Running, imports.Undoing:
		return ui.Info, i.step(v)
	case imports.Unreadable:
		return ui.Bad, say("unreadable")
	case imports.Mapping:
		return ui.Warn, say("map the columns")
	case imports.Checked:
		return ui.Warn, say("checked, not imported yet")
	case imports.Stopped:
		return ui.Bad, say("stopped")
	case imports.Undone:
		return ui.Plain, say("undone")
	}
	return ui.OK, say("imported")
}

// step returns the current step of a running import.
func (i *importInfo) step(v *shell.Request) string {
	switch i.State {
	case imports.Reading:
		return v.Words.Say("being read")
	case imports.Checking:
		return v.Words.Say("being checked")
	case imports.Undoing:
		return v.Words.Say("being undone")
	}
	return v.Words.Say("being imported")
}

// progress returns the number of entries that the job has done, and the number of all entries. An
// undo runs from the last entry to the first.
func (i *importInfo) progress() (done, all int64) {
	switch i.State {
	case imports.Reading:
		return 0, 0
	case imports.Undoing:
		return max(0, i.Lines-i.Done), i.Lines
	}
	return i.Done, i.Lines
}

// why returns the reason why the import is unreadable or stopped.
func (i *importInfo) why(v *shell.Request) string {
	say := v.Words.Say
	switch i.Reason {
	case imports.NoTable:
		return say("The file is neither a table (.xlsx, .csv) nor a vCard (.vcf), and no ZIP with such files. In Excel, save the table with “Save as” as “Excel Workbook (.xlsx)” or “CSV UTF-8”.")
	case imports.Encrypted:
		return say("The file is protected by a password. Open it, remove the password (in Excel below “File”, “Info”, “Protect Workbook”), save it, and upload it again.")
	case imports.Broken:
		return say("The file is damaged or not complete. Open it in its program, save it anew, and upload it again.")
	case imports.TooLarge:
		return say("Unpacked, the file is too large. Delete empty rows, other sheets and pictures, or divide the file.")
	case imports.OldWorkbook:
		return say("The file has the format of Excel before 2007 (.xls). Open it in Excel or LibreOffice, and save it as “Excel Workbook (.xlsx)”.")
	case imports.OtherWorkbook:
		return say("This format of tables (OpenDocument, Numbers or .xlsb) is not read. Save or export the table as “Excel Workbook (.xlsx)” or as CSV.")
	case imports.Unconfined:
		return say("This server reads no packed files, because it cannot do so safely. Please upload CSV tables or vCards, or ask the operator.")
	case imports.NoLines:
		return say("The file has no entry.")
	case imports.TooMany:
		return say("The file has more than 100,000 entries. Please divide it.")
	case imports.NoRight:
		return say("The person who began the import lacks the right to it. Who has it can resume the import.")
	case imports.NotOpen:
		return say("The office is closed.")
	case imports.Sealed:
		return say("The file can no longer be decrypted. Please ask the operator.")
	}
	return ""
}

// sums returns the number of entries for each outcome in one line. Before there is an outcome, it
// returns the number of all entries.
func (i *importInfo) sums(v *shell.Request) string {
	var parts []string
	for _, o := range outcomes {
		if n := i.Counts[o.name]; n > 0 {
			parts = append(parts, v.Number(n)+" "+outcomeLabel(v, o.name, i.State == imports.Checked || i.State == imports.Checking))
		}
	}
	if len(parts) == 0 && i.Lines > 0 {
		return v.Words.Plural(int(i.Lines), "one entry", "%d entries [in a sentence]")
	}
	return strings.Join(parts, ", ")
}

// resultTitle returns the heading of the counts.
func (p *importPage) resultTitle(v *shell.Request) string {
	switch p.State {
	case imports.Checked:
		return v.Words.Say("Result of the check")
	case imports.Undone:
		return v.Words.Say("Undone")
	}
	return v.Words.Say("Result")
}
