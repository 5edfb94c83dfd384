// Package accept owns the reading of Accept headers: weights, and whether a client takes gzip.
package accept

import (
	"strconv"
	"strings"
)

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

// Gzip reports whether an Accept-Encoding header names gzip and allows
// it.
func Gzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return Quality(params) > 0
		}
	}
	return false
}
