package web

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"kartei/api/draft"
	"kartei/api/openapi"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/web/codesample"
)

// Description selects a variant of the OpenAPI document of a version. By contract, the texts of the
// frozen document are German.
type Description struct {
	Version  string
	Language i18n.Language
	// BaseURL is the address of the instance, without /v1.
	BaseURL string
	// Reference adds parts that only the API reference shows: webhooks, code samples, and the
	// address of the instance in examples. Client generators fail on webhooks and code samples.
	Reference bool
	// Ask adds the header with the version to the code samples. Without it, calls use the default
	// version.
	Ask bool
}

// Document returns an OpenAPI document as JSON. In German and without Reference, only the servers
// differ from the frozen document. It fails if the version has no document.
func Document(d Description) ([]byte, error) {
	document, found := openapi.Document(d.Version)
	if !found {
		return nil, fmt.Errorf("web: version %s has no OpenAPI document", d.Version)
	}
	var err error
	if d.Reference {
		if document, err = draft.Reference(d.Version); err != nil {
			return nil, err
		}
	}
	if document, err = served(document, d.BaseURL); err != nil {
		return nil, err
	}
	if d.Language != i18n.German {
		if document, _, err = english(document); err != nil {
			return nil, err
		}
	}
	if !d.Reference {
		return document, nil
	}
	document = bytes.ReplaceAll(document, []byte("https://kartei.example"), []byte(d.BaseURL))
	samples := codesample.Options{Server: d.BaseURL + "/v1"}
	if d.Ask {
		samples.Version = d.Version
	}
	return codesample.Add(document, samples)
}

// served replaces the servers in a document by the address of the instance. All other bytes stay
// the same.
func served(document []byte, baseURL string) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(document))
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("web: the OpenAPI document: %w", err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("web: the OpenAPI document: %w", err)
		}
		found := name.String() == "servers"
		value, err := d.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("web: the OpenAPI document: %w", err)
		}
		if !found {
			continue
		}
		end := d.InputOffset()
		servers, err := json.Marshal([]map[string]string{{"url": baseURL + "/v1", "description": thisInstance.In(i18n.German)}},
			json.Deterministic(true), jsontext.WithIndentPrefix("  "), jsontext.WithIndent("  "))
		if err != nil {
			return nil, fmt.Errorf("web: the OpenAPI document: %w", err)
		}
		return slices.Concat(document[:end-int64(len(value))], servers, document[end:]), nil
	}
	return nil, fmt.Errorf("web: the OpenAPI document has no servers")
}

const thisInstance i18n.Text = "This instance of Kartei"

// asYAML converts a JSON document to YAML. The order of the members stays the same.
func asYAML(document []byte) ([]byte, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil {
		return nil, fmt.Errorf("web: the OpenAPI document as YAML: %w", err)
	}
	plain(&node)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&node); err != nil {
		return nil, fmt.Errorf("web: the OpenAPI document as YAML: %w", err)
	}
	return b.Bytes(), e.Close()
}

// plain removes the flow style and the quotes of JSON from a node. The encoder still quotes texts
// that would otherwise have another type.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}

// These are the paths of the documents.
const (
	pathJSON      = "/docs/openapi.json"
	pathYAML      = "/docs/openapi.yaml"
	pathReference = "/docs/reference.json"
)

// documents generates the OpenAPI documents of an instance, each on its first request.
type documents struct {
	baseURL  string
	versions []string // the current version first
	made     map[form]func() (*content, error)
}

type form struct {
	path, version string
	language      i18n.Language
}

func newDocuments(o Options) *documents {
	d := &documents{baseURL: o.BaseURL, versions: o.Versions, made: map[form]func() (*content, error){}}
	for i, version := range o.Versions {
		for _, l := range i18n.Languages {
			for _, path := range []string{pathJSON, pathYAML, pathReference} {
				d.made[form{path, version, l}] = sync.OnceValues(func() (*content, error) {
					document, err := Document(Description{
						Version: version, Language: l, BaseURL: o.BaseURL, Reference: path == pathReference, Ask: i > 0,
					})
					if err != nil || path != pathYAML {
						return newContent("application/json", cachePage, document), err
					}
					document, err = asYAML(document)
					return newContent("application/yaml", cachePage, document), err
				})
			}
		}
	}
	return d
}

// serve sends a document. Any origin may read it, since a program needs the document before it has
// a key.
func (d *documents) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	asked, wrong := d.asked(r)
	if wrong != nil {
		d.refuse(w, r, fault.BadRequest(wrong...))
		return
	}
	document, err := d.made[asked]()
	if err != nil {
		d.refuse(w, r, fault.Wrap(err))
		return
	}
	header.Set("Content-Language", string(asked.language))
	document.serve(w, r, http.StatusOK)
}

// asked returns the variant of the document that a request selects, or the invalid parameters. The
// defaults are the current version and German.
func (d *documents) asked(r *http.Request) (form, []fault.Field) {
	query := r.URL.Query()
	asked := form{path: r.URL.Path, version: d.versions[0], language: i18n.German}
	var wrong []fault.Field
	if query.Has("version") {
		if asked.version = query.Get("version"); !slices.Contains(d.versions, asked.version) {
			wrong = append(wrong, fault.Field{Name: "version", Code: fault.NotInEnum, Limit: d.versions})
		}
	}
	if query.Has("lang") {
		asked.language = i18n.Language(query.Get("lang"))
		if !asked.language.Known() {
			wrong = append(wrong, fault.Field{
				Name:  "lang",
				Code:  fault.NotInEnum,
				Limit: i18n.Tags(),
			})
		}
	}
	return asked, wrong
}

// refuse sends a problem document like the API, because programs read these paths.
func (d *documents) refuse(w http.ResponseWriter, r *http.Request, why *fault.Fault) {
	l, request := i18n.OfPage(r), id.New(id.Request)
	body := why.AppendProblem(nil, fault.Problem{
		TypeBase: d.baseURL, Instance: r.URL.Path, RequestID: request, Language: l,
	})
	header := w.Header()
	setLanguage(header, l)
	header.Set("Request-Id", request)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-cache")
	w.WriteHeader(why.Code.Status())
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}
