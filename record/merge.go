package record

import (
	"context"
	"reflect"
	"slices"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/store/db"

	"github.com/go-json-experiment/json"
)

// merged is the verb in the history of a record into which another record was merged. Its event is
// an update.
const merged = "merged"

// MergeOrder is the order to merge the record From into the record Into of the same family.
type MergeOrder[P any] struct {
	Into, From string
	// Values are the names of members whose value From gives.
	Values []string
	// FromRevision is the revision of From on which the order is based.
	FromRevision int64
	// Fold takes members of from over into into, and returns the violations.
	Fold func(into, from P) []fault.Field
}

// MergeOutcome has the members of the two records of a merge, for its undo. They are JSON objects
// without the envelope.
type MergeOutcome struct {
	// Before and After are the members of the record that stays, as the actor sees them.
	Before, After []byte
	// From has the members of the record that was deleted.
	From []byte
}

// Merge changes a record, and deletes the record whose members it takes over, in one transaction. It
// makes a new revision even if no member changes: its condition protects the record that stays. It
// requires If-Match, and fails with PRECONDITION_FAILED if one of the two has another revision. A
// From that the actor does not see is an unknown reference.
//
// The deletion comes first. So the record that stays can take over the external id, and nobody can
// change a member of From that Merge has read.
func (k *Collection[T, F, P]) Merge(ctx context.Context, c *op.Call, m MergeOrder[P]) (out MergeOutcome, err error) {
	into, err := k.find(ctx, c, m.Into)
	if err != nil {
		return out, err
	}
	if err := c.IfMatch.Require(into.revision); err != nil {
		return out, err
	}
	from, err := k.find(ctx, c, m.From)
	if fault.Is(err, fault.NotFound) || err == nil && m.From == m.Into {
		return out, fault.Invalid(fault.Field{Name: "from", Code: fault.FieldNotFound})
	}
	if err != nil {
		return out, err
	}
	if from.revision != m.FromRevision {
		return out, &fault.Fault{
			Code: fault.PreconditionFailed, Detail: "The record in from has another revision than fromRevision. Please read it again.",
		}
	}
	taken, err := k.decode(from.content)
	if err != nil {
		return out, err
	}
	out.From = from.content
	if err := k.erase(ctx, c, from); err != nil {
		return out, err
	}
	if err := k.lend(into, from, taken, m.Values); err != nil {
		return out, err
	}
	_, err = k.revise(ctx, c, into, merged, func(before, after P) ([]fault.Field, error) {
		wrong := append(m.Fold(after, taken), k.Prepare(c.Services, after, before)...)
		if out.Before, err = json.Marshal(before); err != nil {
			return nil, err
		}
		if out.After, err = json.Marshal(after); err != nil {
			return nil, err
		}
		return wrong, giveAway(ctx, c, from.id, taken.Shared(), after.Shared())
	})
	return out, err
}

// lend adds the hidden references of from to into where into has none. The actor can neither take
// over a reference that the actor does not see, nor lose it. The reference of taken becomes nil then,
// and if into has a hidden one that values does not replace.
func (k *Collection[T, F, P]) lend(into, from *row, taken P, values []string) error {
	stored, err := k.decode(into.content)
	if err != nil {
		return err
	}
	has, gives := reflect.ValueOf(stored).Elem(), reflect.ValueOf(taken).Elem()
	for i := range k.references {
		member := k.references[i].member
		if from.hidden&(1<<i) == 0 {
			if into.hidden&(1<<i) != 0 && !slices.Contains(values, k.references[i].field) {
				gives.FieldByIndex(member).SetZero()
			}
			continue
		}
		if textAt(has, member) == "" {
			has.FieldByIndex(member).Set(gives.FieldByIndex(member))
			into.hidden |= 1 << i
		}
		gives.FieldByIndex(member).SetZero()
	}
	into.content, err = json.Marshal(stored)
	return err
}

// Referrer is a family with references to records of other families.
type Referrer interface {
	// Referring returns the ids of records whose reference to a family has the id to, at most limit.
	// It includes private records of everybody.
	Referring(ctx context.Context, tx db.Tx, organization int64, family, to string, limit int) ([]string, error)
	// Repoint replaces the reference to the record from of a family by a reference to the record to.
	// It returns false if the record does not refer to from any longer, or if to was deleted
	// meanwhile. The actor of the call must see all records.
	Repoint(ctx context.Context, c *op.Call, id, family, from, to string) (done bool, err error)
}

// referenceTo returns the reference to a family, or nil.
func (k *Collection[T, F, P]) referenceTo(family string) *reference {
	for i := range k.references {
		if k.references[i].family == family {
			return &k.references[i]
		}
	}
	return nil
}

// Referring implements Referrer.
func (k *Collection[T, F, P]) Referring(
	ctx context.Context, tx db.Tx, organization int64, family, to string, limit int,
) ([]string, error) {
	r := k.referenceTo(family)
	if r == nil {
		return nil, nil
	}
	return db.Values[string](ctx, tx, `select id from `+k.Plural+` where organization = $1 and `+r.name+` = $2 and `+
		r.name+` is not null and deleted = false limit $3`, organization, to, limit)
}

// Repoint implements Referrer.
func (k *Collection[T, F, P]) Repoint(
	ctx context.Context, c *op.Call, name, family, from, to string,
) (done bool, err error) {
	ref := k.referenceTo(family)
	r, err := k.find(ctx, c, name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	stored, err := k.decode(r.content)
	if err != nil || textAt(reflect.ValueOf(stored).Elem(), ref.member) != from {
		return false, err
	}
	if living, err := Seen(ctx, c, family, to); err != nil || !living {
		return false, err
	}
	_, err = k.revise(ctx, c, r, "updated", func(_, after P) ([]fault.Field, error) {
		reflect.ValueOf(after).Elem().FieldByIndex(ref.member).Set(reflect.ValueOf(&to))
		return nil, nil
	})
	return err == nil, err
}
