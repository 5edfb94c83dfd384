package i18n

import "strings"

// tongues maps codes of languages (ISO 639-1) to their names. It has the languages that clients of
// an office usually speak.
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

// Tongue returns the name of a language in the reader's language, by its tag: "Deutsch", "Englisch
// (GB)". For an unknown language it returns the tag.
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

// ReadTongue returns the tag of a language by its name as Tongue returns it, in any language of the
// product. It returns other texts unchanged, because they may be tags.
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
