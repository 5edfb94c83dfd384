package website

import "testing"

func TestComplete(t *testing.T) {
	for typed, want := range map[string]string{
		"www.berg.example":                      "https://www.berg.example",
		" https://berg.example/a,b;c?d=%C3%BC ": "https://berg.example/a,b;c?d=%C3%BC",
		"HTTP://WWW.Berg.Example:8080/Wir":      "http://www.berg.example:8080/Wir",
		"bücher.example/über?für=uns#öffnung":   "https://xn--bcher-kva.example/%C3%BCber?f%C3%BCr=uns#%C3%B6ffnung",
		"https://berg.example/{a}|b^c":          "https://berg.example/%7Ba%7D%7Cb%5Ec",
		"http://intranet/":                      "http://intranet/",
		"intranet":                              "",
		"info@berg.example":                     "",
		"https://anna:geheim@berg.example/":     "",
		"berg.example und tal.example":          "",
		"javascript:alert(a.b)":                 "",
		"mailto:ida@berg.example":               "",
		"huber.example:8443/team?a=b:c":         "https://huber.example:8443/team?a=b:c",
		"javascript://berg.example/%0aalert(1)": "",
		"ftp://berg.example":                    "",
		"https://":                              "",
		"keine":                                 "",
	} {
		got, is := Complete(typed)
		if got != want || is != (want != "") {
			t.Errorf("%q: %q, %v, want %q", typed, got, is, want)
		}
	}
}
