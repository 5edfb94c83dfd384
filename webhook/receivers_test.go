package webhook

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestPythonAndJavaScript has the official libraries verify what the Go one
// does in TestOfficialLibraryVerifies.
func TestPythonAndJavaScript(t *testing.T) {
	const installed = "../.cache/standardwebhooks-1.1"
	if _, err := os.Stat(installed + "/ready"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the libraries are not installed: ci/setup.sh npm venv standardwebhooks")
		}
		t.Skip("no other language than Go verifies deliveries: ci/setup.sh npm venv standardwebhooks")
	}
	type delivery struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	body := `{"object":"event","id":"evt_1","data":{"object":"contact","id":"con_ä"}}`
	now, before, other := secret(t), secret(t), secret(t)
	sent := func(by Secret, body string, age time.Duration, secrets ...Secret) delivery {
		h, headers := http.Header{}, map[string]string{}
		Sign(h, "evt_1", time.Now().Add(-age), []byte(`{"object":"event","id":"evt_1","data":{"object":"contact","id":"con_ä"}}`), secrets...)
		for name := range h {
			headers[strings.ToLower(name)] = h.Get(name)
		}
		return delivery{by.Reveal(), headers, body}
	}
	// The first three verify.
	input, err := json.Marshal([]delivery{
		sent(now, body, 0, now), sent(now, body, 4*time.Minute, now, before), sent(before, body, 0, now, before),
		sent(other, body, 0, now, before), sent(before, body, 0, now), sent(now, "{}", 0, now), sent(now, body, 6*time.Minute, now), sent(now, body, -6*time.Minute, now),
	})
	if err != nil {
		t.Fatal(err)
	}
	for language, command := range map[string]*exec.Cmd{
		"Python":     exec.Command(installed+"/python/bin/python", "../ci/standardwebhooks/verify.py"),
		"JavaScript": exec.Command("node", "../ci/standardwebhooks/verify.mjs", installed),
	} {
		t.Run(language, func(t *testing.T) {
			var problems bytes.Buffer
			command.Stdin, command.Stderr = bytes.NewReader(input), &problems
			output, err := command.Output()
			var errors []string
			if err == nil {
				err = json.Unmarshal(output, &errors)
			}
			if err != nil || len(errors) != 8 {
				t.Fatalf("%v, %s %s", err, output, &problems)
			}
			for i, text := range errors {
				if (text == "") != (i < 3) {
					t.Errorf("delivery %d: %q", i+1, text)
				}
			}
		})
	}
}
