package api

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"kartei/api/op"
	"kartei/extract"
)

// noTools are the operations of the contract that no assistant gets: the document that the tools are
// made from, several calls in one, and the bytes of a file.
var noTools = []string{"openapi.get", "batch.run", "documents.content"}

// Tool returns the name of the operation as a tool for assistants, for example
// webhook_endpoints_rotate_secret, or the empty text if it is none.
func (o *Operation) Tool() string {
	if slices.Contains(noTools, o.ID) {
		return ""
	}
	var b strings.Builder
	for _, r := range o.ID {
		switch {
		case r == '.':
			b.WriteByte('_')
		case unicode.IsUpper(r):
			b.WriteByte('_')
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ToolsInput is the input of tools.list.
type ToolsInput struct{}

// Tools says which tools a caller has.
type Tools struct {
	// Scopes are the caller's scopes at present, sorted.
	Scopes []string `json:"scopes"`
	// Version is the caller's version.
	Version string `json:"version"`
}

// toolsList stands for every question of an assistant that calls no tool: so the same
// stages decide who may ask, and the request log has it.
func toolsList(_ context.Context, c *op.Call, _ ToolsInput) (Tools, error) {
	return Tools{c.Actor.Scopes(), c.Version}, nil
}

// HasText reports whether documents of a media type have a text, which tools.text reads.
func HasText(contentType string) bool { return extract.Reads(contentType) }
