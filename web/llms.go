package web

import (
	"fmt"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/reference"
)

// llms returns /llms.txt in the format of llmstxt.org: a short description in Markdown with links,
// for language models. It is in English.
func llms(o Options) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# Kartei

> A REST API for the contacts, companies, tasks and documents of one organization. This instance is at %s; its API is below %[1]s/v1.

Every call needs an API key, or an access token of OAuth 2.1, which /guide#applications explains: `+
		"`Authorization: Bearer <API_KEY>`"+`. Keys that begin with kart_test_ see a sandbox, those that begin with kart_live_ the organization's own data. Errors are application/problem+json with a stable `+"`code`"+`. Writing operations are in preview and need `+"`Svc-Preview: true`"+`, and `+"`Idempotency-Key`"+` or `+"`If-Match`"+`. The current version of the API is %s.

## Documentation

- [Guide](%[1]s%[3]s): from the first call to a copy that follows every change, as Markdown
- [API reference](%[1]s/docs?lang=en): every operation on a page of its own
- [Problem codes](%[1]s/problems?lang=en): what each error means and what to do
- [All of it in one file](%[1]s/llms-full.txt): the guide, the operations and the problem codes

## OpenAPI

`, o.BaseURL, o.Versions[0], pathGuideMarkdown)
	for _, version := range o.Versions {
		fmt.Fprintf(&b, "- [Version %s](%s/docs/openapi.json?version=%[1]s&lang=en): OpenAPI 3.1, with English words\n",
			version, o.BaseURL)
	}
	fmt.Fprintf(&b, `
## Optional

- [Example program](%s%s): keeps a copy of an organization, in Go
- [Changes](%[1]s/changelog?lang=en): what is new, release by release
`, o.BaseURL, pathMirror)
	return []byte(b.String())
}

// llmsFull returns /llms-full.txt: the guide, the operations of a document and the problem codes,
// as Markdown.
func llmsFull(o Options, d *reference.Document) []byte {
	var b strings.Builder
	b.Write(llms(o))
	b.WriteString("\n---\n\n")
	b.Write(guide(o.BaseURL, i18n.English))
	fmt.Fprintf(&b, "\n---\n\n# The operations of version %s\n\nPaths lie below %s.\n", d.Version, d.Server)
	for _, g := range d.Groups {
		for _, operation := range g.Operations {
			writeOperation(&b, operation)
		}
	}
	b.WriteString("\n---\n\n# Problem codes\n\n")
	for _, c := range fault.Codes() {
		e := c.Entry()
		fmt.Fprintf(&b, "- %d %s: %s. %s %s\n", e.Status, c, e.Title.In(i18n.English), e.What.In(i18n.English), e.Do.In(i18n.English))
	}
	return []byte(b.String())
}

func writeOperation(b *strings.Builder, o reference.Operation) {
	fmt.Fprintf(b, "\n## %s %s: %s\n\n%s\n", o.Method, o.Path, o.Summary, o.Text)
	for _, f := range o.Facts {
		fmt.Fprintf(b, "\n%s: %s", f.Name, f.Value)
	}
	b.WriteString("\n")
	for _, place := range o.Parameters {
		fmt.Fprintf(b, "\nIn the %s:\n\n", place.In)
		writeMembers(b, place.Parameters, "")
	}
	if o.Body != nil {
		fmt.Fprintf(b, "\nBody, %s:\n\n", o.Body.Type)
		for _, object := range o.Body.Objects {
			writeMembers(b, object.Members, "")
		}
	}
	for _, a := range o.Answers {
		fmt.Fprintf(b, "\nAnswer %s: %s\n", a.Status, a.Text)
		if a.Body != nil && a.Body.Example != "" {
			fmt.Fprintf(b, "\n```json\n%s\n```\n", a.Body.Example)
		}
	}
}

func writeMembers(b *strings.Builder, members []reference.Member, indent string) {
	for _, m := range members {
		kind := m.Type()
		if m.List {
			kind = "list of " + kind
		}
		if m.Required {
			kind += ", required"
		}
		fmt.Fprintf(b, "%s- `%s` (%s): %s", indent, m.Name, kind, m.Text)
		if len(m.Values) > 0 {
			fmt.Fprintf(b, " Values: %s.", strings.Join(m.Values, ", "))
		}
		b.WriteString("\n")
		for _, object := range m.Objects {
			writeMembers(b, object.Members, indent+"  ")
		}
	}
}
