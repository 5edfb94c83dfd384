package trace

import "strings"

// summed is the number of words that Summary reads, because the query of a
// search may be long.
const summed = 64

// Summary returns the first word of a statement and the first table in it. Both
// consist of letters and underscores only, so they contain no values.
func Summary(query string) (operation, table string) {
	words := 0
	previous := ""
	for word := range strings.FieldsSeq(query) {
		word = strings.ToLower(word)
		switch previous {
		case "":
			operation = plain(word)
			if operation == "" {
				operation = "statement"
			}
		case "from", "into", "update", "copy":
			if word != "only" && word[0] != '(' {
				return operation, plain(strings.TrimRight(word, ",;()"))
			}
		}
		if words++; words == summed {
			break
		}
		previous = strings.TrimLeft(word, "(")
		if previous == "" {
			previous = "("
		}
	}
	return operation, ""
}

// plain returns the word if it consists of letters and underscores, and
// otherwise nothing.
func plain(word string) string {
	for _, c := range word {
		if (c < 'a' || c > 'z') && c != '_' {
			return ""
		}
	}
	return word
}
