package vcard_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kartei/kit/vcard"

	govcard "github.com/emersion/go-vcard"
	"pgregory.net/rapid"

	"kartei/test/seed"
)

// TestRead checks that go-vcard reads the cards that Card writes.
func TestRead(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-zäöß ,;:\\\n"<>=+-]{0,120}`), rapid.StringMatching(`[äöü€😀]{60,120}`))
	seed.Check(t, func(t *rapid.T) {
		name, note := "x"+text.Draw(t, "name"), text.Draw(t, "note")
		part := rapid.StringMatching(`[a-zäöü€ ,:"<>=+-]{0,80}`) // go-vcard cannot read escaped semicolons here, so TestForm checks them
		family, given := part.Draw(t, "family"), part.Draw(t, "given")
		tags := []string{rapid.StringMatching(`[a-zä]{1,60}`).Draw(t, "tag"), "b"} // go-vcard cannot read escapes here
		c := vcard.New("individual")
		c.Add("FN", name)
		c.Add("NOTE", note)
		c.Add("TEL;TYPE=cell", "+49221987")
		c.Parts("N", family, given, "", "", "")
		c.List("CATEGORIES", tags...)
		file := c.String()
		for _, line := range strings.Split(file, "\r\n") {
			if len(line) > 75 || !utf8.ValidString(line) {
				t.Fatalf("a line of %d bytes: %q", len(line), line)
			}
		}
		read, err := govcard.NewDecoder(strings.NewReader(file)).Decode()
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		if read.Value("FN") != name || read.Value("NOTE") != note || read.Value("VERSION") != "4.0" ||
			read.Get("TEL").Params.Get("TYPE") != "cell" {
			t.Fatalf("%q, %q became %v", name, note, read)
		}
		if n := read.Name(); (family != "" || given != "") && (n.FamilyName != family || n.GivenName != given) {
			t.Fatalf("%q, %q became %+v", family, given, n)
		}
		if got := read.Categories(); !slices.Equal(got, tags) {
			t.Fatalf("%q became %q", tags, got)
		}
	})
}

func TestForm(t *testing.T) {
	c := vcard.New("org")
	c.Add("FN", "Haas; Söhne, KG\x00")
	c.Add("NOTE", "")
	c.Parts("ADR", "", "", "Weg 1;2", "", "", "", "")
	c.Parts("N", "", "")
	c.List("CATEGORIES", `a,b\`, "c")
	c.Add("NOTE", "1\r\n2")
	want := "BEGIN:VCARD\r\nVERSION:4.0\r\nKIND:org\r\nFN:Haas; Söhne\\, KG\r\nADR:;;Weg 1\\;2;;;;\r\nCATEGORIES:a\\,b\\\\,c\r\nNOTE:1\\n2\r\nEND:VCARD\r\n"
	if got := c.String(); got != want {
		t.Errorf("%q", got)
	}
}

// Version 3.0 escapes semicolons in texts. The address of a page has no characters that programs escape
// differently.
func TestFormOfVersion3(t *testing.T) {
	c := vcard.NewOld("individual")
	c.Add("NOTE", "1; 2")
	c.List("CATEGORIES", "a;b")
	c.Link("URL", "https://a.example/?b=c,d;e")
	want := "BEGIN:VCARD\r\nVERSION:3.0\r\nNOTE:1\\; 2\r\nCATEGORIES:a\\;b\r\n" +
		"URL;X-KARTEI-TYPED=\"https://a.example/?b=c,d;e\":https://a.example/?b=c%2Cd%\r\n 3Be\r\nEND:VCARD\r\n"
	if got := c.String(); got != want {
		t.Errorf("%q", got)
	}
}
