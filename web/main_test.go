package web_test

import (
	"os"
	"testing"

	"kartei/test/webtest"
)

// The tests share one browser.
func TestMain(m *testing.M) {
	code := m.Run()
	webtest.Stop()
	os.Exit(code)
}
