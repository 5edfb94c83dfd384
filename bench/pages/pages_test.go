package pages

import "testing"

// The pages that are measured exist, and their lines name the operations that they are
// compared with.
func TestMeasuredPages(t *testing.T) {
	if err := namedInTheirLines(measured); err != nil {
		t.Error(err)
	}
}
