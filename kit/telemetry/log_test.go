package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestLogsHoldNoPersonalData logs secrets and personal data in all ways that slog offers. The
// output must not contain them.
func TestLogsHoldNoPersonalData(t *testing.T) {
	secrets := []string{
		"kart_live_0123456789_abcdefghij", "kart_test_k1d_s3cr3t", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw==",
		"erika.mustermann@kanzlei-morgenstern.example", "pa55w0rd", "Mustermann", "203.0.113.77",
	}
	careless := func(log *slog.Logger) {
		log.Info("call with "+secrets[0], "operation", "contacts.get")
		log.Warn("key", "key", secrets[1], "status", 401)
		log.Error("delivery", "error", fmt.Errorf("signing with %s: %w", secrets[2], errors.New("failed")))
		log.Info("mail", "to", secrets[3], "count", 1)
		log.Info("mail", slog.Group("mail", "header", "To: x", "body", secrets[5], "rcpt", secrets[3]))
		log.Error("open", "error", errors.New("dial postgres://kartei:"+secrets[4]+"@db.example:5432/kartei: refused"))
		log.Info("sign in", "password", secrets[4], "PassWord", secrets[4], "api_key", secrets[4], "Set-Cookie", secrets[4])
		log.Info("request", "Authorization", "Bearer "+secrets[4], "text", "Authorization: Bearer "+secrets[4])
		log.Info("contact", "last_name", secrets[5], "lastName", secrets[5], "displayName", secrets[5])
		log.Info("request", "remote_addr", secrets[6], "clientIP", netip.MustParseAddr(secrets[6]), "path",
			"/v1/contacts?q="+secrets[5])
		log.Info("list", "values", []string{secrets[3], secrets[0]}, "map", map[string]string{"a": secrets[3]})
		log.With("email", secrets[3]).WithGroup("g").Info("with", "x", secrets[3])
		log.Info("any", "value", struct{ Mail string }{secrets[3]})
	}
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log, err := NewLogger(&out, format, slog.LevelDebug)
		if err != nil {
			t.Fatal(err)
		}
		careless(log)
		for _, s := range secrets {
			if strings.Contains(out.String(), s) {
				t.Errorf("%s: %s is in the log:\n%s", format, s, out.String())
			}
		}
		if n := strings.Count(out.String(), "\n"); n != 13 {
			t.Errorf("%s: %d lines", format, n)
		}
	}
}

// TestLogsKeepWhatHelps checks that the logger does not change ordinary lines.
func TestLogsKeepWhatHelps(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("hidden")
	log.Info("listening", "address", "127.0.0.1:8080", "version", "1.2.3", "count", 3, "took", 2*time.Millisecond,
		"key_id", "key_01jabcdefghjkmnpqrstvwxyz0", "kid_short", "0123abcd", "operation", "contacts.list", "status", 429,
		"code", "RATE_LIMITED", "error", errors.New("open /var/lib/kartei/kartei.db: no such file"))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), removed) || line["address"] != "127.0.0.1:8080" || line["status"] != 429.0 ||
		line["took"] != "2ms" ||
		line["error"] != "open /var/lib/kartei/kartei.db: no such file" ||
		line["key_id"] != "key_01jabcdefghjkmnpqrstvwxyz0" {
		t.Error(out.String())
	}
}

func TestLogFormats(t *testing.T) {
	if _, err := NewLogger(nil, "xml", slog.LevelInfo); err == nil {
		t.Error("the format xml is accepted")
	}
}

// TestDurationsHaveUnits checks that a duration is logged with its unit in both forms.
func TestDurationsHaveUnits(t *testing.T) {
	for format, want := range map[string]string{"json": `"took":"1.5s"`, "text": "took=1.5s"} {
		var out strings.Builder
		logger, err := NewLogger(&out, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		logger.Info("done", "took", 1500*time.Millisecond)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", format, &out, want)
		}
	}
}
