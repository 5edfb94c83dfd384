package shell

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// newNonce returns a random nonce for the scripts of one response.
func newNonce() string {
	b := make([]byte, 18)
	rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

// LetFormEnd adds an origin, or the scheme of a native application, to form-action in the Content
// Security Policy. Browsers also apply form-action to the redirect in the response to a form.
func LetFormEnd(h http.Header, origin string) {
	const own = "form-action 'self'"
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), own, own+" "+origin, 1))
}

// setHeaders sets the security headers of every page. The policy allows only scripts with the nonce
// of the response, no inline code, and nothing from other origins. Because of Trusted Types, only
// htmx can turn text into markup.
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

// violationPath is the path to which browsers report violations of the Content Security Policy.
const violationPath = "/policy-violations"

// maxViolation is the maximum size of a violation report in bytes. A report has the address of a
// page and an excerpt.
const maxViolation = 16 << 10

// directives are the policy's directives that can be violated. A report of any other directive is
// counted as "other". Forged reports thus cannot add label values to the metric.
var directives = []string{
	"default-src", "script-src", "script-src-elem", "script-src-attr", "style-src", "style-src-elem", "style-src-attr", "img-src", "connect-src",
	"form-action", "base-uri", "frame-ancestors", "require-trusted-types-for", "trusted-types",
}

// countViolation counts a violation report by its directive (Content Security Policy Level 3,
// section 5.3). It reads and stores nothing else, as a report shows which pages a person visits.
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
