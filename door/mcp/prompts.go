package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kartei/kit/fault"
)

// prompt is a request that a person of an office makes of an assistant again and again. Its
// text names the tools. {} is the argument.
type prompt struct {
	name               string
	title, about, text fault.Text
	// argument is the name of the one argument, empty for none, and asks describes
	// it.
	argument string
	asks     fault.Text
}

var prompts = []prompt{
	{
		name: "mein_tag", title: fault.Text{DE: "Mein Tag", EN: "My day"},
		about: fault.Text{
			DE: "Was heute fällig und was überfällig ist, nach Kontakten",
			EN: "What is due today and what is overdue, by contact",
		},
		text: fault.Text{
			DE: "Stelle meinen Tag zusammen. Sieh mit me_get nach, wer ich bin. Lies mit tasks_list alle offenen Aufgaben, die mir gehören (assigneeId), und ordne sie: zuerst überfällige, dann heute fällige, dann die der nächsten sieben Tage. Fasse zusammen, was zum selben Kontakt gehört; Namen liefert contacts_get. Ändere nichts.",
			EN: "Put my day together. Use me_get to find out who I am. Read with tasks_list all open tasks that are mine (assigneeId), and sort them: overdue ones first, then those due today, then those of the next seven days. Group what belongs to the same contact; contacts_get has the names. Change nothing.",
		},
	},
	{
		name: "kontakt_vorbereiten", title: fault.Text{DE: "Gespräch vorbereiten", EN: "Prepare a meeting"},
		about: fault.Text{
			DE: "Eine Seite vor einem Gespräch: Person, Firma, Aufgaben, Dokumente, letzte Änderungen",
			EN: "One page before a meeting: person, company, tasks, documents, latest changes",
		},
		text: fault.Text{
			DE: "Bereite mich auf ein Gespräch mit „{}“ vor. Suche die Person mit contacts_list und q; sind es mehrere, frage mich. Lies ihre Firma (companies_get), offene Aufgaben (tasks_list), Dokumente (documents_list) und was sich zuletzt geändert hat (events_list). Schreibe eine Seite: wer sie ist, worum es geht, was offen ist. Ändere nichts.",
			EN: "Prepare me for a meeting with “{}”. Find the person with contacts_list and q; if there are several, ask me. Read their company (companies_get), open tasks (tasks_list), documents (documents_list) and what changed lately (events_list). Write one page: who they are, what it is about, what is open. Change nothing.",
		},
		argument: "name", asks: fault.Text{
			DE: "Name der Person, auch nur ein Teil", EN: "Name of the person, or a part of it",
		},
	},
	{
		name: "frist_anlegen", title: fault.Text{DE: "Frist anlegen", EN: "Note a deadline"},
		about: fault.Text{DE: "Aus einem Satz wird eine Aufgabe mit Datum", EN: "A sentence becomes a task with a date"},
		text: fault.Text{
			DE: "Lege aus diesem Satz eine Aufgabe an: „{}“. Ist das Datum oder die Person mehrdeutig, frage mich, bevor du etwas anlegst. Suche die Person mit contacts_list und q. Zeige mir Titel, Datum und Kontakt, und lege die Aufgabe mit tasks_create an, wenn ich zustimme.",
			EN: "Make a task of this sentence: “{}”. If the date or the person is ambiguous, ask me before you create anything. Find the person with contacts_list and q. Show me the title, the date and the contact, and create the task with tasks_create once I agree.",
		},
		argument: "text", asks: fault.Text{
			DE: "Der Satz, zum Beispiel: Berufung Berger bis 3. März",
			EN: "The sentence, for example: appeal of Berger by 3 March",
		},
	},
	{
		name: "dubletten_suchen", title: fault.Text{DE: "Dubletten suchen", EN: "Find duplicates"},
		about: fault.Text{
			DE: "Kontakte, die es doppelt gibt; geändert wird nichts",
			EN: "Contacts that exist twice; nothing is changed",
		},
		text: fault.Text{
			DE: "Suche unter den Kontakten nach Dubletten: gleiche E-Mail-Adresse, gleiche Nummer, oder derselbe Name in anderer Schreibweise. Lies sie seitenweise mit contacts_list. Zeige mir jedes Paar mit dem Grund und einem Vorschlag, welcher bleiben soll. Ändere und lösche nichts.",
			EN: "Look among the contacts for duplicates: the same email address, the same number, or the same name in another spelling. Read them page by page with contacts_list. Show me each pair with the reason and a proposal which one to keep. Change and delete nothing.",
		},
	},
	{
		name: "wochenbericht", title: fault.Text{DE: "Wochenbericht", EN: "Report of the week"},
		about: fault.Text{DE: "Was sich in sieben Tagen getan hat", EN: "What has happened in seven days"},
		text: fault.Text{
			DE: "Schreibe einen Bericht über die letzten sieben Tage. Lies mit events_list und createdSince alle Ereignisse, Seite für Seite, und zähle nach Art. Nenne neue Kontakte und Firmen, erledigte Aufgaben und neue Dokumente beim Namen. Ändere nichts.",
			EN: "Write a report about the last seven days. Read all events with events_list and createdSince, page by page, and count them by kind. Name the new contacts and companies, the completed tasks and the new documents. Change nothing.",
		},
	},
}

// invalid is the error of the protocol for wrong parameters.
func invalid(why string) error { return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: why} }

// addPrompts adds the prompts in a language.
func addPrompts(s *sdk.Server, in fault.Language) {
	for _, p := range prompts {
		shown := &sdk.Prompt{Name: p.name, Title: p.title.In(in), Description: p.about.In(in)}
		if p.argument != "" {
			shown.Arguments = []*sdk.PromptArgument{{Name: p.argument, Description: p.asks.In(in), Required: true}}
		}
		s.AddPrompt(shown, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			value := r.Params.Arguments[p.argument]
			if p.argument != "" && strings.TrimSpace(value) == "" {
				return nil, invalid(fault.Text{
					DE: "Es fehlt das Argument " + p.argument + ".", EN: "The argument " + p.argument + " is missing.",
				}.In(in))
			}
			text := strings.Replace(p.text.In(in), "{}", value, 1)
			return &sdk.GetPromptResult{
				Description: p.about.In(in),
				Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}},
			}, nil
		})
	}
}
