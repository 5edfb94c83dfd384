package legacy

import (
	"errors"
	"strings"
	"testing"

	"kartei/extract/textio"
	"kartei/test/readtest"
)

func TestRTF(t *testing.T) {
	fonts := func(charset string) string { return `{\fonttbl{\f0\fnil Arial;}{\f1\fnil` + charset + ` Arial;}}` }
	for _, c := range []struct{ name, content, want string }{
		{"the places of header and footer", `{\rtf1\ansi\sectd\headery708\footery708\pard Klage\par}`, "Klage"},
		{"other words that begin so", `{\rtf1\footnotesize1\headerfoo2\pard Klage}`, "Klage"},
		{"headers and footers", `{\rtf1{\header Kopf\par}{\headerl links}{\headerr rechts}{\headerf erste}{\footer Fuß}{\footerl l}{\footerr r}{\footerf e}Text\par}`,
			"Text\n\nKopf\n\nlinks\n\nrechts\n\nerste\n\nFuÃŸ\n\nl\n\nr\n\ne"},
		{
			"a text box",
			`{\rtf1{\shp{\*\shpinst\shpleft1{\sp{\sn shapeType}{\sv 202}}{\shptxt \pard Aktenzeichen\par}}{\shprslt{\*\do\dptxbx{\dptxbxtext Aktenzeichen}}}}Text}`,
			"Text\n\nAktenzeichen",
		},
		{"a text box of Word 95", `{\rtf1{\*\do\dobxpage{\dptxbxtext Aktenzeichen}}Text}`, "Text\n\nAktenzeichen"},
		{"notes and comments", `{\rtf1 Haupt{\super\chftn{\footnote\pard Fußnote}}text{\*\atnid A}{\*\atnauthor Anna}{\*\annotation{\*\atndate 1}Bitte kürzen}.\par}`,
			"Haupttext.\n\nFuÃŸnote\n\nBitte kÃ¼rzen"},
		{
			"title and subject",
			`{\rtf1{\info{\title Titel}{\author Niemand}{\subject Betreff}{\keywords Wort}{\company Firma}{\doccomm Notiz}}Text}`,
			"Titel\nBetreff\nWort\nNotiz\nText",
		},
		{
			"text in both forms",
			`{\rtf1{\info{\upr{\title ??}{\*\ud{\title \u381?al}}}{\author x}}{\upr{Weg}{\*\ud{Da}}}}`,
			"Žal\nDa",
		},
		{
			"an object with its result",
			`{\rtf1{\object\objemb{\*\objclass Excel}{\*\objdata 00ff}{\result Tabelle}}}`, "Tabelle",
		},
		{"a field", `{\rtf1{\field{\*\fldinst HYPERLINK "x"}{\fldrslt Verweis}}}`, "Verweis"},
		{"deleted text", `{\rtf1 neu{\deleted alt}{\revised\deleted0 er}}`, "neuer"},
		{"hidden text", `{\rtf1 sicht{\v bar}}`, "sichtbar"},
		{"an entry of an index", `{\rtf1 Wort{\xe{\v Register}}}`, "Wort"},

		{"the code page of the document", `{\rtf1\ansi\ansicpg1250 \'a3\'f3d\'9f}`, "Łódź"},
		{
			"character set of the font",
			`{\rtf1\ansi\ansicpg1252` + fonts(`\fcharset204`) + `\f1 \'c4\'ee\'e3\'ee\'e2\'ee\'f0 {\f0 \'c4}\plain \'c4}`,
			"Договор ÄÄ",
		},
		{"code page of the font", `{\rtf1` + fonts(`\cpg1253`) + `\f1 \'cb\'fc\'e3\'ef\'f2}`, "Λόγος"},
		{"the standard font", `{\rtf1\deff1` + fonts(`\fcharset238`) + `\'b9}`, "ą"},
		{"character set 0 in Russia", `{\rtf1\ansi\ansicpg1251` + fonts(`\fcharset0`) + `\f1 \'e4\'e0}`, "да"},
		{
			"character set 0 beside that of Russia",
			`{\rtf1\ansi\ansicpg1251{\fonttbl{\f0\fcharset204 A;}{\f1\fcharset0 A;}}\f1 caf\'e9 \f0 \'e4\'e0}`,
			"café да",
		},
		{"DOS", `{\rtf1\pc \'81}`, "ü"},
		{"the Mac", `{\rtf1\mac \'9f}`, "ü"},
		{"the IBM PC", `{\rtf1\pca \'81}`, "ü"},
		{"Japanese", `{\rtf1\ansi\ansicpg932 \'8c\'5f\'96\'f1 \'83\\ \'b1}`, "契約 ソ ｱ"},
		{"simplified Chinese", `{\rtf1` + fonts(`\fcharset134`) + `\f1\'ba\'cf\'cd\'ac}`, "合同"},
		{"traditional Chinese", `{\rtf1` + fonts(`\fcharset136`) + `\f1\'a6X\'ac\'f9}`, "合約"},
		{"Korean", `{\rtf1\ansicpg949 \'b0\'e8` + "\r\n" + `\'be\'e0}`, "계약"},
		{"UTF-8", `{\rtf1\ansicpg65001 M\'c3\'bcller, K` + "\u00f6" + `ln}`, "Müller, Köln"},
		{"replacements in two bytes", `{\rtf1\ansicpg936\uc2 \u21512\'ba\'cf\u21516\'cd\'ac!}`, "合同!"},
		{"no replacements", `{\rtf1\uc0 M\u252 ller \u-10179\u-8704 {\uc1\u8364 E}}`, "Müller 😀€"},
		{"a number beyond 16 bits", `{\rtf1\u128512?}`, "😀"},
		{"half a character", `{\rtf1\ansicpg932 a\'8c\par b}`, "a\nb"},

		{"NULs behind the end", `{\rtf1 Text}` + strings.Repeat("\x00", 100), "Text"},
		{"anything behind the end", `{\rtf1 Text}}}` + "\r\n\x1a noch etwas {mehr}", "Text"},
		{"a mark and blanks before", "\ufeff \r\n" + `{\rtf1 Text}`, "Text"},
		{"binary data", `{\rtf1{\pict\bin5 {{{}}}Text\bin-1 e}`, "Texte"},
		{"cells of tables within tables", `{\rtf1 a\cell\nestcell b\nestrow{\nonesttables\par x}c}`, "a\tb\nc"},
		{"no end", `{\rtf1 Text`, "Text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := readtest.Text(t, RTF, []byte(c.content), textLimit); got != c.want || err != nil {
				t.Errorf("%q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

// TestRTFAsides checks that only a limited part of notes and headers is kept until the end. If the
// file is cut, none of their text is lost.
func TestRTFAsides(t *testing.T) {
	const notes = 3 * maxAsides / 1000
	content := `{\rtf1 Anfang` + strings.Repeat(`{\footnote `+strings.Repeat("x", 999)+`}`, notes)
	text, err := readtest.Text(t, RTF, []byte(content+`{\header Ende}\bin9`), 8<<20)
	if n := strings.Count(text, "x"); n != 999*notes || !strings.HasPrefix(text, "Anfang") ||
		!strings.HasSuffix(text, "\nEnde") || !errors.Is(err, textio.ErrBroken) {
		t.Errorf("%d of %d characters, %v", n, 999*notes, err)
	}
}
