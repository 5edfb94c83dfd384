package words

import (
	"regexp"
	"strings"
	"testing"
)

// headed matches the keys of summaries and descriptions of operations and event types.
var headed = regexp.MustCompile(`^[a-zA-Z]+\.[a-z]\w+\.(summary|description)$`)

// TestTexts checks that each key occurs once and has words in both languages. Equal German texts
// must have equal English texts, because documents are translated text by text.
func TestTexts(t *testing.T) {
	seen, english := map[string]string{}, map[string]string{}
	for _, f := range files {
		for key, words := range f.words {
			if seen[key] != "" {
				t.Errorf("%s stands in %s and in %s", key, seen[key], f.name)
			}
			seen[key] = f.name
			for _, w := range []string{words.german, words.english} {
				if w == "" || w != strings.TrimSpace(w) || strings.Contains(w, "\n\n") {
					t.Errorf("%s: %s says %q: want one paragraph without space around it", f.name, key, w)
				}
				if of := headed.FindStringSubmatch(key); of != nil && (of[1] == "description") != strings.HasSuffix(w, ".") {
					t.Errorf("%s: %s says %q: a summary has no full stop, a description has one", f.name, key, w)
				}
			}
			if other := english[words.german]; other != "" && other != words.english {
				t.Errorf("%s: %s says %q in English, another key with the same German words says %q", f.name, key,
					words.english, other)
			}
			english[words.german] = words.english
			if file := File(key); file != "api/words/"+f.name {
				t.Errorf("%s stands in %s, other keys with its first word in %s", key, f.name, file)
			}
		}
	}
}
