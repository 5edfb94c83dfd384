package entry

import (
	"strings"

	"golang.org/x/text/language"

	"kartei/kit/fault"
)

// tongues maps the names of languages, in lower case, to language tags.
var tongues = map[string]string{
	"deutsch": "de", "german": "de", "englisch": "en", "english": "en", "französisch": "fr", "french": "fr",
	"italienisch": "it", "italian": "it",
	"spanisch": "es", "spanish": "es", "polnisch": "pl", "polish": "pl", "türkisch": "tr", "turkish": "tr",
	"russisch": "ru", "russian": "ru",
	"niederländisch": "nl", "dutch": "nl", "ukrainisch": "uk", "ukrainian": "uk", "arabisch": "ar", "arabic": "ar",
	"portugiesisch": "pt", "portuguese": "pt",
	"griechisch": "el", "greek": "el", "kroatisch": "hr", "croatian": "hr", "serbisch": "sr", "serbian": "sr",
	"rumänisch": "ro", "romanian": "ro",
	"tschechisch": "cs", "czech": "cs", "dänisch": "da", "danish": "da", "schwedisch": "sv", "swedish": "sv",
	"ungarisch": "hu", "hungarian": "hu",
	"chinesisch": "zh", "chinese": "zh", "persisch": "fa", "persian": "fa", "bulgarisch": "bg", "bulgarian": "bg",
	"albanisch": "sq", "albanian": "sq",
}

// speak sets the language from a name or a language tag.
func (e *Entry) speak(i item) {
	if !e.means(i) {
		return
	}
	text := strings.TrimSpace(i.text)
	if e.Exact {
		e.set("language", i, text)
		return
	}
	name, rest, _ := strings.Cut(strings.ToLower(text), "(") // Deutsch (AT)
	if tag := tongues[strings.TrimSpace(name)]; tag != "" {
		region, more, _ := strings.Cut(rest, ")")
		if len(region) == 2 {
			tag += "-" + strings.ToUpper(region)
		}
		if len(region) != 2 && rest != "" || more != "" {
			e.tell(Altered, "language", i, fault.InvalidFormat, takenAs(tag))
		}
		e.set("language", i, tag)
		return
	}
	tag, _, more := strings.Cut(strings.ReplaceAll(text, "_", "-"), ".") // de_DE.UTF-8
	if _, err := language.Raw.Parse(tag); err != nil || len(tag) > 35 {
		e.move("language", e.say("language"), i, fault.InvalidFormat,
			"This language is not known. Possible are tags such as de and names such as German.")
		return
	}
	if more {
		e.tell(Altered, "language", i, fault.InvalidFormat, takenAs(tag))
	}
	e.set("language", i, tag)
}
