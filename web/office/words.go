package office

import "cmp"

// concat returns the elements of all lists.
func concat[T any](lists ...[]T) []T {
	var all []T
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// present returns the texts that are not empty.
func present(texts ...string) []string {
	var list []string
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return list
}

// joined joins the texts that are not empty.
func joined(between string, texts ...string) string {
	out := ""
	for _, t := range texts {
		switch {
		case t == "":
		case out == "":
			out = t
		default:
			out += between + t
		}
	}
	return out
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	return cmp.Or(texts...)
}
