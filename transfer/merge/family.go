package merge

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// family is a family of records that can be merged.
type family struct {
	op.Family
	// referrers are the families with references to this one.
	referrers []record.Referrer
	// merge merges two records.
	merge func(ctx context.Context, c *op.Call, o order) (record.MergeOutcome, error)
	// unmerge takes back what a merge changed in the record that stayed, unless others have changed it
	// since.
	unmerge func(ctx context.Context, c *op.Call, kept string, m copies) error
	// restore creates a record with the members of the record that was deleted, and returns its id.
	restore func(ctx context.Context, c *op.Call, from jsontext.Value) (id string, err error)
}

// order is the input of a merge, for both families.
type order struct {
	id, from string
	revision int64
	values   []string
}

// families are all families whose records can be merged.
var families = []*family{
	familyOf(contact.Contacts, partsOfContact, task.Tasks, document.Documents),
	familyOf(company.Companies, partsOfCompany, contact.Contacts, task.Tasks, document.Documents),
}

// familyNamed returns a family by its plural, or nil.
func familyNamed(plural string) *family {
	if i := slices.IndexFunc(families, func(f *family) bool { return f.Plural == plural }); i >= 0 {
		return families[i]
	}
	return nil
}

func familyOf[T, F any, P interface {
	*F
	record.Fields
}](k *record.Collection[T, F, P], partsOf func(P) parts, referrers ...record.Referrer) *family {
	return &family{
		Family: k.Family, referrers: referrers,
		merge: func(ctx context.Context, c *op.Call, o order) (record.MergeOutcome, error) {
			return k.Merge(ctx, c, record.MergeOrder[P]{
				Into: o.id, From: o.from, FromRevision: o.revision,
				Fold: func(into, from P) []fault.Field {
					return fold(into, from, partsOf(into), partsOf(from), o.values)
				},
				Values: o.values,
			})
		},
		unmerge: func(ctx context.Context, c *op.Call, kept string, m copies) error {
			var before, after F
			if err := errors.Join(json.Unmarshal(m.Before, &before), json.Unmarshal(m.After, &after)); err != nil {
				return err
			}
			skip := map[string]bool{}
			for {
				_, err := k.Act(ctx, c, kept, "updated", func(f P) error {
					if s := f.Shared(); s.Visibility == record.Private && s.OwnerID != c.Actor.PrincipalID() {
						skip["ownerId"], skip["visibility"] = true, true // that would give away a private record
					}
					was := *f
					takeBack(reflect.ValueOf(f).Elem(), reflect.ValueOf(before), reflect.ValueOf(after), skip)
					keepFirst(partsOf(f), partsOf(P(&was)), partsOf(P(&before)))
					return invalid(k.Prepare(c.Services, f, nil))
				})
				if !impossible(err, skip) {
					return err
				}
			}
		},
		restore: func(ctx context.Context, c *op.Call, from jsontext.Value) (string, error) {
			f := P(new(F))
			if err := json.Unmarshal(from, f); err != nil {
				return "", err
			}
			err := k.CheckStored(ctx, c, f)
			if fit, wrong := amended(ctx, c, err, reflect.ValueOf(f).Elem(), f.Shared()); wrong != nil {
				return "", wrong
			} else if fit {
				err = k.CheckStored(ctx, c, f)
			}
			if err != nil {
				return "", err
			}
			made := id.New(k.Prefix)
			_, err = k.Insert(ctx, c, made, f, nil)
			return made, err
		},
	}
}

// invalid returns the fault for violations, or nil.
func invalid(wrong []fault.Field) error {
	if len(wrong) == 0 {
		return nil
	}
	return fault.Invalid(wrong...)
}

// impossible adds the members to skip that can no longer be as they were, because another record has
// the external id, the company is gone, or the caller may not change the owner. It returns false if err
// is something else, or if these members are skipped already.
func impossible(err error, skip map[string]bool) (more bool) {
	f, said := errors.AsType[*fault.Fault](err)
	if !said {
		return false
	}
	skipped := len(skip)
	switch f.Code {
	case fault.Forbidden:
		skip["ownerId"], skip["visibility"] = true, true
	case fault.ValidationFailed:
		for _, w := range f.Fields {
			name, _, _ := strings.Cut(w.Name, ".")
			name, _, _ = strings.Cut(name, "[")
			skip[name] = true
		}
	}
	return len(skip) > skipped
}

// amended changes the members of a record that can no longer be as they were, and reports whether
// these are the only violations: the company was merged or is gone, the owner is gone, or another record
// has the external id.
func amended(
	ctx context.Context, c *op.Call, err error, f reflect.Value, s *record.CommonFields,
) (fit bool, failed error) {
	wrong, invalid := errors.AsType[*fault.Fault](err)
	if !invalid || wrong.Code != fault.ValidationFailed {
		return false, nil
	}
	for _, w := range wrong.Fields {
		switch w.Name {
		case "companyId":
			company := f.FieldByName("CompanyID")
			next, err := successorOf(ctx, c, company.Elem().String())
			switch {
			case err == nil:
				company.Set(reflect.ValueOf(&next.ID))
			case fault.Is(err, fault.NotFound):
				company.SetZero()
			default:
				return false, err
			}
		case "ownerId":
			s.OwnerID = c.Actor.PrincipalID()
		case "externalId":
			s.Attributes = maps.Clone(s.Attributes)
			keep(s.Attributes, record.MergedExternalID, *s.ExternalID)
			s.ExternalID = nil
		default:
			return false, nil
		}
	}
	return true, nil
}

// takeBack gives the members that a merge changed their former values. before and after are the
// members at the merge. A member that was changed since keeps its value, and so does one whose name is
// in skip. Of a list and of the attributes, only what the merge added goes.
func takeBack(f, before, after reflect.Value, skip map[string]bool) {
	for _, m := range reflect.VisibleFields(f.Type()) {
		if m.Anonymous || m.Tag.Get("read") == "true" || skip[m.Tag.Get("json")] {
			continue
		}
		is, was, merged := f.FieldByIndex(m.Index), before.FieldByIndex(m.Index), after.FieldByIndex(m.Index)
		switch {
		case equal(was, merged):
		case equal(is, merged):
			is.Set(was)
		case is.Kind() == reflect.Slice:
			is.Set(without(is, was, merged))
		case is.Kind() == reflect.Map:
			for _, name := range merged.MapKeys() {
				if !was.MapIndex(name).IsValid() && equal(is.MapIndex(name), merged.MapIndex(name)) {
					is.SetMapIndex(name, reflect.Value{})
				}
			}
		}
	}
}

// keepFirst keeps a former first email, number or address in its list, where the merge has put it, if
// the first one was changed since and takeBack leaves it out.
func keepFirst(is, was, before parts) {
	is.AdditionalEmails = kept(is.AdditionalEmails, was.AdditionalEmails, first(*is.email, asEmail),
		first(*before.email, asEmail), sameEmail)
	country := countryOf(is, before)
	same := func(a, b record.AdditionalPhone) bool { return sameNumber(a.Phone, b.Phone, country) }
	is.AdditionalPhones = kept(is.AdditionalPhones, was.AdditionalPhones, is.entries(), before.entries(), same)
	is.AdditionalAddresses = kept(is.AdditionalAddresses, was.AdditionalAddresses, first(*is.address, asAddress),
		first(*before.address, asAddress), covers)
}

// kept returns a list with the entries of was that are among wanted, unless they are the first ones.
func kept[E any](list, was, firsts, wanted []E, same func(a, b E) bool) []E {
	for _, e := range was {
		among := func(others []E) bool { return slices.ContainsFunc(others, func(o E) bool { return same(o, e) }) }
		if among(wanted) && !among(firsts) && !among(list) {
			list = append(list, e)
		}
	}
	return list
}

// without returns the entries of a list that the merge did not add.
func without(is, was, merged reflect.Value) reflect.Value {
	kept := reflect.MakeSlice(is.Type(), 0, is.Len())
	for _, e := range is.Seq2() {
		if has(was, e) || !has(merged, e) {
			kept = reflect.Append(kept, e)
		}
	}
	return kept
}

func has(list, entry reflect.Value) bool {
	for _, e := range list.Seq2() {
		if equal(e, entry) {
			return true
		}
	}
	return false
}

// equal reports whether two values are equal. A missing list equals an empty one.
func equal(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if k := a.Kind(); (k == reflect.Slice || k == reflect.Map) && a.Len() == 0 {
		return b.Len() == 0
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
