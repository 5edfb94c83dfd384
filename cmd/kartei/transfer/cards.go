package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"

	"kartei/cmd/kartei/command"
	"kartei/cmd/remote"
	"kartei/web/book"
)

type contactCardsCmd struct {
	Companies bool   `name:"companies" help:"Write the companies instead."`
	Version   string `name:"vcard" enum:"4.0,3.0" default:"4.0" placeholder:"4.0|3.0" help:"The version of the cards: Outlook, Apple and Evolution read 3.0."`
	Output    string `name:"output" short:"o" type:"path" placeholder:"FILE" help:"The file to write, which must not exist; without it standard output."`
	command.InstanceFlags
}

// Help returns the help text below the summary.
func (*contactCardsCmd) Help() string {
	return `Writes a card for each contact that the key in KARTEI_KEY reads, with calls of the API. A key that does not
read companies gives cards without the names of companies. Imports of Kartei take the file as it was.`
}

// Run writes the cards. It removes an incomplete file.
func (c *contactCardsCmd) Run(ctx context.Context, g *command.Globals) (err error) {
	client, err := c.NewClient(g, 0)
	if err != nil {
		return err
	}
	out := g.Out
	if c.Output != "" {
		file, failed := os.OpenFile(c.Output, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if failed != nil {
			return failed
		}
		out = file
		defer func() { err = closeWhole(file, err) }()
	}
	if err := c.write(ctx, client, out); err != nil {
		return c.Explain(g, err)
	}
	return nil
}

func (c *contactCardsCmd) write(ctx context.Context, client *remote.Client, out io.Writer) error {
	list, names := "/contacts?limit=100", map[string]string{}
	if c.Companies {
		list = "/companies?limit=100"
	} else if err := readNames(ctx, client, names); err != nil {
		return err
	}
	return each(ctx, client, list, func(raw json.RawMessage) error {
		var of struct{ CompanyID string }
		if err := json.Unmarshal(raw, &of); err != nil {
			return err
		}
		card, err := book.Card(raw, names[of.CompanyID], c.Version == "3.0")
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, card)
		return err
	})
}

// readNames adds the names of companies by id, as far as the key can read companies.
func readNames(ctx context.Context, client *remote.Client, names map[string]string) error {
	err := each(ctx, client, "/companies?limit=100", func(raw json.RawMessage) error {
		var firm struct{ ID, Name string }
		err := json.Unmarshal(raw, &firm)
		names[firm.ID] = firm.Name
		return err
	})
	if refused := new(remote.Refusal); errors.As(err, &refused) && refused.Status == http.StatusForbidden {
		return nil
	}
	return err
}

// each calls record with each record of a list.
func each(ctx context.Context, client *remote.Client, path string, record func(json.RawMessage) error) error {
	return client.Each(ctx, remote.Request{Method: http.MethodGet, Path: path, Repeatable: true}, record)
}
