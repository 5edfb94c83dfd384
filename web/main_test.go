package web_test

import (
	"os"
	"testing"

	"kartei/test/webtest"
)

// TestMain stops the browser that all tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	webtest.Stop()
	os.Exit(code)
}
