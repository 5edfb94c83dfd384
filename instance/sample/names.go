package sample

// generation is a range of birth years with its common first names.
type generation struct {
	from, to   int
	women, men []string
	share      int // in percent
	titled     int // in percent
}

var generations = []generation{
	{1938, 1959, []string{
		"Ursula", "Renate", "Helga", "Ingrid", "Brigitte", "Gisela", "Christel", "Hannelore", "Elke", "Karin",
		"Rosemarie", "Heidemarie", "Waltraud", "Margarete", "Edeltraud", "Käthe", "Bärbel", "Anneliese", "Gudrun", "Sigrid",
	}, []string{
		"Hans-Jürgen", "Klaus", "Günter", "Jürgen", "Manfred", "Dieter", "Horst", "Werner", "Karl-Heinz", "Wolfgang",
		"Rüdiger", "Gerhard", "Heinz-Peter", "Siegfried", "Eberhard", "Volker", "Götz", "Hartmut", "Ulrich", "Winfried",
	}, 24, 12},
	{1960, 1982, []string{
		"Sabine", "Susanne", "Petra", "Martina", "Andrea", "Claudia", "Birgit", "Anja", "Kerstin", "Katrin",
		"Silke", "Heike", "Nicole", "Stefanie", "Daniela", "Ulrike", "Bettina", "Tanja", "Sonja", "Antje",
		"Dörte", "Friederike", "Annegret", "Cornelia", "Manuela", "Ayşe", "Małgorzata", "Zorica", "Fátima", "Françoise",
	}, []string{
		"Thomas", "Michael", "Andreas", "Stefan", "Frank", "Markus", "Jörg", "Torsten", "Matthias", "Christian",
		"Oliver", "Dirk", "Jens", "Holger", "Sven", "Björn", "Götz", "Kai-Uwe", "Carsten", "Hans-Peter",
		"Mehmet", "Krzysztof", "Dragan", "José", "Jérôme", "Łukasz", "Hüseyin", "Tomáš", "Giuseppe", "Ioannis",
	}, 52, 14},
	{1983, 2004, []string{
		"Anna", "Julia", "Laura", "Lena", "Lisa", "Sarah", "Katharina", "Johanna", "Hannah", "Marie",
		"Theresa", "Franziska", "Svenja", "Merle", "Jule", "Elif", "Zeynep", "Aleksandra", "Noémie", "Chiara",
		"Ida", "Charlotte", "Anne-Sophie", "Mareike", "Linnéa",
	}, []string{
		"Lukas", "Jan", "Tim", "Felix", "Jonas", "Maximilian", "Philipp", "David", "Moritz", "Simon",
		"Niklas", "Fabian", "Florian", "Sören", "Jannis", "Emre", "Can", "Piotr", "Luís", "Matteo",
		"Ole", "Anton", "Karl-Friedrich", "Thies", "Mattis",
	}, 24, 6},
}

var lastNames = []string{
	"Müller", "Schmidt", "Schneider", "Fischer", "Weber", "Meyer", "Wagner", "Becker", "Schulz", "Hoffmann",
	"Schäfer", "Koch", "Bauer", "Richter", "Klein", "Wolf", "Schröder", "Neumann", "Schwarz", "Zimmermann",
	"Braun", "Krüger", "Hofmann", "Hartmann", "Lange", "Schmitt", "Werner", "Schmitz", "Krause", "Meier",
	"Lehmann", "Schmid", "Schulze", "Maier", "Köhler", "Herrmann", "König", "Walter", "Mayer", "Huber",
	"Kaiser", "Fuchs", "Peters", "Lang", "Scholz", "Möller", "Weiß", "Jung", "Hahn", "Schubert",
	"Vogel", "Friedrich", "Keller", "Günther", "Frank", "Berger", "Winkler", "Roth", "Beck", "Lorenz",
	"Baumann", "Franke", "Albrecht", "Schuster", "Simon", "Ludwig", "Böhm", "Winter", "Kraus", "Martin",
	"Schumacher", "Krämer", "Vogt", "Stein", "Jäger", "Otto", "Sommer", "Groß", "Seidel", "Heinrich",
	"Brandt", "Haas", "Schreiber", "Graf", "Dietrich", "Ziegler", "Kuhn", "Kühn", "Pohl", "Engel",
	"Horn", "Busch", "Bergmann", "Thomas", "Voigt", "Sauer", "Arnold", "Wolff", "Pfeiffer", "Großmann",
	"Weißhaupt", "Buchholz", "Lüdenscheidt", "von Ahlefeld", "von der Heide", "zu Löwenhaupt", "Freiherr von Rabenau",
	"Oßwald", "Preuß", "Straßburger", "Süß", "Kößler", "Füllgrabe", "Jürgens", "Petersen", "Hansen", "Claußen",
	"Schulte-Kellinghaus", "Müller-Lüdenscheid", "Meyer zu Bentrup", "Bär", "Dürr", "Höß", "Öztürk", "Yıldız", "Kaya",
	"Şahin", "Demir", "Çelik", "Nowak", "Kowalczyk", "Wójcik", "Jankowski", "Petrović", "Jovanović", "Horvat",
	"Novák", "Beneš", "Rossi", "Di Marco", "Papadopoulos", "García Fernández", "Gonçalves", "Lefèvre", "Nguyen", "Kovač",
}

// secondNames are the second parts of double names with a hyphen.
var secondNames = []string{
	"Brandt", "Köhler", "Weiß", "Lehmann", "Sander", "Öztürk", "Hansen", "Roth", "Groß", "Falkenberg",
	"Nowak", "Engel",
}

// town is a town with its postal codes. phone is the beginning of telephone numbers that the
// Federal Network Agency has reserved for films and print. Three digits follow. It is empty for a
// town without reserved numbers.
type town struct {
	name, region string
	codes        []string
	phone        string
	weight       int
}

var towns = []town{
	{
		"Köln",
		"Nordrhein-Westfalen",
		[]string{
			"50667", "50668", "50670", "50672", "50674", "50676", "50677", "50733", "50823", "50931", "50935",
			"50968", "51063", "51105",
		},
		"+49 221 4710",
		40,
	},
	{
		"Berlin",
		"Berlin",
		[]string{
			"10115", "10119", "10245", "10405", "10585", "10623", "10777", "10827", "10961", "12043", "12159",
			"13187", "14165",
		},
		"+49 30 23125",
		9,
	},
	{
		"Hamburg",
		"Hamburg",
		[]string{"20095", "20144", "20253", "20354", "20459", "22085", "22301", "22587", "22765"},
		"+49 40 66969",
		8,
	},
	{
		"München",
		"Bayern",
		[]string{"80331", "80333", "80469", "80538", "80636", "80799", "80992", "81369", "81541", "81675"},
		"+49 89 99998",
		7,
	},
	{
		"Frankfurt am Main",
		"Hessen",
		[]string{"60311", "60313", "60316", "60318", "60322", "60385", "60486", "60594", "60596"},
		"+49 69 90009",
		6,
	},
	{"Bonn", "Nordrhein-Westfalen", []string{"53111", "53113", "53115", "53123", "53127", "53173", "53225"}, "", 7},
	{"Leverkusen", "Nordrhein-Westfalen", []string{"51371", "51373", "51375", "51379"}, "", 4},
	{"Bergisch Gladbach", "Nordrhein-Westfalen", []string{"51427", "51429", "51465", "51467", "51469"}, "", 4},
	{"Düsseldorf", "Nordrhein-Westfalen", []string{"40210", "40213", "40217", "40221", "40474", "40545", "40625"}, "", 5},
	{"Hürth", "Nordrhein-Westfalen", []string{"50354"}, "", 3},
	{"Brühl", "Nordrhein-Westfalen", []string{"50321"}, "", 3},
	{"Aachen", "Nordrhein-Westfalen", []string{"52062", "52064", "52066", "52070", "52074"}, "", 3},
	{"Siegburg", "Nordrhein-Westfalen", []string{"53721"}, "", 2},
	{"Münster", "Nordrhein-Westfalen", []string{"48143", "48147", "48149", "48151"}, "", 2},
	{"Koblenz", "Rheinland-Pfalz", []string{"56068", "56070", "56073"}, "", 2},
	{"Stuttgart", "Baden-Württemberg", []string{"70173", "70178", "70182", "70184", "70191"}, "", 2},
	{"Tübingen", "Baden-Württemberg", []string{"72070", "72072", "72074", "72076"}, "", 1},
	{"Nürnberg", "Bayern", []string{"90402", "90403", "90408", "90419"}, "", 1},
	{"Würzburg", "Bayern", []string{"97070", "97072", "97074"}, "", 1},
	{"Leipzig", "Sachsen", []string{"04103", "04107", "04109", "04155", "04229"}, "", 2},
	{"Dresden", "Sachsen", []string{"01067", "01069", "01097", "01099", "01307"}, "", 1},
	{"Göttingen", "Niedersachsen", []string{"37073", "37075", "37083"}, "", 1},
	{"Lübeck", "Schleswig-Holstein", []string{"23552", "23560", "23562", "23564"}, "", 1},
	{"Freiburg im Breisgau", "Baden-Württemberg", []string{"79098", "79100", "79102", "79104"}, "", 1},
	{"Saarbrücken", "Saarland", []string{"66111", "66119", "66121"}, "", 1},
}

// mobiles are mobile numbers that are reserved for films and print. A random number replaces %02d.
var mobiles = []string{
	"+49 171 39200%02d", "+49 171 39200%02d", "+49 171 39200%02d", "+49 176 040690%02d", "+49 176 040690%02d",
	"+49 176 040690%02d",
	"+49 152 28817386", "+49 152 28895456", "+49 152 54599371", "+49 172 9925904", "+49 172 9968532", "+49 172 9973185",
	"+49 172 9980752", "+49 174 9091317", "+49 174 9464308",
}

var streets = []string{
	"Hauptstraße", "Bahnhofstraße", "Lindenstraße", "Gartenstraße", "Schulstraße", "Goethestraße", "Schillerstraße",
	"Mozartstraße",
	"Bergstraße", "Kirchweg", "Am Mühlenbach", "Rosenweg", "Ahornallee", "Kastanienallee", "Moltkestraße",
	"Bismarckstraße",
	"An der Alten Post", "Im Wiesengrund", "Marktplatz", "Kaiser-Friedrich-Ring", "Gerberstraße", "Weißer Weg",
	"Konrad-Adenauer-Straße", "Sophienstraße", "Ulmenweg", "Zum Sportplatz", "Theodor-Heuss-Straße",
}

// cologne are streets of Cologne.
var cologne = []string{
	"Venloer Straße", "Aachener Straße", "Luxemburger Straße", "Dürener Straße", "Große Budengasse", "Burgmauer",
	"Berrenrather Straße",
	"Neusser Straße", "Subbelrather Straße", "Severinstraße", "Zülpicher Straße", "Bonner Straße", "Weißer Straße",
}

// abroad are the contacts who live in other countries.
var abroad = []struct {
	first, last, salutation, street, code, city, country, language string
}{
	{"Anne-Laure", "Lefèvre", "ms", "12, rue des Hallebardes", "67000", "Strasbourg", "FR", "fr"},
	{"Étienne", "Gauthier", "mr", "5, place de la Bourse", "69002", "Lyon", "FR", "fr"},
	{"Maarten", "van der Velde", "mr", "Bosstraat 41", "6211", "Maastricht", "NL", "nl"},
	{"Saskia", "de Vries", "ms", "Stationsplein 3", "6221", "Maastricht", "NL", "nl"},
	{"Leopold", "Großschädl", "mr", "Kärntner Straße 18", "1010", "Wien", "AT", "de-AT"},
	{"Theresia", "Höllwarth", "ms", "Getreidegasse 27", "5020", "Salzburg", "AT", "de-AT"},
	{"Urs", "Zürcher", "mr", "Bahnhofstrasse 64", "8001", "Zürich", "CH", "de-CH"},
	{"Ladina", "Caviezel", "ms", "Reichsgasse 9", "7000", "Chur", "CH", "de-CH"},
	{"Siobhán", "Ní Bhriain", "ms", "14 Merrion Row", "D02 AX93", "Dublin", "IE", "en"},
	{"Jan", "Kołodziej", "mr", "ul. Piękna 24", "00-549", "Warszawa", "PL", "pl"},
	{"Růžena", "Šťastná", "ms", "Dlouhá 33", "110 00", "Praha", "CZ", "cs"},
	{"Søren", "Østergaard", "mr", "Nørregade 8", "1165", "København", "DK", "da"},
	{"Åsa", "Lindström", "ms", "Drottninggatan 71", "111 36", "Stockholm", "SE", "sv"},
	{"João", "da Conceição", "mr", "Rua Augusta 102", "1100-053", "Lisboa", "PT", "pt"},
	{"Núria", "Puig i Ferrer", "ms", "Carrer de Mallorca 250", "08008", "Barcelona", "ES", "ca"},
	{"Giuseppe", "D’Angelo", "mr", "Via dei Condotti 12", "00187", "Roma", "IT", "it"},
}
