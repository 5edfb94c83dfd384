package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/kit/vcard"
)

// card matches the first line of a card. Other lines may come before it.
var card = regexp.MustCompile(`(?im)^[ \t]*BEGIN:VCARD[ \t]*$`)

// cardColumns are the columns of a file of cards: one for each member that a property can become.
var cardColumns = func() (list []Column) {
	for _, m := range Members {
		if !strings.HasSuffix(m.Name, ".label") {
			list = append(list, Column{At: len(list), Member: m.Name, Heading: m.Name})
		}
	}
	return list
}()

// columnOf maps members to the numbers of columns of cards.
var columnOf = func() map[string]int {
	all := map[string]int{}
	for _, c := range cardColumns {
		all[c.Member] = c.At
	}
	return all
}()

func (f *File) openCards(from io.Reader) {
	f.Format, f.Columns, f.cards = VCard, cardColumns, map[string]bool{}
	r := vcard.NewReader(from)
	r.Text = f.decoder.text
	f.read = func() (e Entry, err error) {
		properties, line, err := r.Read()
		if err != nil && !errors.Is(err, vcard.ErrCard) {
			return e, err
		}
		c := cardReader{labels: labels(properties), countries: countries(properties)}
		c.addressed = slices.ContainsFunc(properties, func(p vcard.Property) bool { return p.Name == "ADR" })
		for i := range properties {
			c.take(&properties[i])
		}
		if c.group {
			for _, member := range c.members {
				f.addGroup(c.groupName, member)
			}
		} else if c.uid != "" {
			f.cards[c.uid] = true
		}
		e = Entry{Line: line, Values: c.values}
		if err != nil {
			err = ErrEntry
		}
		return e, err
	}
}

// cardReader turns the properties of a card into values of an entry.
type cardReader struct {
	values []Value
	// typed are the types of telephone properties with a number as a person typed it. In older cards of
	// Kartei, further properties of such a type contain the same number, and are skipped.
	typed []string
	// labels maps groups of properties to their labels: Apple writes item1.X-ABLabel.
	labels map[string]string
	// countries maps groups of properties to country codes of addresses: Apple writes
	// item1.X-ABADR.
	countries map[string]string
	addresses int
	// addressed says that the card has an address with parts.
	addressed bool
	// group says that the card is a group, with a name and members.
	group     bool
	groupName string
	members   []string
	uid       string
}

// maxMembers is the maximum number of members in all groups. If a file has more, its groups are
// reported as left out.
const maxMembers = 10_000

// addGroup adds a member to a group.
func (f *File) addGroup(name, member string) {
	if name = strings.TrimSpace(name); name == "" || member == "" || len(member) > 200 {
		return
	}
	if f.members++; f.members > maxMembers {
		f.groups = nil
		return
	}
	if f.groups == nil {
		f.groups = map[string][]string{}
	}
	f.groups[member] = append(f.groups[member], Cut(name, 200))
}

// Groups maps the ids of cards to the names of their groups. It is complete after the last entry
// was read. Members without a card are omitted.
func (f *File) Groups() map[string][]string {
	maps.DeleteFunc(f.groups, func(member string, _ []string) bool { return !f.cards[member] })
	return f.groups
}

// uid returns the id of a card from its property UID, or from the MEMBER property of a group.
func uid(text string) string { return strings.TrimPrefix(strings.TrimSpace(text), "urn:uuid:") }

// labels returns Apple's labels of groups of properties.
func labels(properties []vcard.Property) map[string]string {
	all := map[string]string{}
	for _, p := range properties {
		if p.Name == "X-ABLABEL" && p.Group != "" {
			all[p.Group] = strings.TrimSuffix(strings.TrimPrefix(p.Text(), "_$!<"), ">!$_")
		}
	}
	return all
}

// countries returns Apple's country codes for the addresses of groups of properties.
func countries(properties []vcard.Property) map[string]string {
	all := map[string]string{}
	for _, p := range properties {
		if p.Name == "X-ABADR" && p.Group != "" {
			all[p.Group] = strings.ToUpper(p.Text())
		}
	}
	return all
}

// kinds are types of properties that are kinds of values.
var kinds = []string{
	"work", "home", "main", "other", "car", "pager", "isdn", "video", "bbs", "modem", "textphone",
	"school", "assistant", "company", "callback", "radio",
}

// noLabels are types of properties that say nothing about the kind of value. The members of a contact
// have the meaning of cell and fax.
var noLabels = strings.Fields(`voice internet pref msg text cell mobile iphone fax pcs dom intl postal parcel
	x400 tlx aol applelink attmail cis eworld ibmmail mcimail powershare prodigy
	7bit 8bit binary base64 b quoted-printable utf-8 uri none unknown`)

// label returns the label or the kind of a property's value, or an empty string. Several programs write
// a label of the person as a type.
func (c *cardReader) label(p *vcard.Property) string {
	if label := c.labels[p.Group]; label != "" {
		return label
	}
	for _, kind := range kinds {
		if p.Is(kind) {
			return kind
		}
	}
	for _, label := range p.Labels {
		label = vendors.ReplaceAllString(label, "")
		switch kind := strings.ToLower(label); {
		case slices.Contains(kinds, kind):
			return kind
		case strings.ContainsFunc(label, unicode.IsLetter) && !slices.Contains(noLabels, kind):
			return label
		}
	}
	return ""
}

// rank returns the preference of a property: first the preferred one, then work, then home.
func rank(p *vcard.Property) int {
	n := 2
	switch {
	case p.Name == "X-MS-TEL": // Outlook: assistant, callback, radio
		n = 0
	case p.Is("work"):
		n = 3
	case p.Is("home"):
		n = 1
	}
	switch {
	case p.Pref > 0:
		n += 10 * (101 - p.Pref)
	case p.Is("pref"):
		n += 1000
	}
	return n
}

// add adds a value of a property, unless the text is empty.
func (c *cardReader) add(member, text, label string, p *vcard.Property) {
	if text = strings.TrimSpace(text); text != "" {
		c.values = append(c.values, Value{
			Column: columnOf[member], Text: text, Label: label, Rank: rank(p), Head: Cut(p.Head, 100),
		})
	}
}

// plainTexts maps properties with one text to their members.
var plainTexts = map[string]string{
	"FN": "name", "TITLE": "jobTitle", "NOTE": "note", "LANG": "language", "URL": "website",
	"X-KARTEI-SALUTATION": "salutation", "X-KARTEI-EXTERNAL-ID": "externalId", "X-KARTEI-COMPANY-ID": "companyId",
	"X-KARTEI-LEGAL-FORM": "legalForm", "X-KARTEI-VAT-ID": "vatId", "X-KARTEI-REGISTER-NUMBER": "registerNumber",
	"X-KARTEI-VISIBILITY": "visibility", "X-KARTEI-TITLE": "title", "X-KARTEI-ATTRIBUTE": "attributes",
	"X-DEPARTMENT": "department", "X-EVOLUTION-WEBDAV-HREF": "", "X-MS-LANGUAGE": "language", "CLASS": "visibility",
}

// own are properties that are internal to programs, or that repeat other properties.
var own = strings.Fields(`VERSION PRODID REV BEGIN END SOURCE NAME PROFILE CLIENTPIDMAP XML SORT-STRING MAILER UID KIND
	X-ABLABEL X-ABADR X-ABSHOWAS X-ABUID X-ABORDER X-ADDRESSBOOKSERVER-KIND X-MOZILLA-HTML X-EVOLUTION-FILE-AS X-RADICALE-NAME X-IMAGETYPE X-IMAGEHASH
	X-SHARED-PHOTO-DISPLAY-PREF X-ACTIVITY-ALERT X-MS-OL-DEFAULT-POSTAL-ADDRESS X-MS-OL-DESIGN X-MS-CARDPICTURE X-ABCROP-RECTANGLE X-CREATED CREATED X-SOGO-COMPONENT-CREATED X-WAB-GENDER X-EVOLUTION-WEBDAV-HREF X-ETAG X-GENERATOR`)

// pictures are properties without a member in any record.
var pictures = []string{"PHOTO", "LOGO", "SOUND", "KEY", "X-MS-CARDPICTURE"}

// take adds the values of a property.
func (c *cardReader) take(p *vcard.Property) {
	part := func(i int) string {
		if parts := p.Parts(); i < len(parts) {
			return parts[i]
		}
		return ""
	}
	member, isText := plainTexts[p.Name]
	if p.Name == "FN" {
		c.groupName = p.Text()
	}
	switch {
	case p.Name == "N":
		c.name(p)
	case p.Name == "ORG":
		c.add("company", part(0), "", p)
		c.add("department", strings.Join(present(p.Parts()[1:]...), ", "), "", p)
	case p.Name == "EMAIL" && p.Additional:
		c.add("additionalEmail", p.Text(), p.Label, p)
	case p.Name == "EMAIL" && p.Parameter("X-EVOLUTION-DEST-CONTACT-UID") != "": // a member of a list
		c.members = append(c.members, uid(p.Parameter("X-EVOLUTION-DEST-CONTACT-UID")))
	case p.Name == "EMAIL":
		c.add("email", p.Text(), c.label(p), p)
	case p.Name == "TEL", p.Name == "X-MS-TEL":
		c.number(p)
	case p.Name == "AGENT":
		c.agent(p)
	case p.Name == "LABEL" && !c.addressed:
		c.wholeAddress(p)
	case p.Name == "LABEL": // the parts of ADR contain the same text
	case p.Name == "ADR":
		c.address(p)
	case p.Name == "BDAY":
		c.add("birthday", p.Text(), "", p)
	case p.Name == "CATEGORIES":
		for _, tag := range p.List() {
			c.add("tags", tag, "", p)
		}
	case p.Name == "ROLE":
		if slices.ContainsFunc(c.values, func(v Value) bool {
			return v.Column == columnOf["jobTitle"] && v.Text == strings.TrimSpace(p.Text())
		}) {
			return
		}
		if c.add("jobTitle", p.Text(), "role", p); strings.TrimSpace(p.Text()) != "" {
			c.values[len(c.values)-1].Rank = -1 // TITLE is preferred, wherever it stands
		}
	case p.Name == "UID":
		c.uid = uid(p.Text())
		c.add("externalId", c.uid, "", p)
	case p.Name == "MEMBER", p.Name == "X-ADDRESSBOOKSERVER-MEMBER":
		c.members = append(c.members, uid(p.Text()))
	case p.Name == "KIND", p.Name == "X-ADDRESSBOOKSERVER-KIND":
		c.group = strings.EqualFold(strings.TrimSpace(p.Text()), "group")
		c.add(Kind, strings.ToLower(p.Text()), "", p)
	case p.Name == "X-EVOLUTION-LIST" && strings.EqualFold(p.Text(), "TRUE"):
		c.group = true
		c.add(Kind, "group", "", p)
	case p.Name == "X-ABSHOWAS" && strings.EqualFold(p.Text(), "COMPANY"):
		c.add(Kind, "org", "", p)
	case isText && member != "":
		c.add(member, cmp.Or(p.Typed, p.Text()), c.label(p), p)
	case slices.Contains(own, p.Name), strings.HasPrefix(p.Name, "X-COUCHDB-"), strings.HasPrefix(p.Name, "X-FC-"):
	case p.Binary || slices.Contains(pictures, p.Name) || strings.HasPrefix(p.Text(), "data:"):
		c.drop(p)
	default:
		label := strings.ToLower(vendors.ReplaceAllString(p.Name, ""))
		if first, size := utf8.DecodeRuneInString(label); size > 0 {
			label = string(unicode.ToUpper(first)) + label[size:]
		}
		if of := c.labels[p.Group]; of != "" {
			label = of
		}
		text := strings.Join(present(p.Parts()...), ", ")
		if strings.HasSuffix(p.Name, "ANNIVERSARY") || strings.HasSuffix(p.Name, "DATE") {
			text = basicDay.ReplaceAllString(text, "$1-$2-$3")
		}
		c.add(Other, text, label, p)
	}
}

var (
	// vendors matches prefixes of names of properties that several programs use.
	vendors = regexp.MustCompile(`(?i)^X-(?:(?:MS|EVOLUTION|KADDRESSBOOK|MOZILLA|GNOME|APPLE|ANDROID|SYNCEVOLUTION)-)?`)
	// basicDay matches a day in the format of version 4.0, with or without a time.
	basicDay = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)(?:T\S*)?$`)
)

// name adds the parts of a name. Commas separate several names within a part.
func (c *cardReader) name(p *vcard.Property) {
	lists := append(p.Lists(), nil, nil, nil, nil, nil)
	c.add("lastName", strings.Join(lists[0], ", "), "", p)
	c.add("firstName", strings.Join(lists[1], " "), "", p)
	c.add("middleName", strings.Join(lists[2], " "), "", p)
	c.add("title", strings.Join(lists[3], ", "), "", p)
	for _, suffix := range lists[4] {
		c.add("nameSuffix", suffix, "", p)
	}
}

// agentName matches the name on the card of an agent.
var agentName = regexp.MustCompile(`(?im)^FN(?:;[^:]*)?:(.+)$`)

// agent adds the assistant of the person. If the value is a card, agent adds its name.
func (c *cardReader) agent(p *vcard.Property) {
	text := p.Text()
	if strings.HasPrefix(strings.ToUpper(text), "BEGIN:VCARD") {
		name := agentName.FindStringSubmatch(text)
		if text = ""; name != nil {
			text = name[1]
		}
	}
	if text == "" {
		c.drop(p)
	}
	c.add(Other, text, "assistant", p)
}

// drop adds a property that no record can contain.
func (c *cardReader) drop(p *vcard.Property) {
	c.values = append(c.values, Value{Column: columnOf[Dropped], Text: "…", Label: p.Name, Head: Cut(p.Head, 100)})
}

// isFax reports whether a label means a fax.
func isFax(label string) bool { return strings.Contains(strings.ToLower(label), "fax") }

// number adds a telephone number.
func (c *cardReader) number(p *vcard.Property) {
	text := p.Text()
	if rest, is := strings.CutPrefix(strings.ToLower(text), "tel:"); is {
		number, extension, _ := strings.Cut(rest, ";ext=")
		if text = number; extension != "" {
			text += " ext. " + extension
		}
	}
	label, kind := c.label(p), strings.Join(p.Types, ",")
	if p.Repeats {
		return
	}
	if p.Additional {
		if p.Typed != "" {
			text = p.Typed
		}
		c.add("additionalPhone", text, p.Label, p)
		return
	}
	if p.Typed != "" {
		text, c.typed = p.Typed, append(c.typed, kind)
	} else if slices.Contains(c.typed, kind) {
		return
	}
	switch {
	case isFax(label), isFax(p.Head): // Android has the label among the parameters
		c.add("fax", text, label, p)
	case p.Is("pager"), p.Is("modem"), p.Is("textphone"), p.Is("bbs"):
		c.add(Other, text, label, p)
	case p.Is("cell"), p.Is("iphone"), strings.EqualFold(label,
		"iphone"), strings.EqualFold(label, "mobile"), p.Is("mobile"):
		c.add("mobile", text, label, p)
	default:
		c.add("phone", text, label, p)
	}
}

// address adds the parts of an address. All parts have the same slot. A part may be a list, such as the lines
// of a street.
func (c *cardReader) address(p *vcard.Property) {
	var parts []string
	for _, list := range p.Lists() {
		parts = append(parts, strings.Join(present(list...), ", "))
	}
	parts = append(parts, "", "", "", "", "", "", "")
	slot, label := fmt.Sprint("address ", c.addresses), c.label(p)
	if p.Additional {
		c.additionalAddress(p, parts, slot)
		return
	}
	begin := len(c.values)
	if only := present(parts...); len(only) == 1 && strings.Contains(only[0], "\n") { // Google: an undivided address
		c.add("address.whole", only[0], label, p)
		parts = make([]string, 7)
	}
	if parts[0] != "" && strings.Trim(parts[0], "0123456789 ") == "" { // a bare number of a PO box
		parts[0] = "Postfach " + parts[0]
	}
	if len(present(parts...)) > 0 && parts[6] == "" {
		parts[6] = c.countries[p.Group]
	}
	c.add("address.street", parts[2], label, p)
	c.add("address.more", parts[1], label, p)
	c.add("address.more", parts[0], label, p)
	c.add("address.city", parts[3], label, p)
	c.add("address.region", parts[4], label, p)
	c.add("address.postalCode", parts[5], label, p)
	c.add("address.country", parts[6], label, p)
	for i := range c.values[begin:] {
		c.values[begin+i].Slot = slot
	}
	if len(c.values) > begin {
		c.addresses++
	}
}

// additionalAddress adds the parts of an address that Kartei has written as an additional one.
func (c *cardReader) additionalAddress(p *vcard.Property, parts []string, slot string) {
	begin := len(c.values)
	for i, member := range []string{"street", "city", "region", "postalCode", "country"} {
		c.add("additionalAddress."+member, parts[2+i], p.Label, p)
	}
	for i := range c.values[begin:] {
		c.values[begin+i].Slot = slot
	}
	c.addresses++
}

// wholeAddress adds an address that is not divided into parts.
func (c *cardReader) wholeAddress(p *vcard.Property) {
	begin := len(c.values)
	c.add("address.whole", p.Text(), c.label(p), p)
	for i := range c.values[begin:] {
		c.values[begin+i].Slot = fmt.Sprint("address ", c.addresses)
		c.addresses++
	}
}

// present returns the texts that are not empty.
func present(texts ...string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return strings.TrimSpace(t) == "" })
}
