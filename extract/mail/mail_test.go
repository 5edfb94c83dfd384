package mail

import (
	"strings"
	"testing"

	"kartei/extract/textio"
	"kartei/test/filetest"
	"kartei/test/readtest"
)

const multipart = "From: =?ISO-8859-1?Q?J=FCrgen_Wei=DF?= <weiss@example.com>\r\nTo: Anna Berg <anna@example.com>, b@example.com\r\n" +
	"Subject: =?UTF-8?B?S8O8bmRpZ3VuZw==?=\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=A\r\n\r\nVorspann\r\n" +
	"--A\r\nContent-Type: multipart/alternative; boundary=B\r\n\r\n" +
	"--B\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nSch=F6ne Gr=FC=DFe\r\n" +
	"--B\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Schöne Grüße</p>\r\n--B--\r\n" +
	"--A\r\nContent-Type: application/pdf; name=\"=?UTF-8?Q?Bescheid_M=C3=BCller.pdf?=\"\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n" +
	"--A\r\nContent-Type: message/rfc822\r\n\r\nSubject: Anlage\r\nContent-Type: text/html\r\n\r\n<b>inne</b>rhalb\r\n" +
	"--A\r\nContent-Type: text/plain; charset=x-unheard-of\r\n\r\nsp\xc3\xa4ter\r\n--A--\r\n"

// alternatives returns a message with a plain text and an HTML page.
func alternatives(text, page string) string {
	return "Subject: a\nContent-Type: multipart/alternative; boundary=x\n\n--x\n\n" + text +
		"\n--x\nContent-Type: text/html\n\n" + page + "\n--x--\n"
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{
			"one part", filetest.Letter,
			"Termin\nAnna Berg anna.berg@example.com\nb@example.com\nMon, 02 Nov 2026 10:00:00 +0100\n\nGuten Tag",
		},
		{"a picture and a signature", "Subject: a\nContent-Type: multipart/signed; boundary=x\n\n--x\n\nText\n--x\nContent-Type: image/png; name=logo.png\n\nx\n" +
			"--x\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename=Foto.JPG\n\nx\n--x\nContent-Type: application/pgp-signature; name=s.asc\n\nx\n--x--\n", "a\n\nText\nlogo.png\nFoto.JPG\ns.asc"},
		{"many parts", multipart, "Kündigung\nJürgen Weiß weiss@example.com\nAnna Berg anna@example.com\tb@example.com\n\n" +
			"Schöne Grüße\nBescheid Müller.pdf\n\nAnlage\n\ninnerhalb\n\nspäter"},
		{"no charset", "From: a@b.de\r\nSubject: M\xfcller\r\n\r\nM\xfcller", "Müller\na@b.de\n\nMüller"},
		{"a mailbox", "From anna@example.com Sat Nov 28 10:00:00 2026\nSubject: eins\n\nErste\n\nFrom here on it is text\n\nFrom b@example.com Sat Nov 28 11:00:00 2026\nSubject: zwei\n" +
			"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nWndlaXRl\n",
			"eins\n\nErste\n\nFrom here on it is text\n\nzwei\n\nZweite"},
		{
			"a line of a mailbox that was escaped",
			">From anna Sat Nov 28 10:00:00 2026\nSubject: eins\n\nErste", "eins\n\nErste",
		},
		{
			"a line without a colon", "Subject: eins\nnichts dergleichen\n weiter\nFrom: a@b.de\n\nText",
			"eins\na@b.de\n\nText",
		},
		{
			"no empty line before the text", "Subject: eins\nFrom: a@b.de\nLiebe Frau Berg,\nguten Tag\n\nIhr B",
			"eins\na@b.de\n\nLiebe Frau Berg,\nguten Tag\nIhr B",
		},
		{"UTF-16", filetest.UTF16("Subject: eins\r\n\r\nText"), "eins\n\nText"},
		{"ASCII that is UTF-8", "Subject: Grüße\nContent-Type: text/plain; charset=us-ascii\n\nGrüße", "Grüße\n\nGrüße"},
		{"UTF-8 that is none", "Subject: a\nContent-Type: text/plain; charset=\"UTF-8\"\n\nGr\xfc\xdfe", "a\n\nGrüße"},
		{
			"a charset that nobody knows",
			"Subject: =?x-unheard-of?Q?Gr=C3=BC=C3=9Fe?=\nContent-Type: text/plain; charset=x-unheard-of\n\nGr\xfc\xdfe",
			"Grüße\n\nGrüße",
		},
		{
			"words cut within a character",
			"Subject: =?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?= =?utf-8?Q?_aus_K=C3?=\n =?utf-8?Q?=B6ln?=, Tag\n\nx",
			"Grüße aus Köln, Tag\n\nx",
		},
		{
			"words in an address that is none", "To: =?utf-8?Q?M=C3=BCller?= <<a, =?utf-8?Q?K=C3=B6nig?=\n\nx",
			"Müller <<a, König\n\nx",
		},
		{
			"quoted-printable with mistakes",
			"Subject: a\nContent-Transfer-Encoding: Quoted-Printable\n\n1 = 1 =zz =\nGr=fc=DF= \t\r\ne=",
			"a\n\n1 = 1 =zz Grüße=",
		},
		{
			"base64 with mistakes",
			"Subject: a\nContent-Transfer-Encoding: base64\n\nR3LD\nvM Of!ZQ==R3LDvMOfZQ", "a\n\nGrüßeGrüße",
		},
		{"an encoding that nobody knows", "Subject: a\nContent-Transfer-Encoding: x-own\n\nText", "a\n\nText"},
		{"a boundary that does not occur", "Subject: a\nContent-Type: multipart/mixed; boundary=x\n\nText", "a\n\nText"},
		{"no boundary", "Subject: a\nContent-Type: multipart/mixed\n\n--x\nText", "a\n\n--x\nText"},
		{
			"no last boundary",
			"Subject: a\nContent-Type: multipart/mixed; boundary=\"x y\"\n\n--x y\n\nText\n--x y\nContent-Type: text/html\n\n<p>Seite",
			"a\n\nText\n\nSeite",
		},
		{
			"a file name with blanks",
			"Subject: a\nContent-Type: application/pdf; name=Bescheid M\xfcller.pdf\n\nJVBERg==",
			"a\n\nBescheid Müller.pdf",
		},
		{
			"a file name in pieces",
			"Subject: a\nContent-Disposition: attachment; filename*0*=utf-8''M%C3%BC; filename*1=ller; filename*2*=%2epdf\nContent-Type: application/pdf\n\nx",
			"a\n\nMüller.pdf",
		},
		{"a text with a name", "Subject: a\nContent-Type: text/plain; name=text.txt\n\nText", "a\n\ntext.txt\n\nText"},
		{"a message with a name, encoded", "Subject: a\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: message/rfc822; name=\"b.eml\"\nContent-Disposition: attachment\n" +
			"Content-Transfer-Encoding: base64\n\nU3ViamVjdDogYgoKaW5uZW4=\n--x--\n", "a\n\nb.eml\n\nb\n\ninnen"},
		{
			"forms that are the same",
			alternatives("Guten *Tag*, Frau Berg", "<p>Guten <b>Tag</b>, Frau <i>Berg</i>"),
			"a\n\nGuten *Tag*, Frau Berg",
		},
		{"a form with more", alternatives("Guten Tag", "<p>Guten Tag, Frau Berg"), "a\n\nGuten Tag, Frau Berg"},
		{
			"a form that only says that there is another",
			alternatives("Ihr Programm zeigt keine Seiten.", "<p>Rumpf"),
			"a\n\nIhr Programm zeigt keine Seiten.\n\nRumpf",
		},
		{"an empty form", alternatives(" ", "<p>Rumpf"), "a\n\nRumpf"},
		{"broken addresses", "From: <<a\r\nSubject: x\r\n\r\ny", "x\n<<a\n\ny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want error
			if strings.Contains(c.want, ".pdf") {
				want = textio.ErrContained
			}
			if got, err := readtest.Text(t, Read, []byte(c.content), 1<<20); got != c.want || err != want {
				t.Errorf("%q, %v\nwant %q, %v", got, err, c.want, want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(filetest.Letter))
	f.Add([]byte(multipart))
	f.Add([]byte(alternatives("Guten Tag", "<p>Rumpf")))
	f.Add([]byte("\ufeff\r\nFrom - Sat Nov 28 10:00:00 2026\nSubject: =?utf-8?B?R3LD?= =?utf-8?Q?=BC?=\nx\nContent-Type: text/plain; name*0*=a''%41; charset=x\n" +
		"Content-Transfer-Encoding: quoted-printable\n\na==\n=\n\nFrom b Sat Nov 28 10:00:00 2026\n\nx"))
	readtest.Fuzz(f, Read)
}
