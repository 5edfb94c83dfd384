package instance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/api/op"
	"kartei/door/admin/socket"
	"kartei/instance/config"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/db/sqlite"
	"kartei/test/operator"
)

// configOf returns a configuration with a data folder and free ports.
func configOf(dir string) Config {
	return Config{
		Store: config.Store{DataDir: config.Dir(dir)},
		Server: config.Server{
			Listen: "127.0.0.1:0", OperatorListen: "127.0.0.1:0", Metered: true, Guesses: 30,
			MaxConnections: 64, MaxConnectionsPerAddress: 64, MaxHeaderBytes: 1 << 18,
		},
		Logger: slog.New(slog.DiscardHandler),
	}
}

func begin(t *testing.T, c Config) *Instance {
	t.Helper()
	i, err := Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close(context.Background()) })
	return i
}

func end(t *testing.T, i *Instance) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	if err := i.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// get returns the status and the body of the response.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestStartServeClose(t *testing.T) {
	i := begin(t, configOf(t.TempDir()))
	for path, want := range map[string]int{
		"/v1/me": 401, "/v1": 404, "/v1x": 404, "/": 200, "/docs": 200, "/problems/NOT_FOUND": 200,
		"/metrics": 404,
	} {
		if status, body := get(t, i.BaseURL+path); status != want {
			t.Errorf("%s: %d, want %d: %.200s", path, status, want, body)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/v1/me": 404} {
		if status, body := get(t, i.OperatorURL+path); status != want {
			t.Errorf("operator's %s: %d, want %d: %.200s", path, status, want, body)
		}
	}
	if err := i.DB.Write(t.Context(), func(db.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	_, metrics := get(t, i.OperatorURL+"/metrics")
	for _, line := range []string{
		`kartei_requests_total{code="UNAUTHENTICATED",operation="me.get",status="401"} 1`,
		`kartei_request_log_dropped_total 0`, `kartei_requests_in_flight 0`, `kartei_db_group_size_bucket{le="1"} `,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics have no line %s", line)
		}
	}
	if strings.Contains(metrics, "kartei_db_group_size_count 0\n") {
		t.Error("no commit was counted")
	}
	end(t, i)
	if err := i.Close(context.Background()); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if _, err := http.Get(i.BaseURL); err == nil {
		t.Error("it still serves")
	}
}

func TestMasterKeyIsCreatedOnce(t *testing.T) {
	dir := t.TempDir()
	first := begin(t, configOf(dir))
	end(t, first)
	second := begin(t, configOf(dir))
	if !first.MasterKeyCreated || second.MasterKeyCreated || *first.keys.Current != *second.keys.Current {
		t.Error("the master key must be made once")
	}
}

func TestPauseSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	i := begin(t, configOf(dir))
	call := func(act string) {
		t.Helper()
		client, err := socket.Dial(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if err := client.Call(context.Background(), act, Nothing{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	paused := func() bool {
		t.Helper()
		r, err := http.Get(i.BaseURL + "/v1/me")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var p struct{ Code string }
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Code == "API_PAUSED" && r.Header.Get("Retry-After") == "" {
			t.Error("there is no Retry-After")
		}
		return p.Code == "API_PAUSED"
	}
	call("pause")
	if !paused() {
		t.Fatal("the next call was answered")
	}
	end(t, i)
	if i = begin(t, configOf(dir)); !paused() {
		t.Fatal("a restart ended the pause")
	}
	call("resume")
	if paused() {
		t.Fatal("resume did not end it")
	}
	end(t, i)

	acts, done, err := OpenDoor(context.Background(), &config.Store{DataDir: config.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	err = acts.Call(context.Background(), "pause", Nothing{}, nil)
	done()
	if err != nil {
		t.Fatal(err)
	}
	if i = begin(t, configOf(dir)); !paused() {
		t.Fatal("a pause without a server was lost")
	}
}

func TestPending(t *testing.T) {
	i := begin(t, configOf(t.TempDir()))
	i.API.Pending(true)
	i.migrated.Store(false)
	if status, body := get(t, i.BaseURL+"/v1/me"); status != 503 || !strings.Contains(body, "INSTANCE_PENDING") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, i.OperatorURL+"/readyz"); status != 503 || !strings.Contains(body, "migrated") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := get(t, i.OperatorURL+"/healthz"); status != 200 {
		t.Errorf("healthz: %d", status)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	begin(t, configOf(dir))
	_, err := Start(context.Background(), configOf(dir))
	var used *sqlite.InUse
	if !errors.As(err, &used) || !strings.Contains(used.Holder, "process") {
		t.Errorf("a second start on the same data: %v", err)
	}
}

// TestFirstStartOnTakenPort checks that a first start on a port that is taken creates nothing, so
// that the next start does not warn about a lost database.
func TestFirstStartOnTakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for flag, take := range map[string]func(*config.Server){
		"--listen":          func(s *config.Server) { s.Listen = config.Address(taken.Addr().String()) },
		"--operator-listen": func(s *config.Server) { s.OperatorListen = config.Address(taken.Addr().String()) },
	} {
		dir := filepath.Join(t.TempDir(), "data")
		c := configOf(dir)
		take(&c.Server)
		want := flag + ": another program listens on " + taken.Addr().String()
		if _, err := Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the data folder was made: %v", flag, err)
		}
		var log bytes.Buffer
		next := configOf(dir)
		next.Logger = slog.New(slog.NewTextHandler(&log, nil))
		i := begin(t, next)
		if end(t, i); !i.MasterKeyCreated || strings.Contains(log.String(), "was deleted") {
			t.Errorf("%s: the next start made a key %t, and logs\n%s", flag, i.MasterKeyCreated, &log)
		}
	}
}

// TestFailedStartReleasesEverything checks that a failed start releases all resources, so that the
// next start succeeds.
func TestFailedStartReleasesEverything(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	listens := "another program listens on " + taken.Addr().String()
	for says, spoil := range map[string]func(*Config){
		"--listen: " + listens:          func(c *Config) { c.Server.Listen = config.Address(taken.Addr().String()) },
		"--operator-listen: " + listens: func(c *Config) { c.Server.OperatorListen = config.Address(taken.Addr().String()) },
		"certificate":                   func(c *Config) { c.Server.TLSCert, c.Server.TLSKey = "none", "none" },
		"masterkey": func(c *Config) {
			c.Server.MasterKeyFile = config.File(filepath.Join(dir, "no", "such", "file"))
		},
		"sqlite": func(c *Config) { c.Store.DatabaseURL = "mysql://x" },
	} {
		c := configOf(dir)
		spoil(&c)
		if _, err := Start(context.Background(), c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	end(t, begin(t, configOf(dir)))
}

func TestBackupAct(t *testing.T) {
	dir := t.TempDir()
	i := begin(t, configOf(dir))
	if _, err := operator.New(i.DB, i.clock, i.Directory).CreateOrganization(context.Background(),
		organization.New{Name: "A"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	var made BackupOutput
	if err := i.door().Call(context.Background(), "backup", BackupInput{File: file}, &made); err != nil ||
		made.Bytes == 0 || made.File != file {
		t.Fatalf("%+v, %v", made, err)
	}
	if err := i.door().Call(context.Background(), "backup", BackupInput{File: file}, nil); err == nil {
		t.Error("an existing file was replaced")
	}
	end(t, i)
	other := t.TempDir()
	restored := configOf(other)
	restored.Server.MasterKeyFile = config.File(filepath.Join(dir, "master.key"))
	if _, err := Restore(context.Background(), &restored.Store, file, false, move.Identities{}); err != nil {
		t.Fatal(err)
	}
	if err := Restored(context.Background(), &restored.Store, "copy"); err != nil {
		t.Fatal(err)
	}
	list, err := begin(t, restored).Operator().ListOrganizations(context.Background(), op.Page{})
	if err != nil || len(list.Data) != 2 {
		t.Errorf("%d organizations, %v", len(list.Data), err)
	}
}
