package webhook_test

import (
	"testing"

	"kartei/apitest"
	"kartei/db"
	"kartei/dbtest"
)

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}
