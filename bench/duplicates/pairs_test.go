package duplicates_test

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"kartei/bench/duplicates"
	"kartei/record/duplicate"
)

// labelled is the number of pairs of the tests.
const labelled = 2000

// TestPairs checks that no pair of two people or two companies is sure, and that at least nine of
// ten records of the same one are likely or sure.
func TestPairs(t *testing.T) {
	pairs := duplicates.Pairs(labelled)
	counts := duplicates.Judge(pairs)
	same, others := duplicates.Sum(counts)
	for i := range pairs {
		a, b := pairs[i].Subjects()
		m, _ := duplicate.Compare(a, b)
		if !pairs[i].Same && m.Strength == duplicate.Sure {
			t.Errorf("sure: %s: %v", &pairs[i], m.Reasons)
		}
	}
	if others.Total < labelled/4 || same.Total < labelled/2 {
		t.Fatalf("%d pairs are the same, and %d are not", same.Total, others.Total)
	}
	if found := same.AtLeast(duplicate.Likely); 10*found < 9*same.Total {
		t.Errorf("%d of %d pairs are found", found, same.Total)
	}
	if same.Keyless > 0 {
		t.Errorf("%d pairs match and have no key in common", same.Keyless)
	}
	if t.Failed() || os.Getenv("KARTEI_TEST_REPORT") != "" {
		var b bytes.Buffer
		duplicates.Report(&b, pairs)
		t.Log("\n" + b.String())
	}
}

// TestPairsAreTheSame checks that the set is always the same.
func TestPairsAreTheSame(t *testing.T) {
	if !reflect.DeepEqual(duplicates.Pairs(100), duplicates.Pairs(100)) {
		t.Error("two sets differ")
	}
}
