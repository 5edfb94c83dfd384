package fault

import (
	"strconv"
	"strings"
)

// Preferred returns the language of the values of Accept-Language headers (RFC
// 9110, section 12.5.4): English if the client prefers it to German, by weight and
// then by order, otherwise German (contract, 'Errors').
func Preferred(values []string) Language {
	best, weight := German, 0.0
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			tag, parameters, _ := strings.Cut(part, ";")
			primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
			l := Language(primary)
			if w := Quality(parameters); (l == English || l == German) && w > weight {
				best, weight = l, w
			}
		}
	}
	return best
}

// Quality returns the weight in parameters such as " q=0.8" of one value of a
// header. It is 1 without a weight, and 0 if the weight is not a number from 0 to 1.
func Quality(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(parameter), "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}

// AcceptsGzip reports whether an Accept-Encoding header names gzip and allows
// it.
func AcceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return Quality(params) > 0
		}
	}
	return false
}
