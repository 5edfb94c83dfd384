package reference

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The types below are the part of an OpenAPI 3.1 document that the pages show. Objects keep the
// order of their members, because the pages show the members in this order.

// orderedMap is an object whose members keep their order.
type orderedMap[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

// UnmarshalJSONFrom reads an object. It fails if the next value is not an object.
func (o *orderedMap[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if token, err := d.ReadToken(); err != nil {
		return err
	} else if token.Kind() != '{' {
		return fmt.Errorf("%v is not an object", token.Kind())
	}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		one := member[T]{name: token.String()}
		if err := json.UnmarshalDecode(d, &one.value); err != nil {
			return err
		}
		*o = append(*o, one)
	}
	_, err := d.ReadToken()
	return err
}

// get returns the member with the name, and reports whether there is one.
func (o orderedMap[T]) get(name string) (value T, found bool) {
	for _, one := range o {
		if one.name == name {
			return one.value, true
		}
	}
	return value, false
}

// words is a string or a list of strings in JSON, like the member type of a schema.
type words []string

// UnmarshalJSONFrom reads a string or a list of strings.
func (w *words) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return json.UnmarshalDecode(d, (*[]string)(w))
	}
	token, err := d.ReadToken()
	*w = words{token.String()}
	return err
}

type document struct {
	Info struct {
		Title       string `json:"title"`
		Summary     string `json:"summary"`
		Description string `json:"description"`
		Version     string `json:"version"`
	} `json:"info"`
	Servers []struct {
		URL string `json:"url"`
	} `json:"servers"`
	Tags []struct {
		Name        string `json:"name"`
		Title       string `json:"x-displayName"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths      orderedMap[orderedMap[jsontext.Value]] `json:"paths"`
	Webhooks   orderedMap[orderedMap[operation]]      `json:"webhooks"`
	Components struct {
		Schemas    map[string]*schema   `json:"schemas"`
		Parameters map[string]parameter `json:"parameters"`
		Responses  map[string]response  `json:"responses"`
		Headers    map[string]header    `json:"headers"`
		Examples   map[string]example   `json:"examples"`
	} `json:"components"`
}

type operation struct {
	ID          string               `json:"operationId"`
	Tags        []string             `json:"tags"`
	Summary     string               `json:"summary"`
	Description string               `json:"description"`
	Channel     string               `json:"x-kartei-channel"`
	Events      []string             `json:"x-kartei-events"`
	Samples     []Sample             `json:"x-codeSamples"`
	Parameters  []parameter          `json:"parameters"`
	Body        *requestBody         `json:"requestBody"`
	Responses   orderedMap[response] `json:"responses"`
}

type parameter struct {
	Ref         string         `json:"$ref"`
	Name        string         `json:"name"`
	In          string         `json:"in"`
	Required    bool           `json:"required"`
	Description string         `json:"description"`
	Schema      *schema        `json:"schema"`
	Example     jsontext.Value `json:"example"`
}

type requestBody struct {
	Description string            `json:"description"`
	Content     orderedMap[media] `json:"content"`
}

type media struct {
	Schema   *schema             `json:"schema"`
	Examples orderedMap[example] `json:"examples"`
}

type response struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Codes       []string           `json:"x-kartei-codes"`
	Headers     orderedMap[header] `json:"headers"`
	Content     orderedMap[media]  `json:"content"`
}

type header struct {
	Ref         string         `json:"$ref"`
	Description string         `json:"description"`
	Example     jsontext.Value `json:"example"`
}

type example struct {
	Ref   string         `json:"$ref"`
	Value jsontext.Value `json:"value"`
}

type schema struct {
	Ref         string              `json:"$ref"`
	Description string              `json:"description"`
	Type        words               `json:"type"`
	Format      string              `json:"format"`
	Enum        []jsontext.Value    `json:"enum"`
	Extensible  []jsontext.Value    `json:"x-extensible-enum"`
	Const       jsontext.Value      `json:"const"`
	Default     jsontext.Value      `json:"default"`
	Examples    []jsontext.Value    `json:"examples"`
	MinLength   *int64              `json:"minLength"`
	MaxLength   *int64              `json:"maxLength"`
	MinItems    *int64              `json:"minItems"`
	MaxItems    *int64              `json:"maxItems"`
	Minimum     *int64              `json:"minimum"`
	Maximum     *int64              `json:"maximum"`
	Required    []string            `json:"required"`
	Properties  orderedMap[*schema] `json:"properties"`
	Additional  jsontext.Value      `json:"additionalProperties"`
	Items       *schema             `json:"items"`
	AnyOf       []*schema           `json:"anyOf"`
	OneOf       []*schema           `json:"oneOf"`
}

// follow returns the target of a reference, or value if ref is empty.
func follow[T any](ref string, components map[string]T, value T) T {
	if ref == "" {
		return value
	}
	return components[refName(ref)]
}

// refName returns the name at the end of a reference.
func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
