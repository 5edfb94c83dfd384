package main

import (
	"testing"

	"kartei/bench/measure"
	"kartei/test/dbtest"
)

// TestMain lets a process of the tests read texts for another one, as the program does.
func TestMain(m *testing.M) { dbtest.Main(m) }

// A measurement of one thing refuses --only.
func TestOnlyIsRefused(t *testing.T) {
	for _, o := range []options{{Settings: measure.Settings{Only: "get", Webhooks: 1}}, {Settings: measure.Settings{Only: "get", Limited: true}}, {Settings: measure.Settings{Only: "get"}, traces: true}} {
		if o.checkOnly() == nil {
			t.Errorf("%+v: --only is ignored", o)
		}
	}
}
