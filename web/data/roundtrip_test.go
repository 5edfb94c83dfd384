package data_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kartei/access"
	"kartei/api"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/filetest"
	"kartei/test/pagetest"
	"kartei/test/seed"
	"kartei/transfer/imports"
	"kartei/web/records"
)

// hostile generates texts that file formats may damage: quotes, separators, formulas, line breaks,
// escapes, and texts that look like lists, names or null.
var hostile = rapid.OneOf(
	rapid.StringMatching(`[A-Za-zäöüß€😀⚖ ,;:\\"'<>=+@*|^&.-]{1,40}`),
	rapid.SampledFrom([]string{"=1+1", "'=1", "+49", "-", "NULL", "#NV", "Dr.", "Müller, Anna", "von der Leyen", "Berg & Partner mbB", `"Zum Hirschen" GmbH`, `a";"b`, "a ::: b", "keine", "d", "\\n", "\\,", "^n", "* x", "Familie Schmitz", "sep=;"}),
)

// draw returns the members of a random record. n makes its email address unique.
func draw(r *rapid.T, company bool, n int) map[string]any {
	m := map[string]any{"externalId": fmt.Sprintf("x-%d%s", n, hostile.Draw(r, "externalId"))}
	some := func(name string, g *rapid.Generator[string]) {
		if rapid.Bool().Draw(r, name) {
			if text := strings.TrimSpace(g.Draw(r, name+" text")); text != "" {
				m[name] = text
			}
		}
	}
	m["email"] = fmt.Sprintf("a.b+%d@example.com", n)
	if company && n%4 == 1 { // only additional ones
		delete(m, "email")
	}
	if company {
		m["name"] = fmt.Sprintf("F%d %s", n, hostile.Draw(r, "name"))
		some("legalForm", hostile)
		some("vatId", hostile)
		some("registerNumber", hostile)
	} else {
		for _, name := range []string{"firstName", "lastName", "nameSuffix", "title", "jobTitle", "department"} {
			some(name, hostile)
		}
		some("salutation", rapid.SampledFrom([]string{"mr", "ms", "mx"}))
		some("birthday", rapid.SampledFrom([]string{"1984-05-17", "1604-02-29", "2012-12-31", "1899-01-02"}))
		some("language", rapid.SampledFrom([]string{"de", "en-GB", "sr-Latn-RS", "is", "gsw"}))
		some("mobile", rapid.SampledFrom([]string{"+491711234567", "+436641234567"}))
	}
	some("website", rapid.SampledFrom([]string{"https://haas.example/a,b;c?d=%C3%BC", "http://haas.example"}))
	some("phone", rapid.SampledFrom([]string{"+49221987654", "+41441234567"}))
	some("note", rapid.OneOf(hostile, rapid.StringMatching(`([A-Za-zä=+;,:"\\ ]{1,60}\n){1,4}[a-z"=]{1,9}`)))
	address := map[string]any{}
	for _, part := range []string{"street", "postalCode", "city", "region"} {
		if rapid.Bool().Draw(r, part) {
			if text := strings.TrimSpace(hostile.Draw(r, part+" text")); text != "" && len([]rune(text)) <= 20 {
				address[part] = text
			}
		}
	}
	if rapid.Bool().Draw(r, "country") {
		address["country"] = rapid.SampledFrom([]string{"DE", "AT", "NL", "CI", "GB", "US", "MK", "CD", "VA", "TR", "HK"}).Draw(r, "code")
	}
	m["address"] = address
	tags := rapid.SliceOfNDistinct(hostile, 0, 4, func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }).Draw(r, "tags")
	m["tags"] = slices.DeleteFunc(tags, func(s string) bool { return strings.TrimSpace(s) == "" })
	if n%3 == 0 {
		m["visibility"] = "private"
	}
	drawAdditional(r, m)
	attributes := map[string]any{}
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{0,9}`), 0, 4,
		func(s string) string { return s })
	for _, name := range names.Draw(r, "attributes") {
		attributes[name] = rapid.OneOf(hostile, rapid.SampledFrom([]string{
			" a ", "a\n b\n", "{}", "x\u200b\U000e0001\u2028", "a\u00ad", "\ufeffa", "e\u0301"})).
			Filter(func(s string) bool { return strings.TrimSpace(s) != "" }).Draw(r, "attribute "+name)
	}
	m["attributes"] = attributes
	return m
}

// label generates labels of additional values: none, those of the API, their translations, and labels of
// the office.
var label = rapid.OneOf(rapid.SampledFrom([]string{
	"", "work", "home", "mobile", "fax", "other", "Work", "privat", "Fax", "Mobil", "2",
}), hostile)

// drawAdditional adds additional emails, numbers and addresses to the members of a record. A long list
// has a rest without columns of its own in a table.
func drawAdditional(r *rapid.T, m map[string]any) {
	list := func(name string, limit int, one func(n int) map[string]any) {
		all := []any{}
		for n := range rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, limit)).Draw(r, name) {
			entry := one(n)
			if text := strings.TrimSpace(label.Draw(r, name+" label")); text != "" {
				entry["label"] = text
			}
			all = append(all, entry)
		}
		m[name] = all
	}
	list("additionalEmails", 20, func(n int) map[string]any {
		return map[string]any{"email": rapid.SampledFrom([]string{
			"a@example.com", "A@example.com", "o'neil+1@example.com",
		}).Draw(r, "another email")}
	})
	list("additionalPhones", 20, func(n int) map[string]any {
		return map[string]any{"phone": rapid.OneOf(hostile, rapid.SampledFrom([]string{
			"+491711234567", "0171 1234567", "0221 123456 oder 0171 9999999", "nur abends",
			"+49 221 1, ext. 5", "0221/98765-12", "1,71E+11", "112"})).
			Filter(func(s string) bool { return strings.TrimSpace(s) != "" }).Draw(r, "another number")}
	})
	list("additionalAddresses", 10, func(n int) map[string]any {
		address := map[string]any{"city": fmt.Sprint("Ort ", n%3)}
		for _, part := range []string{"street", "postalCode", "region"} {
			text := strings.TrimSpace(hostile.Draw(r, part+" of another address"))
			if text != "" && len([]rune(text)) <= 20 && rapid.Bool().Draw(r, part) {
				address[part] = text
			}
		}
		if rapid.Bool().Draw(r, "another country") {
			address["country"] = rapid.SampledFrom([]string{"DE", "AT", "CI", "GB", "VA"}).Draw(r, "another code")
		}
		return address
	})
}

// notDrawn are the members that draw leaves out, each with the reason.
var notDrawn = map[string]string{
	"companyId": "TestRoundTrip gives some contacts one of its companies",
	"ownerId":   "whoever imports a record owns it",
}

// TestRoundTripDrawsEveryMember checks that draw covers every member of contacts and companies. So
// TestRoundTrip tests new members too.
func TestRoundTripDrawsEveryMember(t *testing.T) {
	for family, members := range map[string][]string{"contacts": records.Contacts.Names(), "companies": records.Companies.Names()} {
		drawn := map[string]bool{}
		for i := range 200 {
			m := rapid.Custom(func(r *rapid.T) map[string]any { return draw(r, family == "companies", i) }).Example(i)
			for name := range m {
				drawn[name] = true
			}
			address, _ := m["address"].(map[string]any)
			for part := range address {
				drawn["address."+part] = true
			}
		}
		for _, name := range members {
			if !drawn[name] && notDrawn[name] == "" {
				t.Errorf("draw makes no %s.%s: add it there, and follow TestRoundTrip to card.go, imports.go and transfer/imports (CONTRIBUTING, a field of a record)", family, name)
			}
		}
	}
}

// recordsOf returns all contacts and companies by object and external id, without the members that
// an import sets anew. It adds the names of companies to names.
func recordsOf(c *apitest.Client, names map[string]string) map[string]string {
	c.Helper()
	all := map[string]string{}
	for _, family := range []string{"companies", "contacts"} {
		for _, r := range c.Do("GET", "/"+family+"?limit=100", nil).Want(200).Data() {
			if family == "companies" {
				names[r["id"].(string)] = r["name"].(string)
			}
			if id, _ := r["companyId"].(string); id != "" {
				r["companyId"] = names[id]
			}
			for _, member := range []string{"id", "createdAt", "updatedAt", "revision"} {
				delete(r, member)
			}
			all[fmt.Sprint(r["object"], r["externalId"])] = fmt.Sprintf("%#v", r)
		}
	}
	return all
}

// workbook returns a CSV table as an Excel workbook. The cells keep their text, including the
// characters that protect formulas.
func workbook(t *testing.T, table string) string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(table, "\ufeff")))
	r.Comma = ';'
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows bytes.Buffer
	for _, cells := range lines {
		rows.WriteString("<row>")
		for _, cell := range cells {
			rows.WriteString(`<c t="inlineStr"><is><t xml:space="preserve">`)
			xml.EscapeText(&rows, []byte(cell))
			rows.WriteString(`</t></is></c>`)
		}
		rows.WriteString("</row>")
	}
	return string(filetest.Workbook(t, rows.String()))
}

// TestRoundTrip exports random contacts and companies as a table, as a workbook and as vCards of
// both versions. It erases the records, imports each file, and checks that all records are equal.
func TestRoundTrip(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c := o.As(access.Member)
		b := pagetest.OpenAt(t, o, "https://kartei.example")
		b.Cookie = o.Session(c.Principal)
		begin := seed.Rand(t).IntN(1 << 30)
		for round := range 3 { // each round has 16 records and four formats
			var firms []string
			for n := range 16 {
				m := rapid.Custom(func(r *rapid.T) map[string]any { return draw(r, n < 6, n) }).Example(begin + 16*round + n)
				if n < 6 {
					firms = append(firms, c.Do("POST", "/companies", m).Want(201).Text("id"))
					continue
				}
				if n%2 == 0 { // files have only the name of a company, so only companies that everybody sees are linked
					m["companyId"] = firms[[]int{1, 2, 4, 5}[n/2%4]]
				}
				c.Do("POST", "/contacts", m).Want(201)
			}
			want := recordsOf(c, map[string]string{})
			for _, format := range []string{"csv", "xlsx", "vcard", "vcard3"} {
				files := map[string]string{}
				for _, family := range []string{"companies", "contacts"} {
					fields := b.Get("/sandbox/" + family).Want(200).Fields("/sandbox/" + family + "/export")
					fields.Set("whole", "true")
					fields.Set("format", strings.Replace(format, "xlsx", "csv", 1))
					files[family] = b.Do("POST", "/sandbox/"+family+"/export", fields).Want(200).Body
					if format == "xlsx" {
						files[family] = workbook(t, files[family])
					}
				}
				eraseAll(c)
				for _, family := range []string{"companies", "contacts"} {
					importFile(b, o, files[family], strings.TrimSuffix(format, "3"))
				}
				got := recordsOf(c, map[string]string{})
				for _, key := range slices.Sorted(maps.Keys(want)) {
					if got[key] != want[key] {
						t.Fatalf("%s: %s became\n%s, was\n%s\nin\n%s", format, key, got[key], want[key], inFiles(files, want[key]))
					}
				}
				for _, key := range slices.Sorted(maps.Keys(got)) {
					if want[key] == "" {
						t.Fatalf("%s: %s was not there before:\n%s\nin\n%s", format, key, got[key], inFiles(files, got[key]))
					}
				}
			}
			eraseAll(c)
		}
	})
}

// numbered matches the unique part of a record's email address.
var numbered = regexp.MustCompile(`a\.b\+\d+@`)

// inFiles returns the text around a record in the files, for error messages.
func inFiles(files map[string]string, record string) (near string) {
	for _, file := range files {
		file = strings.ReplaceAll(file, "\r\n ", "")
		if at := strings.Index(file, numbered.FindString(record)); at >= 0 {
			near += file[max(0, at-500):min(len(file), at+1000)]
		}
	}
	return strings.ToValidUTF8(near, "")
}

// importFile imports a file into the sandbox with the suggested columns.
func importFile(b *pagetest.Browser, o *apitest.Office, content, format string) {
	b.T.Helper()
	send := func(row string, in any) (x imports.Import) {
		b.T.Helper()
		body, err := json.Marshal(in)
		if err != nil {
			b.T.Fatal(err)
		}
		got := o.API.Do(b.T.Context(), &api.Request{
			Operation: api.ByID(row), Door: api.Web, Credential: api.Cookie(b.Cookie, true), Address: netip.MustParseAddr("192.0.2.7"), Header: map[string][]string{},
			HasBody: true, Body: func() ([]byte, error) { return body, nil },
		}, nil)
		if got.Fault != nil {
			b.T.Fatalf("%s: %d %s", row, got.Status, got.Body)
		}
		if err := json.Unmarshal(got.Body, &x); err != nil && row != "imports.append" {
			b.T.Fatal(err)
		}
		return x
	}
	of := imports.Reference{ID: send("imports.create", imports.CreateInput{FileName: "a", Size: int64(len(content))}).ID}
	send("imports.append", imports.AppendInput{Reference: of, Content: []byte(content)})
	send("imports.complete", imports.CompleteInput{Reference: of, Pieces: 1})
	o.Recover()
	x := send("imports.get", of)
	in := imports.MapInput{Reference: of, Options: x.Options}
	for _, c := range x.Columns {
		in.Targets = append(in.Targets, c.Target)
	}
	send("imports.map", in)
	o.Recover()
	send("imports.run", of)
	o.Recover()
	if x = send("imports.get", of); x.State != imports.Finished || x.Format != format {
		b.T.Fatalf("%+v", x)
	}
}

// eraseAll deletes all contacts and companies.
func eraseAll(c *apitest.Client) {
	c.Helper()
	for _, family := range []string{"contacts", "companies"} {
		for _, r := range c.Do("GET", "/"+family+"?limit=100", nil).Want(200).Data() {
			c.Do("DELETE", "/"+family+"/"+url.PathEscape(r["id"].(string)), nil, "If-Match", "*").Want(204)
		}
	}
}
