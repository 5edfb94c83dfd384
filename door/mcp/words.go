package mcp

import (
	"strings"

	"kartei/kit/i18n"
)

// httpWords has pairs: words about HTTP in an OpenAPI document, and the words for an assistant that
// replace them. An assistant sees no headers, paths and statuses. An empty text removes the words.
var httpWords = [][2]i18n.Text{
	{" (JSON Merge Patch, RFC 7396)", ""},
	{" Requires If-Match.", ""},
	{"If-Match and Idempotency-Key are not needed but honoured.", "revision is not needed, but honoured."},
	{"If-Match is not required, but honoured.", "revision is not needed, but honoured."},
	{", without a body", ""},
	{" The call has no body.", ""},
	{"are 404 alike", "are NOT_FOUND alike"},
	{"are answered 404 alike", "are NOT_FOUND alike"},
	{"are all 404", "are NOT_FOUND alike"},
	{"it is completed with complete", "it is completed with tasks_complete"},
	{"with POST /tasks/{id}/complete", "with tasks_complete"},
	{"Answers 202 with an operation", "Answers with an operation"},
	{"content returns its file", "documents_text returns its text"},
	{"one's own from GET /me", "one's own from me_get"},
	{"others get 404", "others get NOT_FOUND"},
	{" While it goes on, Retry-After says when it is worth asking again.", ""},
	{"the answer is 403 FORBIDDEN", "the answer is FORBIDDEN"},
	{"else 422 WEBHOOK_URL_INVALID", "else WEBHOOK_URL_INVALID"},
}

// forAssistants returns the replacer of the words in httpWords, in a language.
func forAssistants(in i18n.Language) *strings.Replacer {
	var pairs []string
	for _, p := range httpWords {
		pairs = append(pairs, p[0].In(in), p[1].In(in))
	}
	return strings.NewReplacer(pairs...)
}
