package search

import (
	"unicode"
	"unicode/utf8"
)

// The index has more words for a name than the name contains. The word 'karlheinz' finds
// 'Karl-Heinz', 'obrien' finds "O'Brien", and the given name '민수' finds '김민수' (Kim Minsu). Only
// names with hyphens, apostrophes or Hangul have these additional postings.

// maxJoints is the maximum number of hyphens and apostrophes in a name, as in
// "d'Artagnan-de-la-Tour".
const maxJoints = 4

// compounds calls add with each name that contains hyphens or apostrophes, without these
// characters. It reads the part at of a folded text. from has the index in the text for each byte
// of the word. Words with digits are left out, because dates and file numbers have hyphens too.
func compounds(folded string, at Span, add func(word string, from []int)) {
	var f folder
	var from []int
	joints := 0
	flush := func() {
		if joints > 0 && joints <= maxJoints {
			add(cut(string(f.b), maxWord), from)
		}
		f.b, from, joints = nil, nil, 0
	}
	for i := at[0]; i < at[1]; {
		r, size := utf8.DecodeRuneInString(folded[i:at[1]])
		switch {
		case isLetter(r):
			f.rune(r) // 'jo-ellen' becomes 'joellen', which folds to 'jollen'
			for len(from) < len(f.b) {
				from = append(from, i)
			}
		case isJoint(r) && len(from) > 0 && isLetter(runeAt(folded[i+size:at[1]])):
			joints++
		default:
			flush()
		}
		i += size
	}
	flush()
}

func isJoint(r rune) bool { return r == '-' || r == '\'' || r == '`' }

// isLetter reports whether a rune of folded text can be part of a name.
func isLetter(r rune) bool { return isWordRune(r) && (r < '0' || r > '9') }

func runeAt(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// maxSyllables is the maximum number of word ends that inner passes for a Korean word.
const maxSyllables = 8

// inner calls add with the ends of Korean words: from the second syllable on, from the third on,
// and so on. A Korean name has no space between family name and given name. So the given name
// alone also finds the name.
func inner(folded string, at Span, add sink) {
	parts(folded, at, false, func(_ string, _ bool, word Span) {
		syllables := 0
		for i, r := range folded[word[0]:word[1]] {
			if i += word[0]; i > word[0] && isInitial(r) && syllables < maxSyllables {
				syllables++
				add(cut(folded[i:word[1]], maxWord), false, Span{i, word[1]})
			}
		}
	})
}

// isInitial reports whether r begins a syllable of decomposed Hangul.
func isInitial(r rune) bool {
	return unicode.Is(unicode.Hangul, r) && (r >= 0x1100 && r <= 0x115e || r >= 0xa960 && r <= 0xa97c)
}
