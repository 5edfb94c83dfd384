package extract

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"kartei/test/filetest"
	"kartei/test/readtest"
)

func FuzzReadText(f *testing.F) {
	filetest.Seed(f, "testdata", ".csv", ".html", ".ms")
	f.Add([]byte(filetest.UTF16("Guten Tag\r\n")))
	f.Add([]byte("M\xfcller \u00ad\ufeff\x00"))
	f.Add([]byte(strings.Repeat("x", 4095) + " ü")) // the limit has space for the blank, but not for the letter after it
	readtest.Fuzz(f, readPlain, readHTML)
}

func FuzzReadXML(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE a [<!ENTITY l "x">]><a b="c">&l;<![CDATA[<b>]]></a>`))
	readtest.Fuzz(f, readXML)
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"a":["b",1,null,{"c":"\ud83d\ude00"}],"a":true} "d"`))
	readtest.Fuzz(f, readJSON)
}

// FuzzReadPDF checks that no content of a PDF causes an error or crashes the child.
func FuzzReadPDF(f *testing.F) {
	f.Add(filetest.PDF("a"))
	f.Add(filetest.PDF("a", "b", "c"))
	// The fuzzer regards a worker as hung if one input takes 10 seconds. Compiling the PDF reader
	// may take longer on a busy machine. So it is compiled before the first input.
	if warm, err := extractor(f, Limits{}).fill(f.Context()); !warm || err != nil {
		f.Fatalf("fill the cache: %t, %v", warm, err)
	}
	x := extractor(f, Limits{Text: 4096, Time: time.Second})
	f.Fuzz(func(t *testing.T, content []byte) {
		text, err := x.Extract(t.Context(), 1, bytes.NewReader(content), "application/pdf")
		if err != nil || text.Reason == Crashed {
			t.Errorf("%+v, %v", text, err)
		}
	})
}
