package main

import (
	"strings"
	"testing"
)

// TestLog checks that the request log can be read while no server runs. Settings of the server in
// the environment have no effect.
func TestLog(t *testing.T) {
	data := t.TempDir()
	if status, _, errs := kartei(nil, "migrate", "--data-dir", data); status != 0 {
		t.Fatal(errs)
	}
	environ := map[string]string{"KARTEI_LIMITS": "key=3000/6000"}
	for _, test := range []struct {
		args   string
		status int
		out    string
	}{
		{"--json", 0, `{"data":[],"hasMore":false}` + "\n"},
		{
			"--json --key key_a --status 4xx --since 1h --until 2030-01-01T00:00:00Z --limit 1000", 0,
			`{"data":[],"hasMore":false}` + "\n",
		},
		{"", 0, "TIME  STATUS  CODE  REASON  DOOR  METHOD  OPERATION  KEY  ADDRESS  TOOK  REQUEST\n"},
		{"--limit 1001", 2, ""},
		{"--limit 0", 2, ""},
		{"--status 4x", 2, ""},
		{"--since soon", 2, ""},
		{"--org org_x", 1, ""},
	} {
		args := append([]string{"log", "--data-dir", data}, strings.Fields(test.args)...)
		if status, out, errs := kartei(environ, args...); status != test.status || out != test.out ||
			(errs != "") != (status != 0) {
			t.Errorf("log %s: %d, %q, %q", test.args, status, out, errs)
		}
	}
}
