package rest

import (
	"net/http"
	"strings"

	"kartei/api"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// Misplaced answers calls with a credential of the API that lack its prefix, with a problem
// document that names it. A page would send such a client to the sign-in, whose page is no
// answer that it understands. All other requests go on to next.
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

// misplaced reports whether a request is a call of the API at another path. Browsers send no
// bearer, and the paths of OAuth are none of those that it looks at.
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
