// Package webhooktest owns webhook receivers for tests: a certificate, and the official libraries that verify deliveries.
package webhooktest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Delivery is a webhook request with the secret for its verification.
type Delivery struct {
	Secret string `json:"secret"`
	// Headers has the names of the headers in lower case.
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// Received returns the Delivery for a request with these headers and this body.
func Received(secret string, h http.Header, body []byte) Delivery {
	d := Delivery{secret, map[string]string{}, string(body)}
	for name := range h {
		d.Headers[strings.ToLower(name)] = h.Get(name)
	}
	return d
}

// Verify verifies the deliveries with the libraries of all languages. It fails the test unless each
// library accepts exactly those deliveries for which want is true. A library that is not installed
// is skipped, or fails the test if CI is true.
func Verify(t *testing.T, deliveries []Delivery, want []bool) {
	t.Helper()
	t.Run("Go", func(t *testing.T) {
		compare(t, inGo(t, deliveries), want)
	})
	root := module(t)
	installed, scripts := filepath.Join(root, ".cache/standardwebhooks-1.1"), filepath.Join(root, "ci/standardwebhooks")
	for language, command := range map[string]*exec.Cmd{
		"Python":     exec.Command(filepath.Join(installed, "python/bin/python"), filepath.Join(scripts, "verify.py")),
		"JavaScript": exec.Command("node", filepath.Join(scripts, "verify.mjs"), installed),
	} {
		t.Run(language, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(installed, "ready")); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal("the library is not installed: ci/setup.sh npm venv standardwebhooks")
				}
				t.Skip("no other language than Go verifies deliveries: ci/setup.sh npm venv standardwebhooks")
			}
			compare(t, run(t, command, deliveries), want)
		})
	}
}

// module returns the root folder of the module.
func module(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("the test runs outside the module", err)
	return ""
}

func inGo(t *testing.T, deliveries []Delivery) (errors []string) {
	t.Helper()
	for _, d := range deliveries {
		h := http.Header{}
		for name, value := range d.Headers {
			h.Set(name, value)
		}
		verifier, err := standardwebhooks.NewWebhook(d.Secret)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if err := verifier.Verify([]byte(d.Body), h); err != nil {
			text = err.Error()
		}
		errors = append(errors, text)
	}
	return errors
}

func run(t *testing.T, command *exec.Cmd, deliveries []Delivery) (errors []string) {
	t.Helper()
	input, err := json.Marshal(deliveries)
	if err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &problems
	output, err := command.Output()
	if err == nil {
		err = json.Unmarshal(output, &errors)
	}
	if err != nil {
		t.Fatalf("%v: %s%s", err, output, &problems)
	}
	return errors
}

func compare(t *testing.T, errors []string, want []bool) {
	t.Helper()
	if len(errors) != len(want) {
		t.Fatalf("%d deliveries, %d answers", len(want), len(errors))
	}
	for i, text := range errors {
		if (text == "") != want[i] {
			t.Errorf("delivery %d: %q, want verified %v", i+1, text, want[i])
		}
	}
}
