package main

import (
	"testing"

	"kartei/test/dbtest"
)

// TestMain lets a process of the tests read texts for another one, as the program does.
func TestMain(m *testing.M) { dbtest.Main(m) }

// A measurement of one thing refuses --only.
func TestOnlyIsRefused(t *testing.T) {
	for _, o := range []options{{settings: settings{only: "get", webhooks: 1}}, {settings: settings{only: "get", limited: true}}, {settings: settings{only: "get"}, traces: true}} {
		if o.checkOnly() == nil {
			t.Errorf("%+v: --only is ignored", o)
		}
	}
}
