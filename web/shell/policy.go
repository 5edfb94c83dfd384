package shell

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
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

// violationPath is where browsers report what the content security policy refused.
const violationPath = "/policy-violations"

// maxViolation bounds the bytes of a report. It names a page and an excerpt of it.
const maxViolation = 16 << 10

// directives are the directives of the policy that can be violated. Reports of others
// count as other, so that strangers make no metric grow.
var directives = []string{
	"default-src", "script-src", "script-src-elem", "script-src-attr", "style-src", "style-src-elem", "style-src-attr", "img-src", "connect-src",
	"form-action", "base-uri", "frame-ancestors", "require-trusted-types-for", "trusted-types",
}

// countViolation counts the report of a browser by its directive (Content Security
// Policy Level 3, section 5.3). Nothing else of the report is read or kept: it names
// pages and who looks at them.
func (h *Site) countViolation(w http.ResponseWriter, r *http.Request) {
	var report struct {
		Report struct {
			Directive string `json:"effective-directive"`
		} `json:"csp-report"`
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxViolation)
	if err := json.NewDecoder(r.Body).Decode(&report); err != nil || report.Report.Directive == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	directive := report.Report.Directive
	if !slices.Contains(directives, directive) {
		directive = "other"
	}
	h.Violation(directive)
	w.WriteHeader(http.StatusNoContent)
}
