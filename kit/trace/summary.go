package trace

import "strings"

// summed is the maximum number of words that Summary reads. The limit exists because the statement
// of a search may be long.
const summed = 64

// Summary returns the first word of a statement and the first table in it. It returns only words of
// letters and underscores, so the results contain no values. table is empty if none is found.
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

// plain returns the word if it has only letters and underscores. Otherwise it returns "".
func plain(word string) string {
	for _, c := range word {
		if (c < 'a' || c > 'z') && c != '_' {
			return ""
		}
	}
	return word
}
