package pages

import "testing"

// TestMeasuredPages checks that the measured pages exist and declare the operations with which they
// are compared.
func TestMeasuredPages(t *testing.T) {
	if err := namedInTheirLines(measured); err != nil {
		t.Error(err)
	}
}
