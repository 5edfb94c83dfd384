package developer

import (
	"time"

	"kartei/api/draft"
	"kartei/api/openapi"
	"kartei/cmd/kartei/command"
)

// OpenAPI has the commands for OpenAPI documents.
type OpenAPI struct {
	Draft draftCmd `cmd:"" name:"draft" help:"Print the OpenAPI document of a version, made from the table and the types."`
}

// draftCmd prints the draft of the next frozen document. It needs no instance.
type draftCmd struct {
	Version string `arg:"" help:"The version, YYYY-MM-DD, or internal for that of sessions."`
}

func (c *draftCmd) Run(g *command.Globals) error {
	if _, err := time.Parse(time.DateOnly, c.Version); err != nil && c.Version != openapi.Internal {
		return command.Usagef("%s is not a version: versions are dates, YYYY-MM-DD", c.Version)
	}
	document, err := draft.Document(c.Version)
	if err != nil {
		return err
	}
	_, err = g.Out.Write(document)
	return err
}
