package vcard_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"kartei/kit/vcard"
)

// cards reads a whole file. It returns a text for each card, with properties in the form
// NAME/type/type=part|part.
func cards(t testing.TB, file string) (list []string) {
	t.Helper()
	r := vcard.NewReader(strings.NewReader(file))
	r.Text = func(value []byte, charset string) string {
		if e, err := htmlindex.Get(charset); err == nil {
			value, _ = e.NewDecoder().Bytes(value)
		}
		return strings.ToValidUTF8(string(value), "?")
	}
	for {
		card, line, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return list
		case errors.Is(err, vcard.ErrCard):
		case err != nil:
			t.Fatal(err)
		}
		text := fmt.Sprint(line)
		if err != nil {
			text += " !"
		}
		for _, p := range card {
			text += " " + strings.Join(append([]string{p.Name}, p.Types...), "/") + "=" + strings.Join(p.Parts(), "|")
			if p.Typed != "" {
				text += "(" + p.Typed + ")"
			}
			if p.Repeats {
				text += "(again)"
			}
			if p.Additional {
				text += "<" + p.Label + ">"
			}
		}
		list = append(list, text)
	}
}

func TestReader(t *testing.T) {
	for file, want := range map[string]string{
		"BEGIN:VCARD\r\nVERSION:4.0\r\nN:Berg;Anna;;Dr.;\r\nTEL;TYPE=\"cell,voice\":+49 171\r\nNOTE:eins\\nzwei\\, drei\\; vier\r\nEND:VCARD\r\n": "1 VERSION=4.0 N=Berg|Anna||Dr.| TEL/cell/voice=+49 171 NOTE=eins\nzwei, drei; vier",
		"BEGIN:VCARD\nVERSION:3.0\nitem1.EMAIL;type=INTERNET;type=WORK:a@b.example\nADR;TYPE=work:;;Weg \n 1;Köln;;50667;\nEND:VCARD\n":           "1 VERSION=3.0 EMAIL/internet/work=a@b.example ADR/work=||Weg 1|Köln||50667|",
		"begin:vcard\nversion:2.1\nn;charset=iso-8859-1;encoding=quoted-printable:M=FCller;J=\n=F6rg\ntel;work;voice:0221\nend:vcard\n":           "1 VERSION=2.1 N=Müller|Jörg TEL/work/voice=0221",
		"BEGIN:VCARD\nNOTE;QUOTED-PRINTABLE:a=3Db\nPHOTO;ENCODING=b:AAAA\n AAAA\nEND:VCARD\n":                                                     "1 NOTE/quoted-printable=a=b PHOTO=",
		"x\n\nBEGIN:VCARD\nAGENT:\nBEGIN:VCARD\nFN:x\nEND:VCARD\nFN:y\nEND:VCARD\nBEGIN:VCARD\nFN:z\nEND:VCARD":                                   "3 AGENT=x FN=y;10 FN=z",
		"BEGIN:VCARD\nFN:x\n": "1 ! FN=x",
		"BEGIN:VCARD\nFN:x\nBEGIN:VCARD\nFN:y\nEND:VCARD\nBEGIN:VCARD\nBEGIN:VCARD\nFN:z\nEND:VCARD\n":     "1 ! FN=x;3 FN=y;6 !;7 FN=z",
		"BEGIN:VCARD\nAGENT:\n\nBEGIN:VCARD\nAGENT:\nBEGIN:VCARD\nEND:VCARD\nEND:VCARD\nFN:y\nEND:VCARD\n": "1 AGENT= FN=y",
		"BEGIN:VCARD\nNOTE:" + strings.Repeat("x", 70000) + "\nPHOTO;ENCODING=b:" +
			strings.Repeat("\n xxxxxxxxxx", 7000) +
			"\nFN;:y\nEND:VCARD": "1 NOTE=" + strings.Repeat("x", 64<<10-5) + " PHOTO= FN=y",
		// Some programs fold within a character or after a soft line break, or write the lines of a
		// note without escapes. Some forget the end of a value or of a card.
		"BEGIN:VCARD\nNOTE:M\xc3\n \xbcller\nN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Gr=C3=BC=\n =C3=9Fe\nEND:VCARD":     "1 NOTE=Müller N=Grüße",
		"BEGIN:VCARD\nNOTE:eins\nzwei\n\nFN:y\nEND:VCARD":                                                                  "1 NOTE=eins\nzwei FN=y",
		"BEGIN:VCARD\nADR:;;a\nb;c\nTITLE:x\ny\nPHOTO;ENCODING=b:AA\nBB\nEND:VCARD":                                        "1 ADR=||a\nb|c TITLE=x =y PHOTO=",
		"BEGIN:VCARD\nNOTE;QUOTED-PRINTABLE:x=zz=\nEND:VCARD\nBEGIN:VCARD\nFN;X=\"a:y\nEND:VCARD":                          "1 NOTE/quoted-printable=x=zz;4 FN=y",
		"BEGIN:VCARD\nTEL;VALUE=uri;X-KARTEI-TYPED=\"0221 1 ^'a^'^n;x:\":tel:+492211\nEND:VCARD":                           "1 TEL=tel:+492211(0221 1 \"a\"\n;x:)",
		"BEGIN:VCARD\nitem1.TEL;X-KARTEI-LABEL=\"B^'ü^^\";X-KARTEI-TYPED=\"\":1\nEMAIL;X-KARTEI-LABEL=\"\":a@b\nEND:VCARD": "1 TEL=1(again)<B\"ü^> EMAIL=a@b<>",
		"BEGIN:VCARD\n" + strings.Repeat("FN:x\n", 600) +
			"END:VCARD\nBEGIN:VCARD\nFN;X=\"a:b;c\":y\nEND:VCARD": "1 !" + strings.Repeat(" FN=x", 500) + ";603 FN=y",
		"Nachname;Vorname\n": "",
	} {
		if got := strings.Join(cards(t, file), ";"); got != want {
			t.Errorf("%.80q became\n%q, want\n%q", file, got, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, file := range []string{
		"BEGIN:VCARD\nN;QUOTED-PRINTABLE:a=\n=FC;b\nEND:VCARD\n",
		"BEGIN:VCARD\r\nNOTE:a\\\r\n b\r\nEND:VCARD", "BEGIN:VCARD\nPHOTO;ENCODING=b:AA==\nEND:VCARD",
	} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) {
		for _, card := range cards(t, strings.ToValidUTF8(file, "?")) {
			if !utf8.ValidString(card) || strings.ContainsRune(card, 0) {
				t.Fatalf("%q", card)
			}
		}
	})
}
