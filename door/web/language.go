package web

import (
	"net/http"
	"strconv"
	"strings"

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
	return preferred(strings.Join(r.Header.Values("Accept-Language"), ","))
}

// preferred returns English if header (RFC 9110, section 12.5.4) prefers it to
// German, by weight and then by order.
func preferred(header string) fault.Language {
	best, weight := fault.German, 0.0
	for part := range strings.SplitSeq(header, ",") {
		tag, params, _ := strings.Cut(part, ";")
		tag, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		l := fault.Language(tag)
		if l != fault.German && l != fault.English {
			continue
		}
		if q := quality(params); q > weight {
			best, weight = l, q
		}
	}
	return best
}

// quality returns the weight in parameters such as " q=0.8". It is 1 without a
// weight, and 0 if the weight is not a number from 0 to 1.
func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(param), "=")
		if !ok || !strings.EqualFold(name, "q") {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}
