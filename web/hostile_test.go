package web

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/reference"
)

// hostile is a text that would run a script or end an attribute, if a page did not escape it.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`

// TestTextIsNeverMarkup checks that no text from a document, the guide or a setting becomes markup,
// on any page.
func TestTextIsNeverMarkup(t *testing.T) {
	one := reference.Member{
		Name: hostile, Text: hostile + " `" + hostile + "`", Types: []string{hostile}, Format: hostile,
		Values: []string{hostile}, Open: true,
		Default: hostile, Objects: []reference.Object{
			{Name: hostile, Members: []reference.Member{{Name: "in", Example: hostile}}},
		},
	}
	header := reference.Header{Name: hostile, Text: hostile, Example: hostile}
	body := &reference.Body{
		Text:    hostile,
		Type:    hostile,
		Example: hostile,
		Objects: []reference.Object{{Name: hostile, Members: []reference.Member{one}}},
	}
	o := reference.Operation{
		ID: hostile, Slug: hostile, Method: hostile, Path: hostile, Summary: hostile, Text: hostile, Preview: true,
		Facts: []reference.Fact{{Name: hostile, Value: hostile}}, Events: []string{hostile},
		Parameters: []reference.Place{{In: hostile, Parameters: []reference.Member{one}}},
		Body:       body, Answers: []reference.Answer{
			{Status: hostile, Text: hostile, Headers: []reference.Header{header}, Body: body},
		},
		Problems: []reference.Problem{{Status: hostile, Codes: []string{hostile}}},
		Samples:  []reference.Sample{{Lang: "sh", Label: hostile, Source: hostile}, {Lang: "none", Source: hostile}},
	}
	g := reference.Group{
		Name:       hostile,
		Slug:       hostile,
		Title:      hostile,
		Text:       hostile,
		Operations: []reference.Operation{o, o},
		Object:     &body.Objects[0],
		Example:    hostile,
	}
	assets, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	p := page{
		Options: Options{
			BaseURL:       "https://kartei.example/" + hostile,
			Versions:      []string{"1", hostile},
			Announcements: map[string]i18n.Text{hostile: hostile},
		},
		Language: i18n.German, Path: "/" + hostile, Title: hostile, Version: hostile, assets: assets, Group: g,
		Doc: &reference.Document{
			Title: hostile, Summary: hostile, Server: hostile, Text: hostile,
			Sections: []reference.Section{{ID: hostile, Heading: hostile, Text: hostile}},
			Groups:   []reference.Group{g}, Parameters: []reference.Member{one}, Headers: []reference.Header{header},
			ProblemHeaders: []reference.Header{header},
			Webhooks:       []reference.Operation{o},
		},
	}
	for name, drawn := range map[string]templ.Component{
		"start": startPage(p), "missing": missingPage(p), "method": methodPage(p), "problems": problemsPage(p),
		"problem": problemPage(p, fault.Internal.Entry()),
		"article": articlePage(p, newArticle([]byte("# "+hostile+"\n\n"+hostile+"\n\n```sh\n"+hostile+
			"\n```\n\n    "+hostile+"\n\n[a](javascript:alert(1))"), i18n.English)),
		"introduction": introductionPage(p), "group": groupPage(p), "operation": operationPage(p, o),
		"webhooks": webhooksPage(p),
	} {
		var b bytes.Buffer
		if err := drawn.Render(context.Background(), &b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		drawn := b.String()
		if !strings.Contains(drawn, "&lt;script&gt;") {
			t.Errorf("%s: the text is not there at all", name)
		}
		for _, never := range []string{"<script>", "<img", `href="javascript:`} {
			if at := strings.Index(drawn, never); at >= 0 {
				t.Errorf("%s holds %s: %s", name, never, drawn[max(0, at-120):at+60])
			}
		}
	}
}
