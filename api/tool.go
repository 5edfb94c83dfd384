package api

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"kartei/api/op"
	"kartei/extract"
)

// noTools are the ids of the contract's operations that are no tools for assistants: the OpenAPI
// document from which the tools are made, the batch, and the content of a document.
var noTools = []string{"openapi.get", "batch.run", "documents.content"}

// Tool returns the name of the operation's tool for assistants, for example
// webhook_endpoints_rotate_secret. It is empty if the operation has no tool.
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

// Tools is the response of tools.list, from which follows which tools the caller has.
type Tools struct {
	// Scopes are the current scopes of the caller, sorted.
	Scopes []string `json:"scopes"`
	// Version is the version of the API that the caller uses.
	Version string `json:"version"`
}

// toolsList returns the scopes and the version of the caller. See ListTools.
func toolsList(_ context.Context, c *op.Call, _ ToolsInput) (Tools, error) {
	return Tools{c.Actor.Scopes(), c.Version}, nil
}

// HasText reports whether the tool for texts can read documents of this media type.
func HasText(contentType string) bool { return extract.Reads(contentType) }
