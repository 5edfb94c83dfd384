package record_test

import (
	"reflect"
	"strconv"
	"testing"

	records "kartei/record"
)

// TestBoundsOfTags checks that MaxTags and MaxTag equal the bounds in the schema.
func TestBoundsOfTags(t *testing.T) {
	f, _ := reflect.TypeFor[records.CommonFields]().FieldByName("Tags")
	if n, of := f.Tag.Get("maxItems"), f.Tag.Get("max"); n != strconv.Itoa(records.MaxTags) ||
		of != strconv.Itoa(records.MaxTag) {
		t.Errorf("%s tags of %s characters", n, of)
	}
}
