package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kartei/api"
	"kartei/api/openapi"
	"kartei/kit/i18n"
)

// These are the default size and the maximum size of a page. A page of 100 records, as over HTTP,
// is too long for an assistant.
const (
	defaultLimit = 10
	maxLimit     = 50
)

// tool is an operation as assistants see it.
type tool struct {
	// op is the operation. It is nil for the tool that reads the text of a document.
	op    *api.Operation
	scope string
	shown *sdk.Tool
	// query are the names of the query parameters. All other arguments, except the id, belong to
	// the body.
	query []string
	// pages says that the operation is a list. Its limit is lower than over HTTP.
	pages bool
}

// toolsOf returns the tools of an API version, in the order of api.Operations. It fails if the
// version has no OpenAPI document.
func toolsOf(version string, in i18n.Language) ([]*tool, error) {
	text, found := openapi.Document(version)
	if !found {
		return nil, fmt.Errorf("mcp: version %s has no OpenAPI document", version)
	}
	d, err := parseDocument(text, in)
	if err != nil {
		return nil, err
	}
	var list []*tool
	for i := range api.Operations {
		op := &api.Operations[i]
		name := op.Tool()
		said, known := d.Paths[op.Path][strings.ToLower(op.Method)]
		if name == "" || !known {
			continue
		}
		t := &tool{op: op, scope: op.Scope}
		input, err := t.input(d, &said)
		if err != nil {
			return nil, fmt.Errorf("mcp: %s: %w", op.ID, err)
		}
		about, _, _ := strings.Cut(said.Description, "\n\nKosten: ")
		t.shown = &sdk.Tool{
			Name: name, Title: d.say(said.Summary), Description: d.say(about) + toolNotes[op.ID].In(in), InputSchema: input,
			Annotations: annotations(op),
		}
		if output := d.output(&said); output != nil {
			t.shown.OutputSchema = output
		}
		list = append(list, t)
	}
	return append(list, newTextTool(in)), nil
}

// toolNotes are additions to the descriptions of operations.
var toolNotes = map[string]i18n.Text{
	"uploads.create":   "\n\nThe file itself then goes by PUT to the address that the answer names; there is no tool for that.",
	"documents.create": operationNote,
	"contacts.merge":   operationNote,
	"companies.merge":  operationNote,
}

const operationNote i18n.Text = "\n\nThe answer is an operation. Ask for it with operations_get, and again a second later."

var (
	revisionText = i18n.Text("The revision of the record that you have read")
	keyText      = i18n.Text("Send the same key when you repeat a call whose answer you did not get")
	limitText    = i18n.Text("Size of the page")
)

// inputSchema is the schema of the arguments of a tool.
type inputSchema struct {
	members  map[string]any
	required []string
}

func (s *inputSchema) add(name string, schema map[string]any, required bool) error {
	if _, twice := s.members[name]; twice {
		return fmt.Errorf("%s is in two places", name)
	}
	s.members[name] = schema
	if required {
		s.required = append(s.required, name)
	}
	return nil
}

// input returns the schema of the arguments. They are the parameters of the path and the query, and
// the members of the body. The arguments revision and idempotencyKey replace headers. It also sets
// t.query and t.pages.
func (t *tool) input(d *spec, said *operationObject) (json.RawMessage, error) {
	in := &inputSchema{members: map[string]any{}}
	for _, p := range said.Parameters {
		if err := t.addParameter(d, d.deref(p), in); err != nil {
			return nil, err
		}
	}
	if said.RequestBody != nil {
		if err := t.addBody(d, d.deref(said.RequestBody), in); err != nil {
			return nil, err
		}
	}
	schema := map[string]any{"type": "object", "properties": in.members}
	if len(in.required) > 0 {
		schema["required"] = in.required
	}
	return json.Marshal(schema)
}

// addParameter adds a parameter of the path or the query, or the argument that replaces a header.
func (t *tool) addParameter(d *spec, p map[string]any, in *inputSchema) error {
	name, place := p["name"].(string), p["in"].(string)
	if place == "header" {
		switch name {
		case "If-Match":
			return in.add("revision", map[string]any{"type": "integer", "description": revisionText.In(d.language)},
				t.op.Conditional())
		case "Idempotency-Key":
			return in.add("idempotencyKey", map[string]any{"type": "string", "description": keyText.In(d.language)}, false)
		}
		return nil // clients cannot send other headers
	}
	schema := d.shorten(p["schema"].(map[string]any), true)
	if about, is := p["description"].(string); is {
		schema["description"] = d.say(about)
	}
	if place == "query" {
		t.query = append(t.query, name)
	}
	if place == "query" && name == "limit" {
		t.pages = true
		schema = map[string]any{
			"type": "integer", "minimum": 1, "maximum": maxLimit, "default": defaultLimit,
			"description": limitText.In(d.language),
		}
	}
	return in.add(name, schema, place == "path")
}

// addBody adds the members of the request body.
func (t *tool) addBody(d *spec, body map[string]any, in *inputSchema) error {
	content, _ := body["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	schema, _ := media["schema"].(map[string]any)
	short := d.shorten(schema, !t.op.Creates())
	members, _ := short["properties"].(map[string]any)
	required, _ := short["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := in.add(name, members[name].(map[string]any), slices.Contains(required, any(name))); err != nil {
			return err
		}
	}
	return nil
}

// annotations returns the hints by which an assistant decides which calls its user must confirm.
func annotations(op *api.Operation) *sdk.ToolAnnotations {
	destroys := op.Deletes() || op.ID == "webhookEndpoints.rotateSecret"
	outside := slices.Contains([]string{"webhookEndpoints.create", "webhookEndpoints.update", "webhookEndpoints.test"},
		op.ID)
	return &sdk.ToolAnnotations{
		ReadOnlyHint: !op.Writes(), DestructiveHint: &destroys, OpenWorldHint: &outside,
		IdempotentHint: op.Method == "GET" || op.Method == "PATCH" || op.Method == "DELETE" || op.ID == "tasks.complete",
	}
}
