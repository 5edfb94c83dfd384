package fault

import (
	"strings"

	"kartei/kit/i18n"
)

// Nearest returns the name that a client probably meant by an unknown one: the same but for
// case and underscores, or with one or two letters that differ. It is empty if there is none.
func Nearest(unknown string, names []string) string {
	sent := plainName(unknown)
	if len(sent) > maxCompared {
		return ""
	}
	nearest, least := "", 3
	for _, name := range names {
		known := plainName(name)
		if n := distance(sent, known); n < least && n <= min(len(sent), len(known))/4 || n == 0 {
			nearest, least = name, n
		}
	}
	return nearest
}

// DidYouMean says of a name that it is not known, and which one probably was meant.
func DidYouMean(name string) i18n.Text {
	return i18n.Format("This name is not known here. Did you mean %s?", name)
}

// maxCompared bounds the bytes of a name that is compared with others.
const maxCompared = 64

// plainName returns a name without what people write otherwise in it.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// distance counts the bytes to insert, to delete or to change between two texts (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
