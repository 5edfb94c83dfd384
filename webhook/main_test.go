package webhook

import (
	"testing"

	"kartei/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
