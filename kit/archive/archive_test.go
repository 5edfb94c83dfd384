package archive

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestArchive(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, time.Date(2026, 11, 26, 9, 30, 0, 0, time.UTC))
	for _, p := range []Part{
		{"a.txt", []byte("Grüße "), false},
		{"a.txt", []byte("aus Köln"), false},
		{"leer", nil, false},
		{"Ordner/ü.pdf", []byte(strings.Repeat("x", 100)), true},
	} {
		if err := w.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len())); err == nil {
		t.Error("an archive without its end can be opened")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.Name+"="+string(b[:min(len(b), 20)]))
		if stored := f.Method == zip.Store; stored != strings.HasSuffix(f.Name, ".pdf") {
			t.Errorf("%s is stored: %t", f.Name, stored)
		}
	}
	if want := "a.txt=Grüße aus Köln,leer=,Ordner/ü.pdf=" + strings.Repeat("x", 20); strings.Join(got, ",") != want {
		t.Errorf("%q", got)
	}
}

func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"Klage.pdf": "Klage.pdf", "../../etc/passwd": "_.._etc_passwd", `a\b:c.txt`: "a_b_c.txt", "con.txt": "_con.txt",
		"CON": "_CON", "console.txt": "console.txt",
		"": "_", " . ": "_", "a\u202efdp.exe": "a_fdp.exe", "x\x00y": "x_y",
		strings.Repeat("ä", 200) + ".docx": strings.Repeat("ä", 115) + ".docx",
	} {
		if got := SafeName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
