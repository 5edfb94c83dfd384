package web

import (
	"net/http"

	"kartei/kit/fault"
)

// language returns the language of a page: ?lang=de or ?lang=en, else the
// preference of Accept-Language, else German.
func language(r *http.Request) fault.Language {
	switch r.URL.Query().Get("lang") {
	case "de":
		return fault.German
	case "en":
		return fault.English
	}
	return fault.Preferred(r.Header.Values("Accept-Language"))
}
