package web

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed static/pages.css static/pages.js static/icon.svg
var staticFiles embed.FS

// assets are the files below /static/. Each name contains the hash of the
// content. So a browser may cache a file forever, and an update has a new
// address.
type assets struct {
	files map[string]*content
	urls  map[string]string
}

// loadAssets reads the embedded files.
func loadAssets() (*assets, error) {
	a := &assets{files: map[string]*content{}, urls: map[string]string{}}
	for name, contentType := range map[string]string{
		"pages.css": "text/css; charset=utf-8", "pages.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		body, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
		a.add(name, newContent(contentType, cacheHashed, body))
	}
	return a, nil
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
