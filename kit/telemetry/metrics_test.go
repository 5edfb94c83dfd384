package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func TestMetrics(t *testing.T) {
	m := NewMetrics("1.2.3", "abcdef")
	m.Gauge("kartei_db_writers_waiting", "Changes that wait for the writer.", func() float64 { return 7 })
	m.Counter("kartei_request_log_dropped_total", "Entries that were not written.", func() float64 { return 3 })
	m.GroupSizes().Observe(5)
	m.Rejected("key")
	m.Gauges("kartei_jobs", "Jobs.", []string{"kind", "state"},
		func(set func(float64, ...string)) { set(4, "a", "waiting"); set(1, "a", "failed") })
	m.Jobs()("a", "finished", 2*time.Second)
	m.Operations()("documents.create", "UPLOAD_REJECTED", 3*time.Second)
	transfers := m.Transfers("up", "down")
	transfers.Moved("up", 1000)
	transfers.Moved("up", 24)
	transfers.Ended("up", "broken", 2*time.Second)
	list, none := m.Operation("contacts.list"), m.Operation("")
	for range 3 {
		list.Start()
		list.Done(200, "", 3*time.Millisecond)
	}
	list.Start()
	list.Done(401, "UNAUTHENTICATED", time.Millisecond)
	list.Start() // not yet finished
	none.Start()
	none.Done(404, "NOT_FOUND", time.Microsecond)

	_, body := get(t, OperatorHandler(m, &Readiness{}), "/metrics")
	for _, line := range []string{
		`kartei_requests_total{code="",operation="contacts.list",status="200"} 3`,
		`kartei_requests_total{code="UNAUTHENTICATED",operation="contacts.list",status="401"} 1`,
		`kartei_requests_total{code="NOT_FOUND",operation="none",status="404"} 1`,
		`kartei_request_duration_seconds_bucket{operation="contacts.list",le="0.001"} 1`,
		`kartei_request_duration_seconds_bucket{operation="contacts.list",le="0.005"} 4`,
		`kartei_requests_in_flight 1`,
		`kartei_limit_rejections_total{policy="key"} 1`,
		`kartei_db_writers_waiting 7`,
		`kartei_request_log_dropped_total 3`,
		`kartei_db_group_size_sum 5`,
		`kartei_jobs{kind="a",state="waiting"} 4`,
		`kartei_jobs{kind="a",state="failed"} 1`,
		`kartei_job_runs_total{kind="a",outcome="finished"} 1`,
		`kartei_job_duration_seconds_sum{kind="a"} 2`,
		`kartei_operations_total{outcome="UPLOAD_REJECTED",type="documents.create"} 1`,
		`kartei_operation_duration_seconds_sum{type="documents.create"} 3`,
		`kartei_transfer_bytes_total{direction="up"} 1024`,
		`kartei_transfer_bytes_total{direction="down"} 0`,
		`kartei_transfers_total{direction="up",outcome="broken"} 1`,
		`kartei_transfer_duration_seconds_sum{direction="up"} 2`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("missing %s", line)
		}
	}
	for _, start := range []string{
		`kartei_build_info{commit="abcdef",go="go`, "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(body, "\n"+start) {
			t.Errorf("missing %s", start)
		}
	}
}

func TestHealth(t *testing.T) {
	var r Readiness
	migrations := errors.New("3 of 4 migrations are done")
	var database error
	r.Add("migrations", func(context.Context) error { return migrations })
	r.Add("database", func(context.Context) error { return database })
	h := OperatorHandler(NewMetrics("", ""), &r)
	ready := func(status int, want ...Result) {
		t.Helper()
		code, body := get(t, h, "/readyz")
		var got struct {
			Ready  bool
			Checks []Result
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if code != status || got.Ready != (status == 200) || len(got.Checks) != len(want) {
			t.Fatalf("%d %s", code, body)
		}
		for i := range want {
			if got.Checks[i] != want[i] {
				t.Errorf("%+v, want %+v", got.Checks[i], want[i])
			}
		}
	}
	ready(503, Result{"running", true, ""}, Result{"migrations", false, "3 of 4 migrations are done"},
		Result{"database", true, ""})
	migrations = nil
	ready(200, Result{"running", true, ""}, Result{"migrations", true, ""}, Result{"database", true, ""})
	var writes error
	r.Warn("writes", func(context.Context) error { return writes })
	ready(200, Result{"running", true, ""}, Result{"migrations", true, ""}, Result{"database", true, ""},
		Result{"writes", true, ""})
	writes = errors.New("the disk is full")
	ready(200, Result{"running", true, ""}, Result{"migrations", true, ""}, Result{"database", true, ""},
		Result{"writes", false, "the disk is full"})
	database = errors.New("no connection")
	r.Stop()
	ready(503, Result{"running", false, "the instance is shutting down"}, Result{"migrations", true, ""},
		Result{"database", false, "no connection"}, Result{"writes", false, "the disk is full"})
	if code, body := get(t, h, "/healthz"); code != 200 || body != "{\"alive\":true}\n" {
		t.Errorf("%d %s", code, body)
	}
}

func TestChecksAreBounded(t *testing.T) {
	var r Readiness
	r.Add("slow", func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("a check without a deadline")
		}
		return ctx.Err()
	})
	r.Ask(context.Background())
}

func TestOperatorHandlerHasNothingElse(t *testing.T) {
	h := OperatorHandler(NewMetrics("", ""), &Readiness{})
	for _, path := range []string{"/", "/v1/me", "/debug/pprof/"} {
		if code, _ := get(t, h, path); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

func TestDoneAllocatesNothing(t *testing.T) {
	o := NewMetrics("", "").Operation("contacts.get")
	if n := testing.AllocsPerRun(1000, func() {
		o.Start()
		o.Done(200, "", time.Millisecond)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDone(b *testing.B) {
	o := NewMetrics("", "").Operation("contacts.get")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			o.Start()
			o.Done(200, "", time.Millisecond)
		}
	})
}
