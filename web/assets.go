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

// assets are the static files. The path of each file contains the hash of its content. So browsers
// may cache a file forever, and a changed file has a new path.
type assets struct {
	files map[string]*content
	urls  map[string]string
}

// joined lists the static files with the source files from which each is concatenated. In app.js,
// htmx comes first, followed by the extension hx-csp. The first own script, a-parts.js, defines
// window.kartei for the others.
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

// Asset returns the path of a static file by its name. It is empty for an unknown name. A script
// contains texts in the language l.
func Asset(name string, l i18n.Language) string {
	a, err := loaded()
	if err != nil {
		return ""
	}
	return cmp.Or(a.urls[inLanguage(name, l)], a.urls[inLanguage(name, i18n.English)])
}

// loaded returns the assets of this program. They are read once.
var loaded = sync.OnceValues(loadAssets)

// loadAssets reads the embedded files.
func loadAssets() (*assets, error) {
	a := &assets{files: map[string]*content{}, urls: map[string]string{}}
	for _, j := range joined {
		languages := i18n.Languages
		if !strings.HasSuffix(j.name, ".js") { // only scripts contain texts
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

// join concatenates the files that match patterns, in a language. It fails if a pattern matches no
// file.
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

// vendored is the folder with third-party scripts.
const vendored = "static/vendor/"

// inLanguage returns the name of a script in a language, such as app.de.js. Other names stay as
// they are.
func inLanguage(name string, l i18n.Language) string {
	if base, is := strings.CutSuffix(name, ".js"); is {
		return base + "." + string(l) + ".js"
	}
	return name
}

// saidInScript matches a text in a script, as in say("Copied").
var saidInScript = regexp.MustCompile(`\bsay\("((?:[^"\\]|\\.)*)"`)

// translated returns a script with its texts translated into a language. Third-party scripts and
// other files stay as they are.
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

// smaller returns a minified script or style sheet. Third-party files stay as they are.
func smaller(name string, file []byte) ([]byte, error) {
	if strings.HasPrefix(name, vendored) {
		return file, nil
	}
	var b bytes.Buffer
	var err error
	switch path.Ext(name) {
	case ".js":
		err = (&js.Minifier{}).Minify(minify.New(), &b, bytes.NewReader(file), nil)
		b.WriteByte(';') // the following file begins with a parenthesis
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

// url returns the path of a static file. It fails for an unknown name.
func (a *assets) url(name string) (string, error) {
	if url, ok := a.urls[name]; ok {
		return url, nil
	}
	return "", fmt.Errorf("web: no file %s", name)
}
