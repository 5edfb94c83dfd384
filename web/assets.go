package web

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"

	"kartei/kit/i18n"
)

//go:embed static/*.css static/pages.js static/icon.svg static/vendor/*.js script/*.js
var staticFiles embed.FS

// assets are the files below /static/. Each name contains the hash of the
// content. So a browser may cache a file forever, and an update has a new
// address.
type assets struct {
	files map[string]*content
	urls  map[string]string
}

// The files below /static/, each joined of the ones that it names. htmx comes first
// in the script of the app, then the extension that holds it to the policy, then
// a-parts.js, which makes window.kartei for the others.
var joined = []struct {
	name, contentType string
	parts             []string
}{
	{"pages.css", "text/css; charset=utf-8", []string{"static/tokens.css", "static/pages.css"}},
	{"pages.js", "text/javascript; charset=utf-8", []string{"static/pages.js"}},
	{"app.css", "text/css; charset=utf-8", []string{"static/tokens.css", "static/app.css"}},
	{"settings.css", "text/css; charset=utf-8", []string{"static/settings.css"}},
	{
		"app.js",
		"text/javascript; charset=utf-8",
		[]string{"static/vendor/htmx-*.js", "static/vendor/hx-csp-*.js", "script/*.js"},
	},
	{"icon.svg", "image/svg+xml", []string{"static/icon.svg"}},
}

// Asset returns the address of a file below /static/ by its name, or an empty text. A script
// speaks language l.
func Asset(name string, l i18n.Language) string {
	a, err := loaded()
	if err != nil {
		return ""
	}
	return cmp.Or(a.urls[inLanguage(name, l)], a.urls[inLanguage(name, i18n.English)])
}

// loaded are the assets of this program, read once.
var loaded = sync.OnceValues(loadAssets)

// loadAssets reads the embedded files.
func loadAssets() (*assets, error) {
	a := &assets{files: map[string]*content{}, urls: map[string]string{}}
	for _, j := range joined {
		languages := i18n.Languages
		if !strings.HasSuffix(j.name, ".js") { // only scripts speak
			languages = languages[:1]
		}
		for _, l := range languages {
			body, err := join(j.parts, l)
			if err != nil {
				return nil, err
			}
			a.add(inLanguage(j.name, l), newContent(j.contentType, cacheHashed, body))
		}
	}
	return a, nil
}

// join returns files one after the other, in a language.
func join(patterns []string, l i18n.Language) ([]byte, error) {
	var body []byte
	for _, pattern := range patterns {
		names, err := fs.Glob(staticFiles, pattern)
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("web: no file %s", pattern)
		}
		for _, name := range names {
			part, err := staticFiles.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("web: %w", err)
			}
			if part, err = smaller(name, translated(name, part, l)); err != nil {
				return nil, fmt.Errorf("web: %s: %w", name, err)
			}
			body = append(append(body, bytes.TrimSpace(part)...), '\n')
		}
	}
	return body, nil
}

// vendored is the folder of files that others wrote.
const vendored = "static/vendor/"

// inLanguage returns the name of a script in a language: app.de.js.
func inLanguage(name string, l i18n.Language) string {
	if base, is := strings.CutSuffix(name, ".js"); is {
		return base + "." + string(l) + ".js"
	}
	return name
}

// saidInScript finds a text of a script: say("Copied").
var saidInScript = regexp.MustCompile(`\bsay\("((?:[^"\\]|\\.)*)"`)

// translated returns an own script that says its texts in a language. Other files stay as
// they are.
func translated(name string, script []byte, l i18n.Language) []byte {
	if path.Ext(name) != ".js" || strings.HasPrefix(name, vendored) {
		return script
	}
	return saidInScript.ReplaceAllFunc(script, func(call []byte) []byte {
		var text string
		if err := json.Unmarshal(call[len("say("):], &text); err != nil {
			return call
		}
		said, err := json.Marshal(i18n.Text(text).In(l))
		if err != nil {
			return call
		}
		return append([]byte("say("), said...)
	})
}

// smaller returns an own script or style sheet without comments and white space.
// Files of others are served as they are published.
func smaller(name string, file []byte) ([]byte, error) {
	if strings.HasPrefix(name, vendored) {
		return file, nil
	}
	var b bytes.Buffer
	var err error
	switch path.Ext(name) {
	case ".js":
		err = (&js.Minifier{}).Minify(minify.New(), &b, bytes.NewReader(file), nil)
		b.WriteByte(';') // the file behind begins with a parenthesis
	case ".css":
		err = css.Minify(minify.New(), &b, bytes.NewReader(file), nil)
	default:
		return file, nil
	}
	return b.Bytes(), err
}

func (a *assets) add(name string, c *content) {
	ext := path.Ext(name)
	url := "/static/" + strings.TrimSuffix(name, ext) + "-" + c.etag + ext
	a.files[url], a.urls[name] = c, url
}

// url returns the address of the file with the given name below static/.
func (a *assets) url(name string) (string, error) {
	if url, ok := a.urls[name]; ok {
		return url, nil
	}
	return "", fmt.Errorf("web: no file %s", name)
}
