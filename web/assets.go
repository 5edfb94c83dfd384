package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"path"
	"strings"
)

//go:embed static/pages.css static/reference.css static/reference.js static/icon.svg static/redoc/redoc.js.gz static/redoc/LICENSE static/redoc/LICENSES.txt
var staticFiles embed.FS

// assets are the files below /static/. A name holds the hash of its bytes, so
// that a browser keeps it for good and an update is a new address.
type assets struct {
	files map[string]*content
	urls  map[string]string
}

// loadAssets reads the embedded files.
func loadAssets() (*assets, error) {
	a := &assets{files: map[string]*content{}, urls: map[string]string{}}
	for name, contentType := range map[string]string{
		"pages.css": "text/css; charset=utf-8", "reference.css": "text/css; charset=utf-8",
		"reference.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
		"redoc/LICENSE": "text/plain; charset=utf-8", "redoc/LICENSES.txt": "text/plain; charset=utf-8",
	} {
		body, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
		a.add(name, newContent(contentType, cacheHashed, body))
	}
	packed, err := staticFiles.ReadFile("static/redoc/redoc.js.gz")
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	body, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("web: redoc: %w", err)
	}
	a.add("redoc/redoc.js", packedContent("text/javascript; charset=utf-8", cacheHashed, body, packed))
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

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
