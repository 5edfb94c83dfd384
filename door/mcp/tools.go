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
	"kartei/kit/fault"
)

// The size of a page at this door. A page of a hundred is more than an assistant reads.
const (
	usualLimit = 10
	mostLimit  = 50
)

// tool is an operation as assistants call it.
type tool struct {
	// op is nil for the tool that reads the text of a document.
	op    *api.Operation
	scope string
	shown *sdk.Tool
	// query are the names of the query parameters. What is neither one of them nor the id
	// belongs to the body.
	query []string
	// pages is true for a list, whose limit is a smaller one here.
	pages bool
}

// toolsOf returns the tools of a version, in the order of the table.
func toolsOf(version string, in fault.Language) ([]*tool, error) {
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
			Name: name, Title: d.say(said.Summary), Description: d.say(about) + told[op.ID].In(in), InputSchema: input, Annotations: annotations(op),
		}
		if output := d.output(&said); output != nil {
			t.shown.OutputSchema = output
		}
		list = append(list, t)
	}
	return append(list, newTextTool(in)), nil
}

// told is what a description says at this door only.
var told = map[string]fault.Text{
	"uploads.create": {
		DE: "\n\nDie Datei selbst geht danach mit PUT an die Adresse, die die Antwort nennt; ein Werkzeug dafür gibt es nicht.",
		EN: "\n\nThe file itself then goes by PUT to the address that the answer names; there is no tool for that.",
	},
	"documents.create": {
		DE: "\n\nDie Antwort ist ein Vorgang. Fragen Sie seinen Stand mit operations_get ab, nach einer Sekunde erneut.",
		EN: "\n\nThe answer is an operation. Ask for it with operations_get, and again a second later.",
	},
}

var (
	revisionText = fault.Text{DE: "Die Revision des Datensatzes, die Sie gelesen haben", EN: "The revision of the record that you have read"}
	keyText      = fault.Text{DE: "Senden Sie denselben Schlüssel, wenn Sie einen Aufruf wiederholen, dessen Antwort ausgeblieben ist", EN: "Send the same key when you repeat a call whose answer you did not get"}
	limitText    = fault.Text{DE: "Größe der Seite", EN: "Size of the page"}
)

// input returns the schema of the arguments: the parameters of the path and the query and
// the members of the body side by side. In place of headers there are a revision and a key.
func (t *tool) input(d *spec, said *described) (json.RawMessage, error) {
	members, required := map[string]any{}, []string{}
	add := func(name string, schema map[string]any) error {
		if _, twice := members[name]; twice {
			return fmt.Errorf("%s is in two places", name)
		}
		members[name] = schema
		return nil
	}
	language := fault.German
	if d.english != nil {
		language = fault.English
	}
	for _, p := range said.Parameters {
		p = d.deref(p)
		name, place := p["name"].(string), p["in"].(string)
		var schema map[string]any
		switch {
		case place == "header" && name == "If-Match":
			name, schema = "revision", map[string]any{"type": "integer", "description": revisionText.In(language)}
			if t.op.Conditional() {
				required = append(required, name)
			}
		case place == "header" && name == "Idempotency-Key":
			name, schema = "idempotencyKey", map[string]any{"type": "string", "description": keyText.In(language)}
		case place == "header":
			continue
		default:
			schema = d.shorten(p["schema"].(map[string]any), true)
			if about, is := p["description"].(string); is {
				schema["description"] = d.say(about)
			}
		}
		switch {
		case place == "path":
			required = append(required, name)
		case place == "query":
			t.query = append(t.query, name)
			if t.pages = t.pages || name == "limit"; name == "limit" {
				schema = map[string]any{"type": "integer", "minimum": 1, "maximum": mostLimit, "default": usualLimit, "description": limitText.In(language)}
			}
		}
		if err := add(name, schema); err != nil {
			return nil, err
		}
	}
	if said.RequestBody != nil {
		content, _ := d.deref(said.RequestBody)["content"].(map[string]any)
		media, _ := content["application/json"].(map[string]any)
		schema, _ := media["schema"].(map[string]any)
		body := d.shorten(schema, !t.op.Creates())
		properties, _ := body["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if err := add(name, properties[name].(map[string]any)); err != nil {
				return nil, err
			}
		}
		if names, has := body["required"].([]any); has {
			for _, name := range names {
				required = append(required, name.(string))
			}
		}
	}
	schema := map[string]any{"type": "object", "properties": members}
	if len(required) > 0 {
		schema["required"] = required
	}
	return json.Marshal(schema)
}

// annotations say what an assistant asks its person about before it calls.
func annotations(op *api.Operation) *sdk.ToolAnnotations {
	destroys := op.Deletes() || op.ID == "webhookEndpoints.rotateSecret"
	outside := slices.Contains([]string{"webhookEndpoints.create", "webhookEndpoints.update", "webhookEndpoints.test"}, op.ID)
	return &sdk.ToolAnnotations{
		ReadOnlyHint: !op.Writes(), DestructiveHint: &destroys, OpenWorldHint: &outside,
		IdempotentHint: op.Method == "GET" || op.Method == "PATCH" || op.Method == "DELETE" || op.ID == "tasks.complete",
	}
}
