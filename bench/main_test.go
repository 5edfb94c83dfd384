package main

import (
	"testing"

	"kartei/test/dbtest"
)

// TestMain lets a process of the tests read texts for another one, as the program does.
func TestMain(m *testing.M) { dbtest.Main(m) }
