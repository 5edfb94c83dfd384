package access

import (
	"slices"
	"strings"
)

// Families are the record families that scopes name (contract,
// 'Authentication', point 5).
var Families = []string{"contacts", "companies", "tasks", "documents", "webhook_endpoints"}

// Right is what a principal may do with one family.
type Right string

// The rights. Each includes those before it.
const (
	NoRight    Right = "none"
	ReadRight  Right = "read"
	WriteRight Right = "write"
)

// Rights narrow a principal's role, family by family. A family that is not
// named has what the role gives: write for admins and members, read for viewers.
type Rights map[string]Right

// AllScopes returns every scope there is, sorted.
func AllScopes() []string { return slices.Clone(allScopes) }

// ReadScopes returns every scope that only reads, sorted.
func ReadScopes() []string {
	return slices.DeleteFunc(AllScopes(), writes)
}

var allScopes = func() []string {
	var all []string
	for _, family := range Families {
		all = append(all, family+":read", family+":write")
	}
	slices.Sort(all)
	return all
}()

func validScope(scope string) bool {
	_, found := slices.BinarySearch(allScopes, scope)
	return found
}

// writes reports whether the scope lets its bearer change records.
func writes(scope string) bool { return strings.HasSuffix(scope, ":write") }

// allows reports whether a principal with this role and these rights holds scope.
func allows(role Role, rights Rights, scope string) bool {
	family, _, _ := strings.Cut(scope, ":")
	right, named := rights[family]
	if !named {
		right = WriteRight
	}
	if writes(scope) {
		return (role == Admin || role == Member) && right == WriteRight
	}
	return right == ReadRight || right == WriteRight
}

// grantedScopes returns those of the key's scopes that its principal holds, sorted.
func grantedScopes(scopes []string, role Role, rights Rights) []string {
	granted := make([]string, 0, len(scopes))
	for _, scope := range scopes {
		if allows(role, rights, scope) {
			granted = append(granted, scope)
		}
	}
	slices.Sort(granted)
	return slices.Compact(granted)
}

// effectiveScopes returns those of the granted scopes that the organization's
// level lets through: all, the reading ones, or none.
func effectiveScopes(granted []string, level Level) []string {
	switch level {
	case On:
		return granted
	case Read:
		return slices.DeleteFunc(slices.Clone(granted), writes)
	}
	return []string{}
}
