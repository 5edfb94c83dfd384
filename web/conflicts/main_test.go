package conflicts_test

import (
	"testing"

	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
