package duplicates

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/transfer/merge"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// family is a family of records whose duplicates are merged, with its texts.
type family struct {
	*records.Family
	merge op.Any
	// title is the title of the pages of a merge.
	title i18n.Text
}

var (
	contacts  = family{&records.Contacts, merge.Contacts, "Merge two contacts"}
	companies = family{&records.Companies, merge.Companies, "Merge two companies"}
)

// members returns the members of which a merge keeps one value. An address is one member.
func (f *family) members() (list []records.Field) {
	for _, m := range f.Fields {
		outer, _, nested := strings.Cut(m.Name, ".")
		switch {
		case m.United():
		case !nested:
			list = append(list, m)
		case !slices.ContainsFunc(list, func(has records.Field) bool { return has.Name == outer }):
			list = append(list, records.Field{Name: outer, Label: "Address"})
		}
	}
	return list
}

// These are the fields of the form besides those of every form. The record in the path is the first
// one, whose revision is in shell.RevisionField.
const (
	// withField has the id of the second record, and withRevisionField its revision.
	withField         = "with"
	withRevisionField = "with-revision"
	// staysField has the id of the record that stays.
	staysField = "stays"
	// pickPrefix is the prefix of the fields with the id of the record whose value is kept.
	pickPrefix = "pick."
)

// side is one of the two records of a merge.
type side struct {
	record shell.Values
	// referrers are texts such as "2 tasks" for the records that refer to the record.
	referrers []string
	// news says what others have changed since the form was shown. changed are these members.
	news    string
	changed []string
}

func (s *side) id() string { return s.record["id"] }

// mergePage is the data of the page that shows two records side by side.
type mergePage struct {
	*family
	sides [2]side
	names map[string]string
	token string
	// stays is the index of the record that stays. picked maps members to the index of the record
	// whose value is kept.
	stays  int
	picked map[string]int
	// wrong has the error messages by member. problem is the fault of a refused form, or nil.
	wrong   map[string]string
	problem *fault.Fault
}

// showMerge returns the handler of the page that shows two records side by side. Without a second
// record, it is a page on which the person chooses one.
func showMerge(f *family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		id, with := v.PathValue("id"), v.URL.Query().Get(withField)
		if v.URL.Query().Has(withField+records.TextSuffix) || with == "" {
			return choose(v, f)
		}
		if id == with { // the other record was merged into this one
			return v.SeeOther("/" + f.Name + "/" + id)
		}
		p, missing, err := f.read(v, id, with)
		switch {
		case missing == with:
			next, found := records.Successor(v, with)
			switch {
			case !found:
				return v.Failed(err)
			case next == id:
				return v.SeeOther("/" + f.Name + "/" + id)
			}
			return v.SeeOther(f.path(id, next))
		case err != nil:
			return records.Missing(v, err)
		}
		return p.draw(v, http.StatusOK)
	}
}

// path returns the path of the page that shows two records side by side.
func (f *family) path(id, with string) string {
	return "/" + f.Name + "/" + id + "/merge?" + url.Values{withField: {with}}.Encode()
}

// read reads two records for their merge, with the values that are chosen at first. The older record
// stays, and the values of the one that was changed last are kept. missing is the id of the record that
// cannot be read, if err is not nil.
func (f *family) read(v *shell.Request, ids ...string) (p *mergePage, missing string, err error) {
	p = &mergePage{family: f, names: map[string]string{}, picked: map[string]int{}, token: v.Mint()}
	var errs [2]error
	counted := shell.Together(
		func() error { p.sides[0].record, errs[0] = records.Get(v, f.Family, ids[0]); return nil },
		func() error { p.sides[1].record, errs[1] = records.Get(v, f.Family, ids[1]); return nil },
		func() (err error) { p.sides[0].referrers, err = f.CountReferrers(v, ids[0]); return err },
		func() (err error) { p.sides[1].referrers, err = f.CountReferrers(v, ids[1]); return err },
	)
	for i, err := range errs {
		if err != nil {
			return nil, ids[i], err
		}
	}
	if counted != nil {
		return nil, "", counted
	}
	if err := f.Resolve(v, p.names, p.sides[0].record, p.sides[1].record); err != nil {
		return nil, "", err
	}
	p.chooseAll()
	return p, "", nil
}

// chooseAll makes the choices of a new form. The owner and the visibility are about the record that
// stays, so they remain.
func (p *mergePage) chooseAll() {
	first, second := p.sides[0].record, p.sides[1].record
	if second["createdAt"] < first["createdAt"] {
		p.stays = 1
	}
	newer := 0
	if second["updatedAt"] > first["updatedAt"] {
		newer = 1
	}
	for _, m := range p.members() {
		p.picked[m.Name] = newer
		if m.Restricted() {
			p.picked[m.Name] = p.stays
		}
	}
}

// parts returns the paths of a member's values. An address has several.
func (p *mergePage) parts(m records.Field) []string {
	var list []string
	for _, part := range p.Group(m.Name) {
		list = append(list, part.Name)
	}
	if list == nil {
		list = []string{m.Name}
	}
	return list
}

// has reports whether a record has a value of a member.
func (p *mergePage) has(i int, m records.Field) bool {
	return slices.ContainsFunc(p.parts(m), func(name string) bool { return p.sides[i].record[name] != "" })
}

// countryPart is the path of the country of an address. An address without a country is no other
// address than the same one with it.
const countryPart = "address.country"

// differs reports whether the two records have different values of a member, of which the person
// chooses one.
func (p *mergePage) differs(m records.Field) bool {
	return p.has(0, m) && p.has(1, m) && slices.ContainsFunc(p.parts(m), func(name string) bool {
		first, second := p.sides[0].record[name], p.sides[1].record[name]
		return first != second && (name != countryPart || first != "" && second != "")
	})
}

// fuller returns the index of the record that says more about a member in which the two do not differ.
func (p *mergePage) fuller(m records.Field) int {
	if slices.Contains(p.parts(m), countryPart) && p.sides[0].record[countryPart] == "" {
		return 1
	}
	return 0
}

// offered reports whether the person may choose between the values of a member. The owner and the
// visibility of a record are its owner's.
func (p *mergePage) offered(v *shell.Request, m records.Field) bool {
	return m.MayChange(v, p.sides[0].record["ownerId"]) || m.MayChange(v, p.sides[1].record["ownerId"])
}

// text returns the value of a record as people read it.
func (p *mergePage) text(v *shell.Request, i int, m records.Field) string {
	r := p.sides[i].record
	if m.Name == "address" {
		return strings.Join(v.Words.Lines(shell.AddressOf(r)), "\n")
	}
	return m.Text(v, p.names, r[m.Name])
}

// choices returns the members between whose values the person chooses.
func (p *mergePage) choices(v *shell.Request) (list []records.Field) {
	for _, m := range p.members() {
		if p.differs(m) && p.offered(v, m) {
			list = append(list, m)
		}
	}
	return list
}

// rest is a value that the record has after the merge without a choice.
type rest struct {
	name, label, text, note string
}

// others returns the values that the merge takes over without a choice: equal values, values that only
// one of the records has, and united lists and notes.
func (p *mergePage) others(v *shell.Request) (list []rest) {
	say := v.Words.Say
	for _, m := range p.members() {
		k := rest{name: m.Name, label: say(m.Label)}
		first, second := p.has(0, m), p.has(1, m)
		switch {
		case p.differs(m) && !p.offered(v, m):
			k.text = say("as in the entry that stays")
		case p.differs(m), !first && !second:
			continue
		case first && second:
			k.text = p.text(v, p.fuller(m), m)
		case first:
			k.text, k.note = p.text(v, 0, m), say("from entry %s", "1")
		default:
			k.text, k.note = p.text(v, 1, m), say("from entry %s", "2")
		}
		list = append(list, k)
	}
	for _, m := range p.Fields {
		if !m.United() {
			continue
		}
		k := rest{name: m.Name, label: say(m.Label), text: p.united(v, m)}
		switch first, second := p.text(v, 0, m) != "", p.text(v, 1, m) != ""; {
		case k.text == "":
			continue
		case first && !second:
			k.note = say("from entry %s", "1")
		case second && !first:
			k.note = say("from entry %s", "2")
		case first:
			k.note = say("from both entries")
		}
		list = append(list, k)
	}
	return list
}

// united returns the values of both records in a list, in the attributes or in the note.
func (p *mergePage) united(v *shell.Request, m records.Field) string {
	first, second := p.text(v, p.stays, m), p.text(v, 1-p.stays, m)
	switch {
	case m.Kind == records.AttributesField:
		names := map[string]bool{}
		for i := range p.sides {
			for _, a := range shell.Attributes(p.sides[i].record) {
				names[a.Name] = true
			}
		}
		return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	case m.Kind == records.TagsField || m.Kind == records.ListField:
		var list []string
		for _, line := range shell.Lines(first + "\n" + second) {
			if !slices.ContainsFunc(list, func(has string) bool { return strings.EqualFold(has, line) }) {
				list = append(list, line)
			}
		}
		between := "\n"
		if m.Kind == records.TagsField {
			between = ", "
		}
		return strings.Join(list, between)
	case strings.Contains(first, second):
		return first
	}
	return shell.Joined("\n\n", first, second)
}

// hint returns a text that says where the value goes that is not chosen. It is empty if the merge does
// not keep that value.
func hint(v *shell.Request, m records.Field) string {
	switch m.Name {
	case "email":
		return v.Words.Say("The other one stays as a further email address.")
	case "phone", "mobile":
		return v.Words.Say("The other one stays as a further number.")
	case "address":
		return v.Words.Say("The other one stays as a further address.")
	case "externalId":
		return v.Words.Say("The other one stays as an attribute for programs.")
	}
	return ""
}

// hidesOne reports whether the records have different visibility.
func (p *mergePage) hidesOne() bool {
	return p.sides[0].record["visibility"] != p.sides[1].record["visibility"]
}

// changed reports whether somebody has changed a member of one of the records since the form was shown.
func (p *mergePage) changed(member string) bool {
	return slices.ContainsFunc(p.sides[:], func(s side) bool {
		return slices.ContainsFunc(s.changed, func(name string) bool {
			return name == member || strings.HasPrefix(name, member+".")
		})
	})
}

// wrongs returns the entries of the summary of errors.
func (p *mergePage) wrongs(v *shell.Request) (list []ui.Wrong) {
	for _, name := range shell.SortedNames(p.wrong) {
		label := v.Words.Say(p.Field(name).Label)
		if name == "address" {
			label = v.Words.Say("Address")
		}
		list = append(list, ui.Wrong{ID: "m-" + name, Label: label, Text: p.wrong[name]})
	}
	return list
}

// draw returns the page.
func (p *mergePage) draw(v *shell.Request, status int) shell.View {
	return v.OK(v.Words.Say(p.title), p.Name, mergeView(v, p)).WithStatus(status)
}

// order is the submitted form of a merge.
type order struct {
	// kept is the id of the record that stays, and gone the id of the other one.
	kept, gone string
	// revisions maps the ids to the revisions that the person saw.
	revisions map[string]int64
	// values are the members whose value gone gives.
	values []string
}

// orderOf reads the submitted form.
func (f *family) orderOf(v *shell.Request) order {
	o := order{kept: v.PathValue("id"), gone: v.Sent.Get(withField), values: []string{}}
	o.revisions = map[string]int64{
		o.kept: v.Sent.Revision, o.gone: shell.RevisionOf(shell.Values{"revision": v.Sent.Get(withRevisionField)}),
	}
	if v.Sent.Get(staysField) == o.gone {
		o.kept, o.gone = o.gone, o.kept
	}
	for _, m := range f.members() {
		if v.Sent.Get(pickPrefix+m.Name) == o.gone {
			o.values = append(o.values, m.Name)
		}
	}
	return o
}

// mergeRecords returns the handler that merges two records.
func mergeRecords(f *family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		o := f.orderOf(v)
		if records.FamilyOfID(o.kept) != f.Family || records.FamilyOfID(o.gone) != f.Family || o.kept == o.gone {
			return v.Failed(fault.New(fault.NotFound))
		}
		a := v.Send(f.merge, shell.Arguments{
			ID: o.kept, Match: max(o.revisions[o.kept], 1), Once: v.Sent.Token,
			Body: map[string]any{"from": o.gone, "fromRevision": max(o.revisions[o.gone], 1), "values": o.values},
		})
		switch {
		case a.Fault == nil:
			return merged(v, f, o)
		case a.Is(fault.PreconditionFailed), a.Is(fault.NotFound), a.Is(fault.ValidationFailed),
			a.Is(fault.Forbidden) && !v.Stale:
			return refused(v, f, o, a.Fault)
		}
		return v.Failed(a.Fault)
	}
}

// merged returns the page of the record that stayed, with a note that offers to undo the merge.
func merged(v *shell.Request, f *family, o order) shell.View {
	path := "/" + f.Name + "/" + o.kept
	m, found := mergeOf(v, o.gone)
	if !v.Scripted() && found {
		return v.SeeOther(records.WithParameter(path, mergedParameter, m.ID))
	}
	return v.Done(path, note(v, m))
}

// refused returns the form again, with what is wrong or what others have changed.
func refused(v *shell.Request, f *family, o order, why *fault.Fault) shell.View {
	id, with := v.PathValue("id"), v.Sent.Get(withField)
	p, missing, err := f.read(v, id, with)
	switch {
	case fault.Is(err, fault.NotFound):
		return goneMeanwhile(v, f, cmp.Or(missing, with), id, with)
	case err != nil:
		return v.Failed(err)
	}
	p.problem, p.wrong = why, map[string]string{}
	if err := p.readNews(v, o); err != nil {
		return v.Failed(err)
	}
	p.pickAgain(v, o)
	status := why.Code.Status()
	switch why.Code {
	case fault.PreconditionFailed:
		status = http.StatusConflict
	case fault.ValidationFailed:
		p.wrong = shell.FieldTexts(why, v.Words.Language)
	case fault.Forbidden:
		for _, m := range p.members() {
			if m.Restricted() && p.differs(m) && p.picked[m.Name] != p.stays {
				p.wrong[m.Name] = v.Words.Say(
					"Only the owner and admins may change this. Choose the value of the entry that stays.")
			}
		}
		if len(p.wrong) == 0 {
			return v.Failed(why)
		}
	}
	v.Afresh()
	return p.draw(v, status)
}

// readNews reads what others have changed since the form was shown.
func (p *mergePage) readNews(v *shell.Request, o order) (err error) {
	for i := range p.sides {
		s := &p.sides[i]
		since := o.revisions[s.id()]
		if shell.RevisionOf(s.record) == since {
			continue
		}
		if s.news, s.changed, err = records.NewsOf(v, p.Family, s.id(), since); err != nil {
			return err
		}
	}
	return nil
}

// pickAgain repeats the choices of the submitted form. A choice between values of which one has changed
// since is as in a new form.
func (p *mergePage) pickAgain(v *shell.Request, o order) {
	if p.stays = 0; p.sides[1].id() == o.kept {
		p.stays = 1
	}
	for _, m := range p.members() {
		if p.changed(m.Name) {
			continue
		}
		for i := range p.sides {
			if v.Sent.Get(pickPrefix+m.Name) == p.sides[i].id() {
				p.picked[m.Name] = i
			}
		}
	}
}

// goneMeanwhile returns the page of the record that is left if the other one was deleted while the form
// was open.
func goneMeanwhile(v *shell.Request, f *family, missing, id, with string) shell.View {
	left := id
	if missing == id {
		left = with
	}
	if _, err := records.Get(v, f.Family, left); err != nil {
		return v.Failed(err)
	}
	text := v.Words.Say("Nothing was merged: one of the two entries does not exist any more.")
	if next, found := records.Successor(v, missing); found && next == left {
		text = v.Words.Say("The two entries were merged already.")
	}
	path := "/" + f.Name + "/" + left
	if !v.Scripted() {
		return v.Problem(http.StatusConflict, shell.ProblemPage{Title: v.Words.Say("Changed in the meantime"), Text: text})
	}
	return v.Done(path, &shell.Toast{Bad: true, Text: text, Log: text})
}

// entry returns the name of one of the two records on the page.
func entry(v *shell.Request, i int) string { return v.Words.Say("Entry %s", strconv.Itoa(i+1)) }
