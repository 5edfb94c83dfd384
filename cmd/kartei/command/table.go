package command

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"kartei/api/op"
)

// PageFlags are the flags that select a page of a list.
type PageFlags struct {
	Limit int    `name:"limit" default:"1000" placeholder:"N" help:"Maximum number of entries, up to 1000."`
	After string `name:"after" placeholder:"ID" help:"Only entries after this one."`
}

// Page returns the page of an organization's list, or of all organizations if org is empty.
func (p PageFlags) Page(org string) op.Page {
	return op.Page{Organization: org, Limit: p.Limit, After: p.After}
}

// PrintOne prints a value as JSON, or as a table with one row.
func PrintOne[T any](g *Globals, j JSON, v T, header []string, row func(T) []string) error {
	if j.JSON {
		return g.PrintJSON(v)
	}
	return PrintTable(g, header, [][]string{row(v)})
}

// PrintDone prints the result of a command that returns nothing: a line, or an empty JSON object.
func PrintDone(g *Globals, j JSON, line string) error {
	if j.JSON {
		return g.PrintJSON(op.Nothing{})
	}
	_, err := fmt.Fprintln(g.Out, line)
	return err
}

// PrintList prints a page of a list. If there are more entries, it prints the ID after which the
// next page begins to g.Err.
func PrintList[T any](g *Globals, j JSON, page op.Entries[T], header []string, row func(T) []string) error {
	if j.JSON {
		return g.PrintJSON(page)
	}
	rows := make([][]string, len(page.Data))
	for i, v := range page.Data {
		rows[i] = row(v)
	}
	if err := PrintTable(g, header, rows); err != nil || !page.HasMore {
		return err
	}
	_, err := fmt.Fprintf(g.Err, "There are more entries: --after %s\n", rows[len(rows)-1][slices.Index(header, "ID")])
	return err
}

// PrintTable prints a table. Empty cells become dashes, and control characters are replaced.
func PrintTable(g *Globals, header []string, rows [][]string) error {
	w := tabwriter.NewWriter(g.Out, 0, 0, 2, ' ', 0)
	for _, cells := range append([][]string{header}, rows...) {
		for i, cell := range cells {
			if cell == "" {
				cells[i] = "-"
			}
			cells[i] = strings.Map(printable, cells[i])
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// printable replaces control characters, which a terminal would execute. Names of files and
// applications can contain them.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return utf8.RuneError
	}
	return r
}
