// Package accept owns the reading of Accept headers: the weights of values, and whether a client accepts gzip.
package accept

import (
	"strconv"
	"strings"
)

// Quality returns the weight of one value of an Accept header, from 0 to 1. parameters is the text
// after the first semicolon of the value, such as " q=0.8". Without a weight, the result is 1. If
// the weight is not a number from 0 to 1, the result is 0.
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

// Gzip reports whether the value of an Accept-Encoding header contains gzip with a weight above 0.
func Gzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return Quality(params) > 0
		}
	}
	return false
}
