package mapping_test

import (
	"testing"

	"kartei/kit/i18n"
	"kartei/transfer/imports/mapping"
)

// An unknown target is told with the member that is meant.
func TestUnknownTarget(t *testing.T) {
	for name, want := range map[string]string{
		"namesuffix": "This name is not known here. Did you mean nameSuffix?",
		"zodiac":     "There is no such member.",
	} {
		wrong := mapping.Check(make([]mapping.Column, 2), []string{"lastName", name}, mapping.Options{},
			func(string) bool { return true })
		if len(wrong) == 0 || wrong[0].Name != "targets[1]" || wrong[0].Message(i18n.English) != want {
			t.Errorf("%s: %v, want %q", name, wrong, want)
		}
	}
}
