package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"kartei/cmd/kartei/command"
	"kartei/test/linetest"
)

// serve runs a server on the data until the test ends. It returns after the server is ready.
func serve(s linetest.Folder) {
	s.Helper()
	ctx, stop := context.WithCancel(context.Background())
	log, errs := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer errs.Close()
		command.Run(ctx, newCommands(), []string{
			"--data-dir", s.Dir, "serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0",
			"--log-format", "json",
		},
			func(string) (string, bool) { return "", false }, io.Discard, errs)
	}()
	s.Cleanup(func() {
		stop()
		<-ended
	})
	lines, said := bufio.NewScanner(log), ""
	for lines.Scan() {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), `"msg":"ready"`) {
			go io.Copy(io.Discard, log)
			return
		}
	}
	s.Fatalf("the server ended: %s", said)
}

// TestWebhookCommands checks that the operator can create, change, test, rotate and delete an
// endpoint of a principal. The principal's rights apply.
func TestWebhookCommands(t *testing.T) {
	s := newShell(t)
	org := s.Answer("org", "create", "Kanzlei", "--secrecy", "declared", "--module", "on", "--level", "on")["id"].(string)
	robot := s.Answer("service-account", "create", "--org", org, "--name", "Abgleich", "--role", "member")["id"].(string)
	viewer := s.Answer("service-account", "create", "--org", org, "--name", "Leser", "--role", "viewer")["id"].(string)
	narrow := s.Answer("service-account", "create", "--org", org, "--name", "Schmal", "--role", "member", "--rights",
		"contacts=none")["id"].(string)
	if status, _, errs := s.Try("webhook", "create", "--org", org, "--principal", robot, "--name", "CRM", "--url",
		"https://crm.example.com/hook", "--events", "contact.created"); status != 1 ||
		!strings.Contains(errs, "no server runs") {
		t.Errorf("without a server: %d %q", status, errs)
	}
	serve(s)
	create := func(principal, url, events string) []string {
		return []string{
			"webhook", "create", "--org", org, "--principal", principal, "--name", "CRM", "--url", url,
			"--events", events,
		}
	}
	for name, c := range map[string]struct {
		line []string
		want string
	}{
		"nobody": {
			create("svc_00000000000000000000000000", "https://crm.example.com/hook", "contact.created"),
			"--principal",
		},
		"no right":          {create(viewer, "https://crm.example.com/hook", "contact.created"), "webhook_endpoints:write"},
		"no right to read":  {create(narrow, "https://crm.example.com/hook", "contact.created"), "contacts:read"},
		"no TLS":            {create(robot, "http://crm.example.com/hook", "contact.created"), "--url"},
		"a private address": {create(robot, "https://10.0.0.1/hook", "contact.created"), "--url"},
		"an unknown type":   {create(robot, "https://crm.example.com/hook", "contact.lost"), "contact.created"},
		"an unknown office": {
			[]string{"webhook", "rotate", "whe_00000000000000000000000000", "--org", "org_00000000000000000000000000"},
			"organization",
		},
		"an unknown one":     {[]string{"webhook", "delete", "whe_00000000000000000000000000", "--org", org}, "endpoint"},
		"a test of this one": {[]string{"webhook", "test", "whe_00000000000000000000000000", "--org", org}, "endpoint"},
	} {
		if status, out, errs := s.Try(c.line...); status != 1 || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%s: status %d, %q, %q", name, status, out, errs)
		}
	}
	made := s.Answer(create(robot, "https://crm.example.com/hook", "contact.created,contact.updated")...)
	id, secret := made["id"].(string), made["secret"].(string)
	if !strings.HasPrefix(id, "whe_") || !strings.HasPrefix(secret, "whsec_") || made["previousSecretValidUntil"] != nil {
		t.Errorf("%v", made)
	}
	changed := s.Answer("webhook", "change", id, "--org", org, "--name", "Neu", "--url",
		"https://crm.example.com/other", "--events", "contact.created")
	if changed["id"] != id || changed["name"] != "Neu" || changed["url"] != "https://crm.example.com/other" ||
		changed["principalId"] != robot || len(changed["eventTypes"].([]any)) != 1 {
		t.Errorf("%v", changed)
	}
	if same := s.Answer("webhook", "change", id, "--org", org, "--name",
		"Neu"); same["revision"] != changed["revision"] || same["url"] != changed["url"] {
		t.Errorf("what changes nothing: %v", same)
	}
	rotated := s.Answer("webhook", "rotate", id, "--org", org)
	if again, _ := rotated["secret"].(string); rotated["id"] != id || !strings.HasPrefix(again, "whsec_") ||
		again == secret || rotated["previousSecretValidUntil"] == nil {
		t.Errorf("%v", rotated)
	}
	if status, out, errs := s.Try("webhook", "rotate", id, "--org", org); status != 0 ||
		!strings.HasPrefix(out, "whsec_") || !strings.Contains(errs, id) {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	sent := s.Answer("webhook", "test", id, "--org", org)
	if event, _ := sent["eventId"].(string); sent["object"] != "webhook_test" || !strings.HasPrefix(event, "evt_") {
		t.Errorf("%v", sent)
	} else if waits := s.Answer("webhook", "event", event, "--org", org)["data"].([]any); len(waits) != 1 ||
		waits[0].(map[string]any)["endpointId"] != id {
		t.Errorf("the test event goes to %v", waits)
	}
	words := map[string]int{}
	for _, line := range s.Answer("audit", "--org", org)["data"].([]any) {
		if l := line.(map[string]any); l["target"] == id {
			words[l["word"].(string)]++
		}
	}
	if gone := s.Answer("webhook", "delete", id, "--org", org); gone["id"] != id || gone["deleted"] != true {
		t.Errorf("%v", gone)
	}
	if status, _, errs := s.Try("webhook", "show", id, "--org", org); status != 1 || !strings.Contains(errs, "endpoint") {
		t.Errorf("status %d, %q", status, errs)
	}
	for word, n := range map[string]int{"webhook.create": 1, "webhook.change": 2, "webhook.rotate": 2, "webhook.test": 1} {
		if words[word] != n {
			t.Errorf("the audit log has %s %d times: %v", word, words[word], words)
		}
	}
}
