package data

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"

	"kartei/record/search"
)

// MaxWords is the maximum number of words of a document that the index keeps.
const MaxWords = 10_000

// Vocabulary has words that look German. The frequency of the n-th word is proportional to 1/n^0.9.
type Vocabulary struct {
	Words []string
	upTo  []float64
}

// NewVocabulary returns a Vocabulary. It has the same words in each call.
func NewVocabulary() *Vocabulary {
	v := &Vocabulary{}
	parts := strings.Fields(`kauf recht miet vertrag leist gericht frist zahl klar antrag klag schluss pflicht sach
		termin wert gesell haft bau rech steuer schuld pfand erb ehe kind unfall sicher kredit zins buerg macht urteil
		weis zeug gut kost walt datum ord satz pruef schreib stell nehm geb halt trag setz fuehr bank amt teil haus
		geld land staat jahr post grund`)
	for _, end := range []string{"", "en", "ung", "er", "e", "lich", "s", "bar"} {
		for _, second := range parts {
			for _, first := range parts {
				v.Words = append(v.Words, first+second+end)
			}
		}
	}
	// Shuffling ensures that frequent words do not share parts.
	r := rand.New(rand.NewPCG(3, 3))
	r.Shuffle(len(v.Words), func(i, j int) { v.Words[i], v.Words[j] = v.Words[j], v.Words[i] })
	sum := 0.0
	for i := range v.Words {
		sum += 1 / math.Pow(float64(i+1), 0.9)
		v.upTo = append(v.upTo, sum)
	}
	return v
}

// length returns the number of different words in the content of document i.
// The average is 600, most documents have 50 to 1,000, and one in 200 has the
// maximum.
func (v *Vocabulary) length(i int) int {
	r := rand.New(rand.NewPCG(uint64(i), 5))
	if i%200 == 77 {
		return MaxWords
	}
	return min(MaxWords, int(420*math.Exp(0.7*r.NormFloat64())))
}

// Content returns the words of the content of document i for the search index. length is the number
// of words.
func (v *Vocabulary) Content(i, length int) *search.Document {
	d := new(search.Document)
	d.Add(search.Note, v.Text(i, length))
	return d
}

// Text returns a text of length different words for document i. A fifth of the documents share each
// word of Groups, and ten documents share a file word.
func (v *Vocabulary) Text(i, length int) string {
	r := rand.New(rand.NewPCG(uint64(i), 13))
	seen := make(map[string]bool, length)
	list := []string{Groups[i%len(Groups)], FileWord(i / 10)}
	for len(list) < length {
		word := v.Words[sort.SearchFloat64s(v.upTo, r.Float64()*v.upTo[len(v.upTo)-1])]
		if !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
	}
	return strings.Join(list, " ")
}
