package main

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"

	"kartei/record/search"
)

// maxWords is the maximum number of words of a document that the index keeps.
const maxWords = 10_000

// vocabulary has German-like words. The frequency of the n-th word is
// proportional to 1/n^0.9.
type vocabulary struct {
	words []string
	upTo  []float64
}

func newVocabulary() *vocabulary {
	v := &vocabulary{}
	parts := strings.Fields(`kauf recht miet vertrag leist gericht frist zahl klar antrag klag schluss pflicht sach
		termin wert gesell haft bau rech steuer schuld pfand erb ehe kind unfall sicher kredit zins buerg macht urteil
		weis zeug gut kost walt datum ord satz pruef schreib stell nehm geb halt trag setz fuehr bank amt teil haus
		geld land staat jahr post grund`)
	for _, end := range []string{"", "en", "ung", "er", "e", "lich", "s", "bar"} {
		for _, second := range parts {
			for _, first := range parts {
				v.words = append(v.words, first+second+end)
			}
		}
	}
	// Frequent words must have nothing else in common.
	r := rand.New(rand.NewPCG(3, 3))
	r.Shuffle(len(v.words), func(i, j int) { v.words[i], v.words[j] = v.words[j], v.words[i] })
	sum := 0.0
	for i := range v.words {
		sum += 1 / math.Pow(float64(i+1), 0.9)
		v.upTo = append(v.upTo, sum)
	}
	return v
}

// length returns the number of different words in the content of document i.
// The average is 600, most documents have 50 to 1,000, and one in 200 has the
// maximum.
func (v *vocabulary) length(i int) int {
	r := rand.New(rand.NewPCG(uint64(i), 5))
	if i%200 == 77 {
		return maxWords
	}
	return min(maxWords, int(420*math.Exp(0.7*r.NormFloat64())))
}

// content returns the words of the text of document i.
func (v *vocabulary) content(i, length int) *search.Document {
	d := new(search.Document)
	d.Add(search.Note, v.text(i, length))
	return d
}

// text returns a text of length different words. A fifth of all documents share
// each group word, such as 'Mandantschaft', and ten share a file word.
func (v *vocabulary) text(i, length int) string {
	r := rand.New(rand.NewPCG(uint64(i), 13))
	seen := make(map[string]bool, length)
	list := []string{groups[i%len(groups)], fileWord(i / 10)}
	for len(list) < length {
		word := v.words[sort.SearchFloat64s(v.upTo, r.Float64()*v.upTo[len(v.upTo)-1])]
		if !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
	}
	return strings.Join(list, " ")
}
