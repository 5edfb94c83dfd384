package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kartei/kit/i18n"
)

// prompt is a text that people can send to an assistant, with a place for an argument: {}. The text
// names the tools.
type prompt struct {
	name               string
	title, about, text i18n.Text
	// argument is the name of the argument, or empty if there is none. asks describes the argument.
	argument string
	asks     i18n.Text
}

var prompts = []prompt{
	{
		name: "mein_tag", title: "My day",
		about: "What is due today and what is overdue, by contact",
		text:  "Put my day together. Use me_get to find out who I am. Read with tasks_list all open tasks that are mine (assigneeId), and sort them: overdue ones first, then those due today, then those of the next seven days. Group what belongs to the same contact; contacts_get has the names. Change nothing.",
	},
	{
		name: "kontakt_vorbereiten", title: "Prepare a meeting",
		about:    "One page before a meeting: person, company, tasks, documents, latest changes",
		text:     "Prepare me for a meeting with “{}”. Find the person with contacts_list and q; if there are several, ask me. Read their company (companies_get), open tasks (tasks_list), documents (documents_list) and what changed lately (events_list). Write one page: who they are, what it is about, what is open. Change nothing.",
		argument: "name", asks: "Name of the person, or a part of it",
	},
	{
		name: "frist_anlegen", title: "Note a deadline",
		about:    "A sentence becomes a task with a date",
		text:     "Make a task of this sentence: “{}”. If the date or the person is ambiguous, ask me before you create anything. Find the person with contacts_list and q. Show me the title, the date and the contact, and create the task with tasks_create once I agree.",
		argument: "text", asks: "The sentence, for example: appeal of Berger by 3 March",
	},
	{
		name: "dubletten_suchen", title: "Find duplicates",
		about: "Contacts that exist twice; nothing is changed",
		text:  "Look among the contacts for duplicates: the same email address, the same number, or the same name in another spelling. Read them page by page with contacts_list. Show me each pair with the reason and a proposal which one to keep. Change and delete nothing.",
	},
	{
		name: "wochenbericht", title: "Report of the week",
		about: "What has happened in seven days",
		text:  "Write a report about the last seven days. Read all events with events_list and createdSince, page by page, and count them by kind. Name the new contacts and companies, the completed tasks and the new documents. Change nothing.",
	},
}

// invalid returns the JSON-RPC error for wrong parameters.
func invalid(why string) error { return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: why} }

// addPrompts adds all prompts in a language to the server.
func addPrompts(s *sdk.Server, in i18n.Language) {
	for _, p := range prompts {
		shown := &sdk.Prompt{Name: p.name, Title: p.title.In(in), Description: p.about.In(in)}
		if p.argument != "" {
			shown.Arguments = []*sdk.PromptArgument{{Name: p.argument, Description: p.asks.In(in), Required: true}}
		}
		s.AddPrompt(shown, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			value := r.Params.Arguments[p.argument]
			if p.argument != "" && strings.TrimSpace(value) == "" {
				return nil, invalid(in.Say("The argument %s is missing.", p.argument))
			}
			text := strings.Replace(p.text.In(in), "{}", value, 1)
			return &sdk.GetPromptResult{
				Description: p.about.In(in),
				Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}},
			}, nil
		})
	}
}
