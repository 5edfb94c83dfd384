package fault

import (
	"strings"
	"testing"
	"time"

	"kartei/kit/i18n"
)

// TestAdvice checks that each code has advice, and that Advice includes the numbers of a fault.
func TestAdvice(t *testing.T) {
	for _, e := range catalog {
		if advice[e.Code] == "" {
			t.Errorf("%s has no advice", e.Code)
		}
	}
	if len(advice) != len(catalog) {
		t.Errorf("%d codes, %d pieces of advice", len(catalog), len(advice))
	}
	f := Fault{Code: RateLimited, RetryAfter: 11500 * time.Millisecond}
	if got := f.Advice(i18n.English); got != "Wait, and then call again. That is possible in 12 s." {
		t.Error(got)
	}
	f = Fault{Code: PreconditionFailed, Extra: map[string]any{"currentRevision": int64(7)}}
	if got := f.Advice(i18n.German); !strings.HasSuffix(got, "Die jetzige Revision ist 7.") {
		t.Error(got)
	}
}
