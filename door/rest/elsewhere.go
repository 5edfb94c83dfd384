package rest

import (
	"net/http"
	"strings"

	"kartei/api"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// Misplaced returns a handler for API calls whose path lacks Prefix. It answers them with a problem
// document (RFC 9457) that names the prefix. It passes all other requests to next, whose response
// would be a redirect to the sign-in page.
func Misplaced(a *api.API, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !misplaced(a, r) {
			next.ServeHTTP(w, r)
			return
		}
		answer(w, r, a.Refuse(&fault.Fault{Code: fault.NotFound, Detail: belowPrefix}, r.URL.EscapedPath(),
			r.Header["Accept-Language"], w.Header()))
	})
}

var belowPrefix = i18n.Text("No API answers at this address. Its paths begin with /v1, for example /v1/contacts. The reference is at /docs.")

// misplaced reports whether a request with an API credential has a path that looks like an API path
// without Prefix. Browsers send no bearer token, and the OAuth endpoints have other paths.
func misplaced(a *api.API, r *http.Request) bool {
	scheme, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || !strings.HasPrefix(strings.TrimSpace(credential), "kart_") {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if strings.HasPrefix(word, "v") && strings.Trim(word[1:], "0123456789.") == "" && len(word) > 1 {
		return true
	}
	return word == "api" || word == "rest" || a.HasWord(word)
}
