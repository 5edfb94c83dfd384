package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kartei/api/words"
	"kartei/kit/i18n"
)

// spec is an OpenAPI document, from which the schemas of tools are made. Package api checks
// arguments by the same document.
type spec struct {
	Paths      map[string]map[string]operationObject `json:"paths"`
	Components map[string]map[string]any             `json:"components"`
	language   i18n.Language
	// english maps German texts to English texts. It is nil if the language is German.
	english map[string]string
	// words replaces words about HTTP by words about tools.
	words *strings.Replacer
}

// operationObject is the Operation Object of OpenAPI.
type operationObject struct {
	ID          string           `json:"operationId"`
	Summary     string           `json:"summary"`
	Description string           `json:"description"`
	Parameters  []map[string]any `json:"parameters"`
	RequestBody map[string]any   `json:"requestBody"`
	Responses   map[string]any   `json:"responses"`
}

func parseDocument(text []byte, in i18n.Language) (*spec, error) {
	d := &spec{language: in, words: forAssistants(in)}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("mcp: the OpenAPI document: %w", err)
	}
	if in == i18n.English {
		d.english = words.English()
	}
	return d, nil
}

// say returns a text in the language of d, with words about tools. It translates each paragraph
// separately.
func (d *spec) say(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if english, known := d.english[p]; known {
			paragraphs[i] = english
		}
	}
	return d.words.Replace(strings.Join(paragraphs, "\n\n"))
}

// deref returns the schema to which a node refers, or the node itself.
func (d *spec) deref(node map[string]any) map[string]any {
	for range 10 {
		name, is := node["$ref"].(string)
		if !is {
			return node
		}
		parts := strings.Split(strings.TrimPrefix(name, "#/components/"), "/")
		if len(parts) != 2 {
			return node
		}
		node, _ = d.Components[parts[0]][parts[1]].(map[string]any)
	}
	return node
}

// kept are the keywords of a schema that help assistants to choose a value. Other keywords are
// still checked. To show them would double the length of schemas.
var kept = []string{"type", "enum", "format", "minimum", "maximum", "default", "required"}

// shorten returns a schema without references, and only with the keywords in kept. If null is
// false, it also removes the type null.
func (d *spec) shorten(node map[string]any, null bool) map[string]any {
	described, _ := node["description"].(string)
	node = d.deref(node)
	if choice, is := node["anyOf"].([]any); is {
		node = d.either(node, choice, null)
	}
	out := map[string]any{}
	for _, name := range kept {
		if value, has := node[name]; has {
			out[name] = value
		}
	}
	if types, several := out["type"].([]any); several && !null {
		if types = slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" }); len(types) == 1 {
			out["type"] = types[0]
		}
	}
	if described == "" {
		described, _ = node["description"].(string)
	}
	if described != "" {
		out["description"] = d.say(described)
	}
	if items, has := node["items"].(map[string]any); has {
		out["items"] = undescribed(d.shorten(items, null))
	}
	if members, has := node["properties"].(map[string]any); has {
		short := map[string]any{}
		for name, member := range members {
			short[name] = d.shorten(member.(map[string]any), null)
		}
		out["properties"] = short
	}
	return out
}

// undescribed removes the descriptions of an entry and its members from its schema. The description
// of the list and the names of the members say what they are.
func undescribed(schema map[string]any) map[string]any {
	delete(schema, "description")
	members, _ := schema["properties"].(map[string]any)
	for _, member := range members {
		undescribed(member.(map[string]any))
	}
	return schema
}

// either merges a schema that allows null or one other schema.
func (d *spec) either(node map[string]any, choice []any, null bool) map[string]any {
	out := map[string]any{}
	for _, c := range choice {
		one := d.deref(c.(map[string]any))
		if one["type"] == "null" {
			continue
		}
		maps.Copy(out, one)
	}
	if kind, is := out["type"].(string); is && null {
		out["type"] = []any{kind, "null"}
	}
	if values, is := out["enum"].([]any); is && null {
		out["enum"] = append(slices.Clone(values), nil)
	}
	if described, has := node["description"]; has {
		out["description"] = described
	}
	return out
}

// output returns the schema of a response: its members and their types. Clients check results by
// it, and assistants do not read it. It is nil for a response without a body.
func (d *spec) output(op *operationObject) map[string]any {
	for _, status := range []string{"200", "201", "202"} {
		answer, has := op.Responses[status].(map[string]any)
		if !has {
			continue
		}
		content, _ := d.deref(answer)["content"].(map[string]any)
		media, _ := content["application/json"].(map[string]any)
		schema, _ := media["schema"].(map[string]any)
		if schema == nil {
			continue
		}
		members, _ := d.deref(schema)["properties"].(map[string]any)
		short := map[string]any{}
		for name, member := range members {
			m := d.deref(member.(map[string]any))
			short[name] = map[string]any{}
			if kind, has := m["type"]; has {
				short[name] = map[string]any{"type": kind}
			}
		}
		return map[string]any{"type": "object", "properties": short}
	}
	return nil
}
