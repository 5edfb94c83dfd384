package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/store/db"
)

// reference is a member that contains the id of another record. The tag `ref:"companies"` has the
// plural of the record's family. The tag `ref:"principals"` stands for the people and service
// accounts of the organization. A column repeats the id.
type reference struct {
	// field is the name of the member, for example companyId.
	field string
	// family is the plural of the referenced family.
	family string
	column
	// key is the text in the JSON content before the id, for example "companyId":".
	key []byte
}

// principals stands for people and service accounts in references. They are not a family of
// records. Every caller may refer to them, and they are never deleted.
const principals = "principals"

func referencesOf(members reflect.Type) (list []reference) {
	for _, f := range reflect.VisibleFields(members) {
		if family := f.Tag.Get("ref"); family != "" {
			field := f.Tag.Get("json")
			list = append(list, reference{
				field: field, family: family,
				column: column{name: columnName(field), member: f.Index},
				key:    []byte(`"` + field + `":"`),
			})
		}
	}
	return list
}

// hidden returns an SQL expression on rows with alias r. Its value has a bit for each hidden
// reference. A reference is hidden if its record is deleted, or is private and belongs to another
// principal. all says that the actor sees private records of others. me is the parameter of the
// actor's principal. Responses have null in place of hidden references.
func hidden(references []reference, all bool, me string) string {
	audience := ` and x.audience in ('', ` + me + `)`
	if all {
		audience = ""
	}
	sum := []string{"0"}
	for i, r := range references {
		if r.family == principals {
			continue
		}
		sum = append(sum, fmt.Sprintf(`case when r.%s is null or exists (select 1 from %s as x
			where x.organization = $1 and x.id = r.%s and x.deleted = false%s) then 0 else %d end`, r.name, r.family, r.name,
			audience, 1<<i))
	}
	return strings.Join(sum, " + ")
}

// withoutHidden returns the content with each hidden reference set to null. It looks for the name
// of the reference with its quotes. Texts cannot contain this name, because quotes within a text
// are escaped.
func (k *Collection[T, F, P]) withoutHidden(r *row) []byte {
	content := r.content
	for i := range k.references {
		if r.hidden&(1<<i) == 0 {
			continue
		}
		key := k.references[i].key
		before, rest, found := bytes.Cut(content, key)
		_, after, ended := bytes.Cut(rest, []byte{'"'})
		if found && ended {
			content = slices.Concat(before, key[:len(key)-1], []byte("null"), after)
		}
	}
	return content
}

// keepHidden restores the hidden references of r in after, unless the change set them. It returns
// the bits of the restored references.
func (k *Collection[T, F, P]) keepHidden(r *row, after P) (still int64, err error) {
	stored, err := k.decode(r.content)
	if err != nil {
		return 0, err
	}
	from, to := reflect.ValueOf(stored).Elem(), reflect.ValueOf(after).Elem()
	for i := range k.references {
		m := k.references[i].member
		if r.hidden&(1<<i) != 0 && textAt(to, m) == "" {
			to.FieldByIndex(m).Set(from.FieldByIndex(m))
			still |= 1 << i
		}
	}
	return still, nil
}

// checkReferences returns a violation for each reference to a record that the actor does not see.
// before is nil for a new record. Unchanged references are not checked again.
func (k *Collection[T, F, P]) checkReferences(
	ctx context.Context, c *op.Call, f, before P,
) (wrong []fault.Field, err error) {
	for _, r := range k.references {
		name := textAt(reflect.ValueOf(f).Elem(), r.member)
		if name == "" || before != nil && name == textAt(reflect.ValueOf(before).Elem(), r.member) {
			continue
		}
		found, why, err := visible(ctx, c, r, name)
		if err != nil {
			return nil, err
		}
		if !found {
			wrong = append(wrong, fault.Field{Name: r.field, Code: fault.FieldNotFound, Text: why})
		}
	}
	return wrong, nil
}

// visible reports whether a reference has the id of a record of its family that the actor sees.
// If the actor may not read the family, why gives this reason.
func visible(ctx context.Context, c *op.Call, r reference, name string) (found bool, why i18n.Text, err error) {
	if r.family == principals {
		found, err = access.PrincipalExists(ctx, c.Tx, c.Actor.Org(), name)
		return found, noPrincipal, err
	}
	i := slices.IndexFunc(c.Services.Families, func(f op.Family) bool { return f.Plural == r.family })
	if i < 0 {
		return false, "", nil
	}
	f := c.Services.Families[i]
	if scope := f.ReadScope(); !c.Actor.May(scope) && !c.Actor.Caretaker() {
		return false, i18n.Format("To set this reference, the call lacks the scope %s.", scope), nil
	}
	if !id.Valid(f.Prefix, name) {
		return false, "", nil
	}
	found, err = Seen(ctx, c, f.Plural, name)
	return found, "", err
}

var (
	noPrincipal = i18n.Text("There is no such person or service account in the organization. Whoever runs the instance knows the ids; one's own is in GET /me.")
)

// Seen reports whether a family has a record with this id that is not deleted and that the actor
// sees. It does not check scopes.
func Seen(ctx context.Context, c *op.Call, family, name string) (bool, error) {
	var one int64
	err := c.Tx.QueryRow(ctx, `select 1 from `+family+
		` as r where r.organization = $1 and r.id = $2 and r.deleted = false and `+
		op.Visible("r", c.Actor, "$3"), c.Actor.Org(), name, c.Actor.PrincipalID()).Scan(&one)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Hold locks a record against deletion until the commit. The commit fails with a conflict if the
// record is already deleted. On SQLite, Hold does nothing, because there is only one writer.
func Hold(tx db.Tx, organization int64, family, name string) {
	if share := tx.Dialect().Share; share != "" {
		tx.Queue(`select 1 / count(*) from (select 1 from `+family+
			` where organization = $1 and id = $2 and deleted = false`+share+`) as living`, organization, name)
	}
}

// Unique returns the texts without duplicates, in the same order. It never returns nil.
func Unique(texts []string) []string {
	kept := make([]string, 0, len(texts))
	for _, t := range texts {
		if !slices.Contains(kept, t) {
			kept = append(kept, t)
		}
	}
	return kept
}
