package access

import (
	"slices"
	"strings"
)

// Families are the families that have scopes (contract, 'Authentication', point 5).
var Families = []string{"contacts", "companies", "tasks", "documents", "webhook_endpoints"}

// Right is the access of a principal to one family.
type Right string

// The values of Right. Each includes the ones before it.
const (
	NoRight    Right = "none"
	ReadRight  Right = "read"
	WriteRight Right = "write"
)

// Rights limit a principal's role for single families. A family without an entry has the right of
// the role: write for admins and members, and read for viewers.
type Rights map[string]Right

// AllScopes returns all scopes, sorted.
func AllScopes() []string { return slices.Clone(allScopes) }

// ReadScopes returns all scopes that allow only reading, sorted.
func ReadScopes() []string {
	return slices.DeleteFunc(AllScopes(), Writes)
}

var allScopes = func() []string {
	var all []string
	for _, family := range Families {
		all = append(all, family+":read", family+":write")
	}
	slices.Sort(all)
	return all
}()

// ValidScope reports whether the scope exists.
func ValidScope(scope string) bool {
	_, found := slices.BinarySearch(allScopes, scope)
	return found
}

// Writes reports whether the scope allows changes of records.
func Writes(scope string) bool { return strings.HasSuffix(scope, ":write") }

// Allows reports whether a principal with this role and these rights has a scope.
func Allows(role Role, rights Rights, scope string) bool {
	family, _, _ := strings.Cut(scope, ":")
	right, named := rights[family]
	if !named {
		right = WriteRight
	}
	if Writes(scope) {
		return (role == Admin || role == Member) && right == WriteRight
	}
	return right == ReadRight || right == WriteRight
}

// effectiveScopes returns the sorted scopes of a caller. These are the scopes in held that the
// caller's role and rights allow. With the duty Gate, the level of the organization must allow
// them too. A person may not change anything in an organization that is not open.
func effectiveScopes(held []string, a *Actor) []string {
	scopes := make([]string, 0, len(held))
	for _, scope := range held {
		if Allows(a.role, a.rights, scope) && a.organization.lets(scope, &a.credential.Duties) {
			scopes = append(scopes, scope)
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// lets reports whether the switches of the organization allow a kind of credential to use a
// scope.
func (o *Organization) lets(scope string, d *Duties) bool {
	return (!d.Gate || o.Level.lets(scope)) && !(d.Person && o.State != Open && Writes(scope))
}

// lets reports whether the level allows programs to use a scope.
func (l Level) lets(scope string) bool { return l == On || l == Read && !Writes(scope) }
