package record

import (
	"strings"
	"testing"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record/search"
)

// These types are families with the same members and different search words.
type (
	searchable struct {
		Name    string   `json:"name"`
		Phone   *string  `json:"phone"`
		Address *Address `json:"address"`
		CommonFields
	}
	byName   struct{ searchable }
	byRegion struct{ searchable }
	byPhone  struct{ searchable }
	asDetail struct{ searchable }
	byBoth   struct{ searchable }
)

func (s *searchable) Normalize()                                     {}
func (s *searchable) Wrong(*op.Services, op.RuleScope) []fault.Field { return nil }
func (s *searchable) Shared() *CommonFields                          { return &s.CommonFields }

func (s *searchable) found(rank search.Rank, texts ...*string) *search.Document {
	d := new(search.Document)
	d.Add(rank, s.Name)
	d.AddAll(search.Detail, texts...)
	return d
}

func (s *byName) Words() *search.Document   { return s.found(search.Name) }
func (s *asDetail) Words() *search.Document { return s.found(search.Detail) }

func (s *byRegion) Words() *search.Document {
	if s.Address == nil {
		return s.found(search.Name)
	}
	return s.found(search.Name, s.Address.Region)
}

func (s *byPhone) Words() *search.Document {
	d := s.found(search.Name)
	if s.Phone != nil {
		d.AddPhone(search.Detail, *s.Phone)
	}
	return d
}

func (s *byBoth) Words() *search.Document {
	d := s.found(search.Name)
	if s.Phone != nil {
		d.Add(search.Detail, strings.ReplaceAll(s.Name+*s.Phone, " ", ""))
	}
	return d
}

// TestWordsOf checks that the hash of a family's words differs for each member and rank. It is
// the same at every start of the program.
func TestWordsOf(t *testing.T) {
	seen := map[int64]string{}
	for name, number := range map[string]func() int64{
		"name": wordsOf[byName], "name and region": wordsOf[byRegion], "name and phone": wordsOf[byPhone],
		"name as a detail": wordsOf[asDetail], "name and phone as one": wordsOf[byBoth],
	} {
		n := number()
		if other, is := seen[n]; is {
			t.Errorf("found by %s and by %s: both %d", name, other, n)
		}
		seen[n] = name
		if again := number(); again != n || n < 0 || n>>wordsBits != 0 {
			t.Errorf("found by %s: %d, then %d", name, n, again)
		}
	}
}
