package shell

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
)

// newNonce returns a nonce for the scripts of one response.
func newNonce() string {
	b := make([]byte, 18)
	rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

// LetFormEnd lets the forms of a page end at an origin, or at a scheme that a program took.
// Browsers apply the policy of a page to the redirect that answers its form.
func LetFormEnd(h http.Header, origin string) {
	const own = "form-action 'self'"
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), own, own+" "+origin, 1))
}

// setHeaders sets the headers of every page. The policy allows scripts with the
// nonce of the response only, no inline code, and nothing from another origin.
// Trusted Types stop scripts from turning text into markup, except in htmx.
func setHeaders(h http.Header, nonce string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'self'; img-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types htmx; report-uri "+violationPath)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Vary", "Cookie, Accept-Language, Accept-Encoding, HX-Request")
}
