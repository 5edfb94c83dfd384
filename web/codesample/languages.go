package codesample

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var templateFiles embed.FS

// language is a programming language of the samples.
type language struct {
	lang, label string
	file        string
	syntax      syntax
}

var languages = []language{
	{"Shell", "curl", "curl.tmpl", syntax{
		indent: "  ", name: inShell, text: inShell,
		values: map[valueKind]string{
			fileSize:  `'"$(wc -c < ` + sampleFile + `)"'`,
			fileHash:  `"'"$(openssl dgst -sha256 -r ` + sampleFile + ` | cut -c 1-64)"'"`,
			randomKey: `"'"$(openssl rand -hex 16)"'"`,
		},
	}},
	{"Python", "Python", "python.tmpl", syntax{
		indent: "    ", name: quoted, text: quoted, trailing: true,
		literals: map[string]string{"null": "None", "true": "True", "false": "False"},
		values: map[valueKind]string{
			fileSize: "len(content)", fileHash: "hashlib.sha256(content).hexdigest()",
			randomKey: "str(uuid.uuid4())",
		},
	}},
	{"JavaScript", "JavaScript", "javascript.tmpl", syntax{
		indent: "  ", name: inScript, text: quoted, trailing: true, spaced: true,
		values: map[valueKind]string{
			fileSize: "content.length", fileHash: `createHash("sha256").update(content).digest("hex")`,
			randomKey: "crypto.randomUUID()",
		},
	}},
	{"Go", "Go", "go.tmpl", syntax{
		indent: "\t", name: inGo, text: inGo,
		values: map[valueKind]string{
			fileSize: "` + strconv.Itoa(len(content)) + `", fileHash: "\"` + hex.EncodeToString(hash[:]) + `\"",
			randomKey: "\"` + rand.Text() + `\"",
		},
	}},
}

// inShell returns s as a JSON string for use between single quotes.
func inShell(s string) string { return strings.ReplaceAll(quoted(s), "'", `'\''`) }

// inGo returns s as a JSON string for use between backquotes.
func inGo(s string) string { return strings.ReplaceAll(quoted(s), "`", "`+\"`\"+`") }

// text returns s as a Python or JavaScript string. It uses single quotes if s contains double
// quotes, and no single quotes or backslashes.
func text(s string) string {
	if strings.Contains(s, `"`) && !strings.ContainsAny(s, `'\`) {
		return "'" + s + "'"
	}
	return quoted(s)
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// inScript returns a name as a key in a JavaScript object, with quotes only if they are needed.
func inScript(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quoted(name)
}

var templates = func() *template.Template {
	t := template.New("").Funcs(template.FuncMap{
		"quoted": quoted,
		"text":   text,
		"value": func(f field) string {
			if f.Number {
				return f.Value
			}
			return text(f.Value)
		},
		"script": inScript,
		"shell":  func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"lower":  strings.ToLower,
		// goText returns a Go string, a raw string if it contains double quotes.
		"goText": func(s string) string {
			if strings.Contains(s, `"`) && !strings.Contains(s, "`") {
				return "`" + s + "`"
			}
			return fmt.Sprintf("%q", s)
		},
	})
	return template.Must(t.ParseFS(templateFiles, "templates/*.tmpl"))
}()

// view is the data of a template: the call, and its body in the language of the template.
type view struct {
	*call
	JSON string
}

// Fresh reports whether the sample generates an Idempotency-Key.
func (v view) Fresh() bool {
	for _, h := range v.Headers {
		if h.Fresh() {
			return true
		}
	}
	return v.Body != nil && v.Body.has(randomKey)
}

func (n *node) has(m valueKind) bool {
	for i := range n.members {
		if n.members[i].value.has(m) {
			return true
		}
	}
	for i := range n.items {
		if n.items[i].has(m) {
			return true
		}
	}
	return n.made == m
}

// Is reports whether the sample handles the response in the way f.
func (v view) Is(f flow) bool { return v.Flow == f }

// Plain reports whether the sample makes one call and only prints the response.
func (v view) Plain() bool { return v.Flow == printed || v.Flow == empty }

// samples renders the call in all languages.
func (c *call) samples() ([]Sample, error) {
	var samples []Sample
	for _, l := range languages {
		v := view{call: c}
		if c.Body != nil {
			v.JSON = l.syntax.write(*c.Body, l.syntax.top())
		}
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, l.file, v); err != nil {
			return nil, err
		}
		samples = append(samples, Sample{l.lang, l.label, strings.TrimSpace(b.String()) + "\n"})
	}
	return samples, nil
}
