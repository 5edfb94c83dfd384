package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
)

// corpus generates contacts like those of a German office. Names, cities and companies follow
// Zipf's law: the frequency of the n-th word is proportional to 1/n. The same number always gives
// the same contact.
type corpus struct {
	first, last, cities, jobs, domains zipf
}

// zipf draws words at random. The first words are the most frequent.
type zipf struct {
	words []string
	upTo  []float64
}

func newZipf(words []string) zipf {
	z := zipf{words, make([]float64, len(words))}
	sum := 0.0
	for i := range words {
		sum += 1 / math.Pow(float64(i+1), 0.9)
		z.upTo[i] = sum
	}
	return z
}

func (z zipf) draw(r *rand.Rand) string {
	at := r.Float64() * z.upTo[len(z.upTo)-1]
	return z.words[sort.SearchFloat64s(z.upTo, at)]
}

func newCorpus() *corpus {
	first := strings.Fields(`Maria Thomas Ursula Michael Sabine Andreas Petra Peter Monika Stefan Susanne Christian
		Claudia Klaus Birgit Wolfgang Andrea Jürgen Karin Martin Heike Frank Anna Jörg Julia Sven Katharina Björn Renate
		Günter Ingrid Uwe Gisela Matthias Brigitte Markus Elke Bernd Jutta Ralf Lena Lukas Leonie Felix Hannah Paul Mia
		Jonas Emma Elias Ayşe Mehmet Zoë Piotr Małgorzata Sören Käthe Götz Änne Özlem`)
	begin := strings.Fields(`Müll Schmid Schneid Fisch Web Mey Wagn Beck Schulz Hoffm Schäf Koch Bau Richt Klein Wolf
		Schröd Neum Schwarz Zimmerm Braun Krüg Hofm Hartm Lang Werner Krau Lehm Köhl Herrm König Walt May Kais Fuchs Pet
		Schol Möll Weiß Jung Hahn Vog Friedr Kell Günth Frank Berg Winkl Roth Lor Baumg Albr Schust Sim Ludw Böhm Wint
		Kraft Schumach Vog Stein Jäg Ott Sommer Groß Seid Heinr Brand Haas Schreib Graf Diet Ziegl Kuhn Kühn Pohl Engel
		Horn Busch Bergm Thom Voig Sau Arn Wolff Pfeif`)
	end := strings.Fields(`er mann t te ler ner s ke el ig e bach berg hofer feld stein inger hardt brecht ing rich
		old mer dorf meier huber bauer thaler egger haus burg wald see brunner kamp horst kötter`)
	var last []string
	for _, e := range end {
		for _, b := range begin {
			last = append(last, b+e)
		}
	}
	cities := strings.Fields(`Berlin Hamburg München Köln Frankfurt Stuttgart Düsseldorf Leipzig Dortmund Essen Bremen
		Dresden Hannover Nürnberg Duisburg Bochum Wuppertal Bielefeld Bonn Münster Mannheim Karlsruhe Augsburg Wiesbaden
		Mönchengladbach Gelsenkirchen Aachen Braunschweig Chemnitz Kiel Halle Magdeburg Freiburg Krefeld Mainz Lübeck
		Erfurt Oberhausen Rostock Kassel Hagen Potsdam Saarbrücken Hamm Ludwigshafen Oldenburg Osnabrück Leverkusen
		Heidelberg Solingen Darmstadt Herne Neuss Regensburg Paderborn Ingolstadt Offenbach Würzburg Fürth Ulm`)
	jobs := strings.Fields(`Rechtsanwältin Rechtsanwalt Steuerberaterin Geschäftsführer Sachbearbeiterin Notar
		Buchhalterin Sekretärin Assistenz Einkauf Vertrieb Personalleiterin Architekt Ingenieurin Ärztin`)
	domains := []string{"gmx.de", "web.de", "t-online.de", "gmail.com", "outlook.de", "posteo.de"}
	for i, b := range last {
		domains = append(domains, fmt.Sprintf("%s-%s.de", strings.ToLower(fold(b)),
			[]string{"gmbh", "kanzlei", "bau", "partner"}[i%4]))
	}
	return &corpus{newZipf(first), newZipf(last), newZipf(cities), newZipf(jobs), newZipf(domains)}
}

// document returns the contact with the number i. One in five belongs to the group
// 'Mandantschaft', and one in 100,000 has the tag 'Prüfvermerk'. The contact depends only on its
// number, and not on a seed. So two runs measure the same contacts, and a run can use the
// database of an earlier run (KARTEI_BENCH_DIR).
func (c *corpus) document(i int) *Document {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	first, last := c.first.draw(r), c.last.draw(r)
	d := new(Document)
	d.Add(Name, first+" "+last)
	local := fold(first) + "." + fold(last)
	if r.IntN(3) == 0 {
		local += fmt.Sprint(r.IntN(100))
	}
	d.AddEmail(Detail, local+"@"+c.domains.draw(r))
	d.AddPhone(Detail, fmt.Sprintf("+49 %d %d", 30+r.IntN(900), 100_000+r.IntN(9_900_000)))
	d.Add(Detail, c.jobs.draw(r))
	d.Add(Detail, fmt.Sprintf("%05d %s", 1000+r.IntN(3000)*31, c.cities.draw(r)))
	if i%5 == 0 {
		d.Add(Detail, "Mandantschaft")
	}
	if i%100_000 == 17 {
		d.Add(Detail, "Prüfvermerk")
	}
	return d
}
