package fault

import (
	"strings"

	"kartei/kit/i18n"
)

// Nearest returns the name that a client probably meant by an unknown name. It ignores case,
// underscores, hyphens, points and spaces. Otherwise one or two bytes may differ, and at most one
// in four. It returns "" if no name is near.
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

// DidYouMean returns the error text for an unknown name. name is the name that was probably meant.
func DidYouMean(name string) i18n.Text {
	return i18n.Format("This name is not known here. Did you mean %s?", name)
}

// maxCompared is the maximum length in bytes of a name that Nearest compares.
const maxCompared = 64

// plainName returns name in lower case and without separators.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// distance returns the Levenshtein distance of two texts: the number of bytes to insert, to delete
// or to change.
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
