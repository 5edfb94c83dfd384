// Package transfer owns the commands that import contacts and write data into files.
package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/kit/archive"
	"kartei/kit/sheet"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// Import has the commands for imports.
type Import struct {
	Start   importStartCmd   `cmd:"" help:"Send a file of contacts, and show its columns."`
	Check   importCheckCmd   `cmd:"" help:"Say what the columns are, and show what an import would do. It changes nothing."`
	Run     importRunCmd     `cmd:"" help:"Import what was checked, or resume an import that stopped."`
	Undo    importUndoCmd    `cmd:"" help:"Take an import back, within seven days."`
	Discard importDiscardCmd `cmd:"" help:"Give up an import before it runs, or forget what it keeps to be undone."`
	List    importListCmd    `cmd:"" help:"List the imports of an organization."`
	Show    importShowCmd    `cmd:"" help:"Show an import: its state, its columns, its counts."`
	Report  importReportCmd  `cmd:"" help:"Write the report of an import as a table: what became of each entry, or the refused entries."`
}

// importRef are the arguments of commands for one import.
type importRef struct {
	ID  string `arg:"" help:"The import, imp_..."`
	Org string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_...; that of a sandbox imports test data."`
	command.JSON
}

// importActor are the arguments of commands for a step of an import, with the person whose rights
// apply.
type importActor struct {
	importRef
	For string `name:"for" placeholder:"ID" help:"Whose rights the step has; by default those of the person for whom the import began."`
}

func (i *importRef) named() imports.Reference {
	return imports.Reference{Organization: i.Org, ID: i.ID}
}

func (a *importActor) named() imports.Reference {
	return imports.Reference{Organization: a.Org, Principal: a.For, ID: a.ID}
}

type importStartCmd struct {
	Files []string `arg:"" name:"file" type:"existingfile" help:"A table (.xlsx, .csv), vCards (.vcf), or a ZIP of them; several files with vCards are one import."`
	Org   string   `name:"org" required:"" placeholder:"ORG" help:"The organization, org_...; that of a sandbox imports test data."`
	For   string   `name:"for" required:"" placeholder:"ID" help:"The user or service account for whom contacts are imported: it owns them, and its rights hold."`
	command.JSON
}

// Help returns the help text below the summary.
func (*importStartCmd) Help() string {
	return `An import has three steps: start sends the file, check says what would happen, run does it. The steps are
jobs of a running server, and go on after a restart. The file is sealed, and gone after seven days. Of a
workbook the first sheet that has a table is read, of a ZIP all vCards, or else the first table.`
}

// Run sends the files and prints the import.
func (c *importStartCmd) Run(ctx context.Context, g *command.Globals) error {
	size := int64(0)
	for _, name := range c.Files {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		size += info.Size()
	}
	caller, done, err := g.ConnectServer(ctx)
	if err != nil {
		return err
	}
	defer done()
	made, err := admin.Call(ctx, caller, imports.Create, imports.CreateInput{
		Organization: c.Org, Principal: c.For, FileName: filepath.Base(c.Files[0]), Size: size,
	})
	if err != nil {
		return g.NameCommand(err)
	}
	of := imports.Reference{Organization: c.Org, Principal: c.For, ID: made.ID}
	all := archive.NewBundle(imports.MaxPiece, func(number int64, content []byte) error {
		if _, err := admin.Call(ctx, caller, imports.Append,
			imports.AppendInput{Reference: of, Number: number, Content: content}); err != nil {
			return g.NameCommand(err)
		}
		return nil
	})
	for _, name := range c.Files {
		if err := addFile(all, name); err != nil {
			return err
		}
	}
	pieces, err := all.Close()
	if err != nil {
		return err
	}
	return step(ctx, g, caller, c.JSON, imports.Complete, of, imports.CompleteInput{Reference: of, Pieces: pieces})
}

// addFile adds a file to a bundle of files.
func addFile(all *archive.Bundle, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return all.Add(filepath.Base(name), file)
}

type importCheckCmd struct {
	importActor
	Columns     map[string]string  `name:"column" placeholder:"HEADING=MEMBER" mapsep:"none" help:"What a column is, by its heading or its number from 1: a member such as lastName, or nothing to leave it out. Columns that are not named are what was guessed. Repeatable."`
	Duplicates  mapping.Duplicates `name:"duplicates" placeholder:"skip|fill|replace" help:"What becomes of contacts that are there already: skip by default."`
	Companies   *bool              `name:"companies" negatable:"" help:"Make companies of the rows of a table; by default as the headings say."`
	MonthFirst  *bool              `name:"month-first" negatable:"" help:"Read 5/17/1984 as a day in May."`
	Tags        []string           `name:"tag" sep:"none" placeholder:"TAG" help:"A tag for every contact. Repeatable."`
	Profile     string             `name:"profile" type:"existingfile" placeholder:"FILE" help:"Take columns and choices from a file that --save-profile wrote. Flags go first."`
	SaveProfile string             `name:"save-profile" type:"path" placeholder:"FILE" help:"Write columns and choices into a file, for the next import of the same kind."`
}

// profile is the JSON file of --profile, with a mapping for files of the same kind.
type profile struct {
	Columns    map[string]string  `json:"columns"`
	Duplicates mapping.Duplicates `json:"duplicates"`
	MonthFirst *bool              `json:"monthFirst,omitempty"`
	Companies  *bool              `json:"companies,omitempty"`
	Tags       []string           `json:"tags"`
}

// Help returns the help text below the summary.
func (*importCheckCmd) Help() string {
	return "The members are " + strings.Join(mapping.Targets(), ", ") +
		".\nname is a whole name, which is divided; company is the name of a company, which is created if there is none;\nother becomes a line of the note, and *.label says what kind of value the column beside it has.\nA second column that is email, phone, fax or an address becomes an additional one."
}

// Run maps the columns and starts the dry run.
func (c *importCheckCmd) Run(ctx context.Context, g *command.Globals) error {
	caller, done, err := g.ConnectServer(ctx)
	if err != nil {
		return err
	}
	defer done()
	x, err := admin.Call(ctx, caller, imports.Get, c.importRef.named())
	if err != nil {
		return g.NameCommand(err)
	}
	in, err := c.mapping(&x)
	if err != nil {
		return err
	}
	if c.SaveProfile != "" {
		if err := saveProfile(c.SaveProfile, &x, in); err != nil {
			return err
		}
	}
	return step(ctx, g, caller, c.JSON, imports.Map, in.Reference, in)
}

// mapping returns the targets of the columns and the options. Flags come before the profile, and
// the profile before guessed values.
func (c *importCheckCmd) mapping(x *imports.Import) (in imports.MapInput, err error) {
	p := profile{Duplicates: mapping.Skip}
	if c.Profile != "" {
		b, err := os.ReadFile(c.Profile)
		if err != nil {
			return in, err
		}
		if err := json.Unmarshal(b, &p); err != nil {
			return in, fmt.Errorf("--profile: %w", err)
		}
	}
	in.Reference = c.named()
	for _, column := range x.Columns {
		in.Targets = append(in.Targets, column.Target)
	}
	for name, target := range p.Columns { // a file may lack some columns of the profile
		if i, err := columnOf(x, name); err == nil {
			in.Targets[i] = target
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Columns)) {
		i, err := columnOf(x, name)
		if err != nil {
			return in, command.Usagef("--column: %w", err)
		}
		in.Targets[i] = c.Columns[name]
	}
	in.Options = mapping.Options{Duplicates: cmp.Or(c.Duplicates, p.Duplicates), Tags: p.Tags}
	// The server has guessed these options. The profile replaces them, and flags replace both.
	in.MonthFirst, in.Companies = x.Options.MonthFirst, x.Options.Companies
	for _, choice := range []struct{ to, of *bool }{
		{&in.MonthFirst, p.MonthFirst},
		{&in.Companies, p.Companies},
		{&in.MonthFirst, c.MonthFirst},
		{&in.Companies, c.Companies},
	} {
		if choice.of != nil {
			*choice.to = *choice.of
		}
	}
	if c.Tags != nil {
		in.Tags = c.Tags
	}
	return in, nil
}

// columnOf returns the index of the column with a name, which is its heading or its number from 1.
// It fails if there is no such column or several.
func columnOf(x *imports.Import, name string) (int, error) {
	found := -1
	for i, column := range x.Columns {
		switch {
		case column.Heading != name:
		case found >= 0:
			return 0, fmt.Errorf("the file has several columns %q; say the number of the one that you mean", name)
		default:
			found = i
		}
	}
	if n, err := strconv.Atoi(name); found < 0 && err == nil && n >= 1 && n <= len(x.Columns) {
		found = n - 1
	}
	if found < 0 {
		return 0, fmt.Errorf("the file has no column %q", name)
	}
	return found, nil
}

func saveProfile(name string, x *imports.Import, in imports.MapInput) error {
	p := profile{
		Columns:    map[string]string{},
		Duplicates: in.Duplicates,
		MonthFirst: &in.MonthFirst,
		Companies:  &in.Companies,
		Tags:       in.Tags,
	}
	for i, column := range x.Columns {
		name := column.Heading
		if _, err := columnOf(x, name); err != nil {
			name = strconv.Itoa(i + 1)
		}
		p.Columns[name] = in.Targets[i]
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o600)
}

type importRunCmd struct{ importActor }

// Run runs a checked import, or resumes a stopped one.
func (c *importRunCmd) Run(ctx context.Context, g *command.Globals) error {
	return stepOf(ctx, g, c.JSON, imports.Run, c.named())
}

type importUndoCmd struct{ importActor }

// Help returns the help text below the summary.
func (*importUndoCmd) Help() string {
	return `What the import created is deleted, and contacts that it changed get their former values back. What
somebody has changed since, or what tasks or documents belong to, stays as it is.`
}

// Run undoes an import.
func (c *importUndoCmd) Run(ctx context.Context, g *command.Globals) error {
	return stepOf(ctx, g, c.JSON, imports.Undo, c.named())
}

type importDiscardCmd struct{ importRef }

// Run discards an import.
func (c *importDiscardCmd) Run(ctx context.Context, g *command.Globals) error {
	if _, err := command.CallServer(ctx, g, imports.Discard, c.named()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(g.Out, "%s is discarded.\n", c.ID)
	return err
}

type importListCmd struct {
	Org   string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	After string `name:"after" placeholder:"ID" help:"Only imports older than this one, imp_..."`
	Limit int    `name:"limit" default:"100" placeholder:"N" help:"Maximum number of lines, up to 1000."`
	command.JSON
}

// Run lists imports, the newest first.
func (c *importListCmd) Run(ctx context.Context, g *command.Globals) error {
	in := imports.ListInput{Organization: c.Org, After: c.After, Limit: c.Limit}
	page, err := command.CallServer(ctx, g, imports.List, in)
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, []string{
		"ID", "BEGUN", "FOR", "STATE", "ENTRIES", "FILE",
	}, func(x imports.Import) []string {
		return []string{
			x.ID, command.Minute(x.CreatedAt), x.PrincipalID, string(x.State), strconv.FormatInt(x.Lines, 10), x.FileName,
		}
	})
}

type importShowCmd struct{ importRef }

// Run prints an import.
func (c *importShowCmd) Run(ctx context.Context, g *command.Globals) error {
	x, err := command.CallServer(ctx, g, imports.Get, c.named())
	if err != nil {
		return err
	}
	return showImport(g, c.JSON, &x)
}

type importReportCmd struct {
	importRef
	Refused bool `name:"refused" help:"Only the entries that were refused, as they stood in the file, with the reasons: to be mended and imported again."`
}

// Run writes the report as a CSV table.
func (c *importReportCmd) Run(ctx context.Context, g *command.Globals) error {
	caller, done, err := g.ConnectServer(ctx)
	if err != nil {
		return err
	}
	defer done()
	x, err := admin.Call(ctx, caller, imports.Get, c.named())
	if err != nil {
		return g.NameCommand(err)
	}
	head := []string{"file", "line", "outcome", "id", "problems", "heading", "value", "fate"}
	if c.Refused {
		head = nil
		for _, column := range x.Columns {
			head = append(head, column.Heading)
		}
		head = append(head, "problems")
	}
	table := sheet.NewWriter(g.Out)
	if err := table.Row(head...); err != nil {
		return err
	}
	for in := (imports.LinesInput{Reference: c.named(), Refused: c.Refused}); ; {
		page, err := admin.Call(ctx, caller, imports.GetLines, in)
		if err != nil {
			return g.NameCommand(err)
		}
		for i := range page.Data {
			in.After = page.Data[i].Number
			for _, cells := range reportRows(&page.Data[i], len(head), c.Refused) {
				if err := table.Row(cells...); err != nil {
					return err
				}
			}
		}
		if !page.HasMore {
			return table.Flush()
		}
	}
}

// reportRows returns the rows of an entry in the report: one for each reported value, or one with
// the cells of a refused entry.
func reportRows(l *imports.Line, columns int, refused bool) (rows [][]string) {
	var notes []string
	for _, p := range l.Problems {
		note := strings.TrimPrefix(p.Field+": "+p.Message, ": ")
		notes = append(notes, note)
		rows = append(rows, []string{
			l.File, strconv.FormatInt(l.Line, 10), string(l.Outcome), l.RecordID, note, p.Heading, p.Value,
			string(p.Fate),
		})
	}
	note := strings.Join(notes, "\n")
	switch {
	case !refused && rows == nil:
		return [][]string{{l.File, strconv.FormatInt(l.Line, 10), string(l.Outcome), l.RecordID, "", "", "", ""}}
	case !refused:
		return rows
	}
	headed := make([]string, columns)
	n := copy(headed[:columns-1], l.Cells)
	headed[columns-1] = note
	return [][]string{slices.Concat(headed, l.Cells[n:])} // cells without a heading come last
}

// stepOf connects to the server and calls step.
func stepOf(
	ctx context.Context, g *command.Globals, j command.JSON, o op.Operation[imports.Reference, imports.Import],
	of imports.Reference,
) error {
	caller, done, err := g.ConnectServer(ctx)
	if err != nil {
		return err
	}
	defer done()
	return step(ctx, g, caller, j, o, of, of)
}

// step calls an operation that starts a job, waits for the job, and prints the import.
func step[In any](
	ctx context.Context, g *command.Globals, caller socket.Caller, j command.JSON, o op.Operation[In, imports.Import],
	of imports.Reference, in In,
) error {
	x, err := admin.Call(ctx, caller, o, in)
	if err != nil {
		if errors.Is(err, socket.ErrNoAnswer) {
			return fmt.Errorf("the server ended before it answered. Once one runs again, %s says whether the step has begun; it goes on by itself then", showing(of))
		}
		return g.NameCommand(err)
	}
	of.Principal = ""
	for told := time.Now(); x.State.Works(); {
		select {
		case <-ctx.Done():
			fmt.Fprintf(g.Err, "%s goes on without this command.\n", x.ID)
			return ctx.Err()
		case <-time.After(importPoll):
		}
		if x, err = admin.Call(ctx, caller, imports.Get, of); err != nil {
			return goesOn(g, of, err)
		}
		if time.Since(told) > importNews && !j.JSON {
			told = time.Now()
			fmt.Fprintf(g.Err, "%s: %d of %d\n", x.State, x.Done, x.Lines)
		}
	}
	if err := showImport(g, j, &x); err != nil {
		return err
	}
	if x.Reason != "" {
		return g.NameCommand(fmt.Errorf("the import is %s (%s)%s", x.State, x.Reason, hints[x.Reason]))
	}
	return nil
}

// goesOn returns the error if the progress of an import cannot be read. It says that the job
// continues by itself, even after a restart of the server.
func goesOn(g *command.Globals, of imports.Reference, err error) error {
	cause := g.NameCommand(err)
	if errors.Is(err, socket.ErrNoAnswer) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		cause = errors.New("the server ended")
	}
	return fmt.Errorf("%w. %s goes on by itself, also after a restart: %s says how far it is", cause, of.ID, showing(of))
}

// showing returns the command line that prints an import.
func showing(of imports.Reference) string {
	return "kartei import show " + of.ID + " --org " + of.Organization
}

// hints maps the reasons why a file cannot be read to the next step.
var hints = map[imports.Reason]string{
	imports.NoTable:       ": a table (.xlsx, .csv), vCards (.vcf) or a ZIP of them can be imported",
	imports.Encrypted:     ": the file has a password; remove it, and save the file",
	imports.Broken:        ": the file is damaged; save it anew in its program",
	imports.TooLarge:      ": unpacked, the file is too large; delete empty rows, other sheets and pictures, or divide it",
	imports.OldWorkbook:   ": this is a workbook of Excel before 2007 (.xls); save it as .xlsx",
	imports.OtherWorkbook: ": this format of tables is not read; save the table as .xlsx or .csv",
	imports.Unconfined:    ": this system cannot confine the process that reads packed files; use CSV or vCards",
}

const (
	// importPoll is the interval at which a command reads the progress of an import. importNews is
	// the interval at which it prints the progress.
	importPoll = 200 * time.Millisecond
	importNews = 5 * time.Second
)

// showImport prints an import.
func showImport(g *command.Globals, j command.JSON, x *imports.Import) error {
	if j.JSON {
		return g.PrintJSON(x)
	}
	fmt.Fprintf(g.Out, "%s is %s: %s, %d entries", x.ID, x.State, x.FileName, x.Lines)
	for _, outcome := range slices.Sorted(maps.Keys(x.Counts)) {
		fmt.Fprintf(g.Out, ", %d %s", x.Counts[outcome], outcome)
	}
	fmt.Fprintln(g.Out)
	if x.Sheet != "" {
		fmt.Fprintf(g.Out, "%q is read.\n", x.Sheet)
	}
	if x.Files > 0 {
		fmt.Fprintf(g.Out, "%d files are read.\n", x.Files)
	}
	for _, l := range x.LeftOut {
		fmt.Fprintf(g.Out, "%q is not read (%s).\n", l.Name, l.Reason)
	}
	if x.NotListed > 0 {
		fmt.Fprintf(g.Out, "%d more are not read.\n", x.NotListed)
	}
	if len(x.Columns) == 0 {
		return nil
	}
	rows := make([][]string, len(x.Columns))
	for i, c := range x.Columns {
		rows[i] = []string{
			strconv.Itoa(i + 1), c.Heading, c.Target,
			strings.ReplaceAll(strings.Join(c.Samples, " | "), "\n", " "),
		}
	}
	return command.PrintTable(g, []string{"COLUMN", "HEADING", "MEMBER", "SAMPLES"}, rows)
}
