package shell

import (
	"encoding/json"
	"net/http"
	"slices"
)

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
