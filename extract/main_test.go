package extract

import (
	"os"
	"testing"
)

// The tests' own program is also the child whose limits are tested.
func TestMain(m *testing.M) {
	Child(os.Args)
	code := m.Run()
	os.RemoveAll(cacheOf())
	os.Exit(code)
}
