// Package main owns the program kartei and the list of its commands.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"kartei/cmd/kartei/command"
	"kartei/cmd/kartei/developer"
	"kartei/cmd/kartei/integration"
	"kartei/cmd/kartei/people"
	"kartei/cmd/kartei/server"
	"kartei/cmd/kartei/transfer"
	"kartei/extract"
)

// commands is the complete command line.
type commands struct {
	command.Globals

	Serve          server.Serve          `cmd:"" name:"serve" help:"Serve the API until interrupted."`
	Demo           server.Demo           `cmd:"" name:"demo" help:"Serve a sample office, for trying things out."`
	Org            people.Org            `cmd:"" name:"org" help:"Organizations."`
	User           people.User           `cmd:"" name:"user" help:"Users of an organization."`
	Invitation     people.Invitation     `cmd:"" name:"invitation" help:"Open invitations to an organization."`
	Contact        transfer.Contact      `cmd:"" name:"contact" help:"Contacts: everything about one as a file, or all as vCards."`
	Import         transfer.Import       `cmd:"" name:"import" help:"Imports of contacts from other programs: tables and vCards."`
	ServiceAccount people.ServiceAccount `cmd:"" name:"service-account" help:"Service accounts of an organization."`
	Key            integration.Key       `cmd:"" name:"key" help:"API keys."`
	Client         integration.Client    `cmd:"" name:"client" help:"Applications that act for service accounts (OAuth 2.1)."`
	Grant          integration.Grant     `cmd:"" name:"grant" help:"What applications may do for people and service accounts."`
	Log            integration.Log       `cmd:"" name:"log" help:"Read the request log: calls, callers, and why a key was refused."`
	Versions       integration.Versions  `cmd:"" name:"versions" help:"List the versions of the API that keys use."`
	Usage          integration.Usage     `cmd:"" name:"usage" help:"Count the calls of keys and the deliveries of webhooks, and show what is left of limits."`
	Audit          people.Audit          `cmd:"" name:"audit" help:"Read the audit log: who administered what, and when."`
	Bell           people.Bell           `cmd:"" name:"bell" help:"Read the bell entries of an organization's users."`
	Jobs           server.Jobs           `cmd:"" name:"jobs" help:"Background jobs: count them, list failed ones, and retry them."`
	Webhook        integration.Webhook   `cmd:"" name:"webhook" help:"Webhook endpoints: deliveries, sending events again, enabling endpoints."`
	Listen         developer.Listen      `cmd:"" name:"listen" help:"Post the events of an instance to a local address, as webhooks, while you develop."`
	Trigger        developer.Trigger     `cmd:"" name:"trigger" help:"Make a change in a sandbox that emits an event of a type."`
	API            developer.API         `cmd:"" name:"api" help:"Call the API of an instance: by method and path, or by the id of an operation."`
	Pause          server.Pause          `cmd:"" name:"pause" help:"Pause the API: every call is answered 503 API_PAUSED."`
	Resume         server.Resume         `cmd:"" name:"resume" help:"End the pause of the API."`
	Backup         server.Backup         `cmd:"" name:"backup" help:"Copy the database and the files of documents while they are in use."`
	Restore        server.Restore        `cmd:"" name:"restore" help:"Restore the database and the files of documents from a copy."`
	Copy           server.Copy           `cmd:"" name:"copy" help:"Move an instance to another database: from SQLite to PostgreSQL, or back."`
	Blobs          server.Blobs          `cmd:"" name:"blobs" help:"The files of documents."`
	MasterKey      server.MasterKey      `cmd:"" name:"master-key" help:"The fingerprint of the master key in the database."`
	Migrate        server.Migrate        `cmd:"" name:"migrate" help:"Bring the database to this release's version."`
	Check          server.Check          `cmd:"" name:"check" help:"Look at what a server needs: settings, folders, database, certificate, mail and more, each with its cure."`
	Conf           server.Config         `cmd:"" name:"config" help:"Print each setting with its value and its source: flag, environment, file or default."`
	OpenAPI        developer.OpenAPI     `cmd:"" name:"openapi" help:"OpenAPI documents, for developers of Kartei."`
	Release        server.Version        `cmd:"" name:"version" help:"Print the version."`
}

func main() {
	extract.Child(os.Args)
	if err := noDumps(); err != nil {
		fmt.Fprintln(os.Stderr, "kartei: core dumps cannot be turned off:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Run(ctx, new(commands), os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}
