package i18n

import "strings"

// tongues are the names of languages that clients of an office speak, by their code.
var tongues = map[string][2]string{
	"ar": {"Arabisch", "Arabic"}, "bg": {"Bulgarisch", "Bulgarian"}, "bs": {"Bosnisch", "Bosnian"},
	"cs": {"Tschechisch", "Czech"}, "da": {"Dänisch", "Danish"},
	"de": {"Deutsch", "German"}, "el": {"Griechisch", "Greek"}, "en": {"Englisch", "English"},
	"es": {"Spanisch", "Spanish"}, "fa": {"Persisch", "Persian"},
	"fi": {"Finnisch", "Finnish"}, "fr": {"Französisch", "French"}, "he": {"Hebräisch", "Hebrew"},
	"hr": {"Kroatisch", "Croatian"}, "hu": {"Ungarisch", "Hungarian"},
	"it": {"Italienisch", "Italian"}, "ja": {"Japanisch", "Japanese"}, "ku": {"Kurdisch", "Kurdish"},
	"nl": {"Niederländisch", "Dutch"}, "no": {"Norwegisch", "Norwegian"},
	"pl": {"Polnisch", "Polish"}, "pt": {"Portugiesisch", "Portuguese"}, "ro": {"Rumänisch", "Romanian"},
	"ru": {"Russisch", "Russian"}, "sk": {"Slowakisch", "Slovak"},
	"sl": {"Slowenisch", "Slovenian"}, "sq": {"Albanisch", "Albanian"}, "sr": {"Serbisch", "Serbian"},
	"sv": {"Schwedisch", "Swedish"}, "tr": {"Türkisch", "Turkish"},
	"uk": {"Ukrainisch", "Ukrainian"}, "zh": {"Chinesisch", "Chinese"},
}

// Tongue returns the name of a language by its tag: "Deutsch", "Englisch (GB)". A
// language that it does not know keeps its tag.
func (w Words) Tongue(tag string) string {
	code, region, _ := strings.Cut(tag, "-")
	name, known := tongues[strings.ToLower(code)]
	switch text := w.Say(name[0], name[1]); {
	case !known:
		return tag
	case region == "":
		return text
	default:
		return text + " (" + region + ")"
	}
}

// ReadTongue returns the tag of a language that is typed by its name in one of both
// languages, as Tongue writes it. Another text stays as it is: it may be a tag.
func ReadTongue(text string) string {
	name, region, _ := strings.Cut(strings.TrimSuffix(text, ")"), " (")
	for code, names := range tongues {
		if strings.EqualFold(name, names[0]) || strings.EqualFold(name, names[1]) {
			return strings.TrimSuffix(code+"-"+region, "-")
		}
	}
	return text
}
