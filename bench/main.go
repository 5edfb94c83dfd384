// Package main owns the benchmarks: the real server on a large office, against limits measured in the same run.
//
//	go run ./bench            all measurements, with 100,000 and 1,000,000 contacts: under ten minutes
//	go run ./bench --quick    100,000 contacts, one run of each: a minute
//	go run ./bench --postgres on a temporary PostgreSQL server, compared with pgbench: two minutes
//	go run ./bench --scale    reads among --records contacts compared with 100,000; with --postgres on PostgreSQL
//	go run ./bench --organizations 10000  calls spread over that many organizations
//	go run ./bench --webhooks 100000      deliveries compared with a bare loop, and calls during that backlog; with --postgres on PostgreSQL
//	go run ./bench --against PROGRAM      processor time and allocations of the main calls compared with another kartei, in pairs
//	go run ./bench --traces   the cost of traces for a read, in pairs: ten minutes
//	go run ./bench --documents 100000     transfers of files, and searches in the text of that many documents
//	go run ./bench --lookup   finding over all families while somebody types, beside the four lists, and conflict checks
//	go run ./bench --pages    pages of the web application against the operations that they make; with --postgres on PostgreSQL
//	go run ./bench --tokens   what access tokens and the endpoints for applications cost, in pairs
//	go run ./bench --assistants           what the tool that reads a contact costs, in pairs
//	go run ./bench --additional 2         what two additional emails and numbers of each contact cost
//	go run ./bench --labelled             precision and recall of the finder of duplicates on 2,000 made pairs
//	go run ./bench --duplicates           the finder of duplicates in an office with 100,000 contacts and 5,000 duplicates
//	go run ./bench --imports 10000        an import, and what others wait meanwhile; so do --hand-over and --erase, with --records 100000
//
// The first start fills the data folders. That takes some minutes and is not
// counted. docs/performance.md explains the numbers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"kartei/bench/acts"
	"kartei/bench/data"
	"kartei/bench/documents"
	"kartei/bench/duplicates"
	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/pages"
	"kartei/bench/pairs"
	"kartei/bench/process"
	"kartei/bench/records"
	"kartei/bench/webhooks"
	"kartei/extract"
)

// labelled is the number of labelled pairs of two records.
const labelled = 2000

// options are the flags. Each flag that is not in measure.Settings selects what is measured.
type options struct {
	measure.Settings
	fill  bool
	quick bool
	scale bool
	// traces measures the cost of tracing for a read.
	traces bool
	// lookup measures the search over all families.
	lookup bool
	// pages measures the pages of the web application.
	pages bool
	// handOver measures only a hand-over of records to another person.
	handOver bool
	// erase measures only the erasure of an organization.
	erase bool
	// wholeList measures only a change of all contacts of a list.
	wholeList bool
	// tokens measures only the cost of access tokens.
	tokens bool
	// assistants measures only the cost of a tool for assistants.
	assistants bool
	// labelled judges the comparison of duplicates, and duplicates measures their finder.
	labelled, duplicates bool
}

func main() {
	extract.Child(os.Args) // for a server that runs in this process
	if err := begin(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func begin() error {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "load":
			return load.Generate(os.Stdin, os.Stdout)
		case "bare":
			return records.ServeBare(os.Stdin, os.Stdout)
		case "copy":
			return documents.ServeCopies(os.Stdin, os.Stdout)
		case "receive":
			return webhooks.ServeReceiver(os.Stdin, os.Stdout)
		case "deliver":
			return webhooks.Deliver(os.Stdin, os.Stdout)
		case "collect":
			return pairs.ServeCollector(os.Stdin, os.Stdout)
		case "insert":
			return records.Insert(os.Stdin, os.Stdout)
		case "serve":
			return process.ServeProfiled(os.Args[2], os.Args[3], os.Args[4:])
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, flags())
}

func flags() options {
	var o options
	flag.IntVar(&o.Records, "records", 1_000_000, "how many contacts the office has")
	flag.Float64Var(&o.Seconds, "seconds", 3, "how long each measurement takes")
	flag.IntVar(&o.Runs, "runs", 5, "how often each is repeated; the table shows medians")
	flag.StringVar(&o.Data, "data", filepath.Join(os.TempDir(), "kartei-bench"),
		"`folder` that keeps filled offices between runs (4 GB)")
	flag.StringVar(&o.Program, "kartei", "", "the `program` that is measured; without it, it is built")
	flag.StringVar(&o.JSON, "json", "", "write all figures into a `file`")
	flag.StringVar(&o.Profile, "profile", "", "write a CPU profile of the server under each load into a `folder`")
	flag.StringVar(&o.Only, "only", "", "measure only the series whose names begin with this `word`: get, list, search, count, post; an unknown one is told which there are")
	flag.BoolVar(&o.fill, "fill", false, "only fill the folders")
	flag.BoolVar(&o.Markdown, "markdown", false, "print the table as it stands in docs/performance.md")
	flag.BoolVar(&o.quick, "quick", false, "100,000 contacts, one run of each")
	flag.BoolVar(&o.Citus, "citus", false, "with --organizations: on a Citus cluster of three servers, where the installed PostgreSQL has the extension")
	flag.BoolVar(&o.Postgres, "postgres", false, "measure on PostgreSQL, beside pgbench")
	flag.BoolVar(&o.scale, "scale", false, "measure reads only, of an office with --records contacts against one with 100,000; with --postgres on PostgreSQL")
	flag.IntVar(&o.Organizations, "organizations", 0,
		"measure only calls that are spread over so many organizations; with --postgres on PostgreSQL")
	flag.BoolVar(&o.Limited, "limited", false, "measure on PostgreSQL what the limits of two replicas cost a read")
	flag.IntVar(&o.Documents, "documents", 0,
		"measure only documents: transfers, operations, and a search in the text of so many; --only takes transfer, drain, find")
	flag.BoolVar(&o.traces, "traces", false, "measure only what traces cost a read, of an office with 100,000 contacts")
	flag.BoolVar(&o.lookup, "lookup", false,
		"measure only finding over all families (lookup.find) and conflict checks, of an office with --records contacts and a tenth of each other family")
	flag.BoolVar(&o.pages, "pages", false, "measure only pages of the web application, of an office with --records contacts and a tenth of each other family; --only takes their names")
	flag.IntVar(&o.Imports, "imports", 0, "measure only an import of so many contacts, and what others wait meanwhile; with --postgres on PostgreSQL")
	flag.BoolVar(&o.handOver, "hand-over", false,
		"measure only a hand-over at an office with --records contacts, and what others wait meanwhile; with --postgres on PostgreSQL")
	flag.BoolVar(&o.erase, "erase", false, "measure only the erasure of an organization with --records contacts, and what others wait meanwhile; with --postgres on PostgreSQL")
	flag.BoolVar(&o.wholeList, "whole-list", false,
		"measure only a change of all --records contacts and its undoing, and what others wait meanwhile; with --postgres on PostgreSQL")
	flag.BoolVar(&o.tokens, "tokens", false,
		"measure only what access tokens cost, beside keys and the creation of contacts; with --postgres on PostgreSQL; --only takes a read, a refresh, a token, an introspection")
	flag.BoolVar(&o.assistants, "assistants", false,
		"measure only what the tool costs that reads a contact, beside the same read over REST; with --postgres on PostgreSQL")
	flag.BoolVar(&o.labelled, "labelled", false, "only judge the comparison of duplicates by 2,000 labelled pairs")
	flag.BoolVar(&o.duplicates, "duplicates", false,
		"measure only the finder of duplicates, in an office with 100,000 contacts, or with --records if there are fewer")
	flag.IntVar(&o.Additional, "additional", 0,
		"measure only what so many additional emails and telephone numbers of each of --records contacts cost; --only takes search, email=, get, list, create")
	flag.StringVar(&o.Other, "against", "",
		"measure only what the main calls cost, beside the same calls to another kartei `program`, in pairs; --only takes get, list, sync, create, patch, batch, delivery")
	flag.IntVar(&o.Webhooks, "webhooks", 0,
		"measure only deliveries of webhooks, with a backlog of so many; with --postgres on PostgreSQL")
	flag.Parse()
	if o.traces {
		o.Records = records.Small
	}
	if o.Other != "" || o.tokens || o.assistants {
		o.Records = pairs.Records
	}
	if o.quick {
		o.Records, o.Runs = min(o.Records, records.Small), 1
	}
	return o
}

func run(ctx context.Context, o options) (err error) {
	if err := o.checkOnly(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return err
	}
	switch { // these run in this process and need no program
	case o.fill:
		return fillKept(ctx, &o)
	case o.labelled:
		duplicates.Report(os.Stdout, duplicates.Pairs(labelled))
		return nil
	case o.duplicates:
		return duplicates.Measure(ctx, os.Stdout, min(o.Records, records.Small))
	}
	if o.lookup { // this measurement runs in this process and needs no program
		b := measure.New(o.Settings)
		return pages.MeasureFinding(ctx, b)
	}
	if o.Profile != "" {
		if o.Profile, err = filepath.Abs(o.Profile); err != nil {
			return err
		}
		if err := os.MkdirAll(o.Profile, 0o755); err != nil {
			return err
		}
	} else if o.Program == "" {
		dir, err := os.MkdirTemp("", "kartei-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.Program = filepath.Join(dir, "kartei")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.Program, "./cmd/kartei")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build ./cmd/kartei: %w", err)
		}
	}
	b := measure.New(o.Settings)
	defer b.End()
	switch {
	case o.Organizations > 0:
		return records.MeasureOrganizations(ctx, b)
	case o.Documents > 0:
		return documents.Measure(ctx, b)
	case o.Webhooks > 0:
		return webhooks.Measure(ctx, b)
	case o.wholeList:
		return acts.MeasureWholeList(ctx, b)
	case o.handOver:
		return acts.MeasureHandOver(ctx, b)
	case o.erase:
		return acts.MeasureErasure(ctx, b)
	case o.Imports > 0:
		return acts.MeasureImport(ctx, b)
	case o.pages:
		return pages.Measure(ctx, b)
	case o.scale:
		return records.MeasureScale(ctx, b)
	case o.traces:
		return pairs.MeasureTraces(ctx, b)
	case o.tokens:
		return pairs.MeasureTokens(ctx, b)
	case o.Additional > 0:
		return pairs.MeasureAdditional(ctx, b)
	case o.assistants:
		return pairs.MeasureAssistants(ctx, b)
	case o.Other != "":
		return pairs.MeasurePrograms(ctx, b)
	}
	if o.Postgres || o.Limited {
		return records.MeasurePostgres(ctx, b)
	}
	return records.Measure(ctx, b)
}

// fillKept fills the folders and databases that stay for later runs.
func fillKept(ctx context.Context, o *options) error {
	ensure := func(ctx context.Context, root string, n int) error {
		return data.Fill(ctx, root, data.Size{Records: n})
	}
	if o.Postgres {
		k, err := data.StartServer(o.Data)
		if err != nil {
			return err
		}
		defer k.Stop()
		ensure = func(ctx context.Context, root string, n int) error {
			_, err := k.Fill(ctx, root, n)
			return err
		}
	}
	for _, n := range []int{min(records.Small, o.Records), o.Records} {
		if err := ensure(ctx, o.Data, n); err != nil {
			return err
		}
	}
	return nil
}

// checkOnly returns an error if the flag --only is set and would be ignored.
func (o *options) checkOnly() error {
	if o.Only != "" && (o.Webhooks > 0 || o.Limited || o.traces) {
		return fmt.Errorf("--only cannot be used with --webhooks, --limited or --traces, which measure one thing each")
	}
	return nil
}
