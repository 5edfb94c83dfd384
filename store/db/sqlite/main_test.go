package sqlite_test

import (
	"context"
	"testing"

	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var ctx = context.Background()
