package i18n

import "strings"

// tongues are the names of languages that clients of an office speak, by their code.
var tongues = map[string]Text{
	"ar": "Arabic", "bg": "Bulgarian", "bs": "Bosnian",
	"cs": "Czech", "da": "Danish",
	"de": "German", "el": "Greek", "en": "English",
	"es": "Spanish", "fa": "Persian",
	"fi": "Finnish", "fr": "French", "he": "Hebrew",
	"hr": "Croatian", "hu": "Hungarian",
	"it": "Italian", "ja": "Japanese", "ku": "Kurdish",
	"nl": "Dutch", "no": "Norwegian",
	"pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
	"ru": "Russian", "sk": "Slovak",
	"sl": "Slovenian", "sq": "Albanian", "sr": "Serbian",
	"sv": "Swedish", "tr": "Turkish",
	"uk": "Ukrainian", "zh": "Chinese",
}

// Tongue returns the name of a language by its tag: "Deutsch", "Englisch (GB)". A
// language that it does not know keeps its tag.
func (w Words) Tongue(tag string) string {
	code, region, _ := strings.Cut(tag, "-")
	name, known := tongues[strings.ToLower(code)]
	switch text := w.Say(name); {
	case !known:
		return tag
	case region == "":
		return text
	default:
		return text + " (" + region + ")"
	}
}

// ReadTongue returns the tag of a language that is typed by its name in one of the
// languages of the product, as Tongue writes it. Another text stays as it is: it may be a tag.
func ReadTongue(text string) string {
	name, region, _ := strings.Cut(strings.TrimSuffix(text, ")"), " (")
	for code, names := range tongues {
		for _, l := range Languages {
			if strings.EqualFold(name, names.In(l)) {
				return strings.TrimSuffix(code+"-"+region, "-")
			}
		}
	}
	return text
}
