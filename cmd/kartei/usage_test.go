package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"kartei/integration/usage"
)

// TestUsageCommand checks that the usage can be read while no server runs.
func TestUsageCommand(t *testing.T) {
	data := t.TempDir()
	if status, _, errs := kartei(nil, "migrate", "--data-dir", data); status != 0 {
		t.Fatal(errs)
	}
	status, out, errs := kartei(nil, "org", "create", "--data-dir", data, "Kanzlei", "--json")
	var created struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(out), &created); status != 0 || err != nil {
		t.Fatal(status, out, errs, err)
	}
	show := func(args string) (int, string, string) {
		return kartei(nil, append([]string{"usage", "--data-dir", data}, strings.Fields(args)...)...)
	}
	if status, out, errs := show("--org " + created.ID); status != 0 ||
		out != "KEY  NAME  CALLS  401  403  429  4XX  5XX  POINTS  RECORDS  P50  P95\n" {
		t.Errorf("%d %q %q", status, out, errs)
	}
	if status, out, errs := show("--by day --zone Europe/Berlin --days 7 --org " + created.ID); status != 0 ||
		strings.Count(out, "\n") != 8 || !strings.HasPrefix(out, "DAY ") {
		t.Errorf("%d %q %q", status, out, errs)
	}
	if status, out, _ := show("--by hour --days 2 --org " + created.ID); status != 0 || strings.Count(out, "\n") != 49 {
		t.Errorf("%d %q", status, out)
	}
	page, err := os.ReadFile("../../docs/operating/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^kartei usage (.*)$`).FindAllStringSubmatch(string(page), -1)
	if len(shown) < 2 {
		t.Errorf("metrics.md shows %d commands", len(shown))
	}
	for _, line := range shown {
		_, out, errs := kartei(nil, "service-account", "create", "--data-dir", data, "--org", created.ID, "--name", "CRM", "--json")
		var svc, key struct{ ID string }
		if err := json.Unmarshal([]byte(out), &svc); err != nil {
			t.Fatal(errs, err)
		}
		_, out, errs = kartei(nil, "key", "create", "--data-dir", data, "--org", created.ID, "--principal", svc.ID, "--env", "test",
			"--scopes", "contacts:read", "--ip", "127.0.0.0/8", "--json")
		if err := json.Unmarshal([]byte(out), &key); err != nil {
			t.Fatal(errs, err)
		}
		if status, _, errs := show(strings.NewReplacer("ORG", created.ID, "KEY", key.ID).Replace(line[1])); status != 0 {
			t.Errorf("metrics.md shows kartei usage %s: status %d, %s", line[1], status, errs)
		}
	}
	var u usage.Report
	if status, out, errs := show("--json --org " + created.ID); status != 0 ||
		json.Unmarshal([]byte(out), &u) != nil || len(u.Calls.Points) != 30 {
		t.Errorf("%d %q %q", status, out, errs)
	}
	for args, want := range map[string]int{
		"": 2, "--org org_x": 1, "--key key_x": 1, "--days 92 --org " + created.ID: 1,
		"--by week --org " + created.ID: 2, "--zone Mars --org " + created.ID: 1,
	} {
		if status, _, errs := show(args); status != want || errs == "" {
			t.Errorf("%s: %d, want %d: %q", args, status, want, errs)
		}
	}
}
