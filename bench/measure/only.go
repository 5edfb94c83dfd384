package measure

import (
	"fmt"
	"strings"
)

// Choose returns the entries of a list whose names begin with only. If there are none, the error
// lists all names. Without the error, a run without measurements would look like success.
func Choose[T any](list []T, name func(T) string, only string) ([]T, error) {
	var chosen []T
	var names []string
	for _, v := range list {
		names = append(names, fmt.Sprintf("%q", name(v)))
		if strings.HasPrefix(name(v), only) {
			chosen = append(chosen, v)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--only: no measurement begins with %q; the measurements are %s", only,
			strings.Join(names, ", "))
	}
	return chosen, nil
}

// Itself returns its argument. It is the function name in a call of Choose with a list of names.
func Itself(name string) string { return name }
