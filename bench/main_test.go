package main

import (
	"testing"

	"kartei/bench/measure"
	"kartei/test/dbtest"
)

// TestMain lets the test program serve as the process that reads texts, like the program itself.
func TestMain(m *testing.M) { dbtest.Main(m) }

// TestOnlyIsRefused checks that --only is refused with flags that measure only one thing.
func TestOnlyIsRefused(t *testing.T) {
	for _, o := range []options{{Settings: measure.Settings{Only: "get", Webhooks: 1}}, {Settings: measure.Settings{Only: "get", Limited: true}}, {Settings: measure.Settings{Only: "get"}, traces: true}} {
		if o.checkOnly() == nil {
			t.Errorf("%+v: --only is ignored", o)
		}
	}
}
