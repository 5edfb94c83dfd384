package mcp

import (
	"strings"

	"kartei/kit/fault"
)

// httpWords has what the OpenAPI document says in the words of HTTP, and how it is said to
// an assistant, which has no headers, paths and statuses. Nothing in place of a text leaves
// it out.
var httpWords = [][2]fault.Text{
	{{DE: " (JSON Merge Patch, RFC 7396)", EN: " (JSON Merge Patch, RFC 7396)"}, {}},
	{{DE: " Verlangt If-Match.", EN: " Requires If-Match."}, {}},
	{
		{
			DE: "If-Match und Idempotency-Key sind nicht nötig, werden aber beachtet.",
			EN: "If-Match and Idempotency-Key are not needed but honoured.",
		},
		{DE: "revision ist nicht nötig, wird aber beachtet.", EN: "revision is not needed, but honoured."},
	},
	{
		{DE: "If-Match ist nicht nötig, wird aber beachtet.", EN: "If-Match is not required, but honoured."},
		{DE: "revision ist nicht nötig, wird aber beachtet.", EN: "revision is not needed, but honoured."},
	},
	{{DE: ", ohne Body", EN: ", without a body"}, {}},
	{{DE: " Der Aufruf hat keinen Body.", EN: " The call has no body."}, {}},
	{{DE: "sind gleichermaßen 404", EN: "are 404 alike"}, {DE: "sind gleichermaßen NOT_FOUND", EN: "are NOT_FOUND alike"}},
	{
		{DE: "werden gleichermaßen mit 404 beantwortet", EN: "are answered 404 alike"},
		{DE: "sind gleichermaßen NOT_FOUND", EN: "are NOT_FOUND alike"},
	},
	{{DE: "sind gleichermaßen 404", EN: "are all 404"}, {DE: "sind gleichermaßen NOT_FOUND", EN: "are NOT_FOUND alike"}},
	{
		{DE: "abgeschlossen wird sie mit complete", EN: "it is completed with complete"},
		{DE: "abgeschlossen wird sie mit tasks_complete", EN: "it is completed with tasks_complete"},
	},
	{
		{DE: "mit POST /tasks/{id}/complete", EN: "with POST /tasks/{id}/complete"},
		{DE: "mit tasks_complete", EN: "with tasks_complete"},
	},
	{
		{DE: "Antwortet 202 mit einem Vorgang", EN: "Answers 202 with an operation"},
		{DE: "Antwortet mit einem Vorgang", EN: "Answers with an operation"},
	},
	{
		{DE: "seine Datei liefert content", EN: "content returns its file"},
		{DE: "seinen Text liefert " + textTool, EN: textTool + " returns its text"},
	},
	{{DE: "die eigene GET /me", EN: "one's own from GET /me"}, {DE: "die eigene me_get", EN: "one's own from me_get"}},
	{{DE: "andere erhalten 404", EN: "others get 404"}, {DE: "andere erhalten NOT_FOUND", EN: "others get NOT_FOUND"}},
	{{
		DE: " Solange er läuft, sagt Retry-After, wann sich die nächste Frage lohnt.",
		EN: " While it goes on, Retry-After says when it is worth asking again.",
	}, {}},
	{
		{DE: "ist die Antwort 403 FORBIDDEN", EN: "the answer is 403 FORBIDDEN"},
		{DE: "ist die Antwort FORBIDDEN", EN: "the answer is FORBIDDEN"},
	},
	{
		{DE: "sonst 422 WEBHOOK_URL_INVALID", EN: "else 422 WEBHOOK_URL_INVALID"},
		{DE: "sonst WEBHOOK_URL_INVALID", EN: "else WEBHOOK_URL_INVALID"},
	},
}

// forAssistants returns what turns the words of HTTP into an assistant's words.
func forAssistants(in fault.Language) *strings.Replacer {
	var pairs []string
	for _, p := range httpWords {
		pairs = append(pairs, p[0].In(in), p[1].In(in))
	}
	return strings.NewReplacer(pairs...)
}
