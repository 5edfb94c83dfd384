package records

import (
	"encoding/json"
	"slices"
	"testing"

	"kartei/api/openapi"
)

// TestPagesKnowEveryMember checks that the fields of the pages are exactly the members that the API
// accepts.
func TestPagesKnowEveryMember(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(openapi.OfSessions(), &document); err != nil {
		t.Fatal(err)
	}
	schemas := document.Components.Schemas
	for name, f := range map[string]*Family{"ContactPatch": &Contacts, "CompanyPatch": &Companies, "TaskPatch": &Tasks, "DocumentPatch": &Documents} {
		var members []string
		for member := range schemas[name].Properties {
			if member != "address" {
				members = append(members, member)
				continue
			}
			for part := range schemas["AddressInput"].Properties {
				members = append(members, "address."+part)
			}
		}
		known := f.Names()
		if len(members) < 8 {
			t.Fatalf("%s has only %v", name, members)
		}
		for _, member := range members {
			if !slices.Contains(known, member) {
				t.Errorf("%s: no page knows %s: add it to the fields in family.go, to the groups in book.go, and to card.go if a vCard has it; record/lookup/describe.go says how a search shows it", f.Name, member)
			}
		}
		for _, member := range known {
			if !slices.Contains(members, member) {
				t.Errorf("%s: the pages know %s, which the API does not take", f.Name, member)
			}
		}
	}
}
