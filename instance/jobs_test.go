package instance

import (
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/door/admin/socket"
	"kartei/instance/jobs"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/operator"
)

// TestJobs checks that the list of jobs and the metrics show failed jobs, and that a failed job
// runs after a retry.
func TestJobs(t *testing.T) {
	dir := t.TempDir()
	i := begin(t, configOf(dir))
	defer end(t, i)
	client, err := socket.Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	call := func(act string, in, out any) error { return client.Call(t.Context(), act, in, out) }
	org, err := operator.New(i.DB, i.clock,
		i.Directory).CreateOrganization(t.Context(), organization.New{
		Name: "Kanzlei", Module: "on", Secrecy: "declared", Level: access.On,
	})
	if err != nil {
		t.Fatal(err)
	}
	for organization, id := range map[int64]string{0: "job_0", 1: "job_1"} {
		if err := i.DB.Write(t.Context(), func(tx db.Tx) error {
			tx.Queue(`insert into jobs (organization, id, kind, key, payload, state, claim, attempt, due_at, error, created_at, started_at)
				values ($1, $2, 'retention.tidy', 'k', 'null', 'failed', 1, 5, $3, 'no room', $3, $3)`, organization, id,
				clock.Now(clock.System))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	var out jobs.Output
	if err := call("jobs.list", jobs.Input{}, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Failed) != 2 {
		t.Fatalf("%+v", out)
	}
	for _, f := range out.Failed {
		want := org.ID
		if f.ID == "job_0" {
			want = ""
		}
		if f.Organization != want || f.Error != "no room" || f.Attempts != 5 || f.Kind != "retention.tidy" {
			t.Errorf("%+v", f)
		}
	}
	await(t, func() bool { // the retention job is enqueued a little after the start
		if err := call("jobs.list", jobs.Input{}, &out); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int64{}
		for _, c := range out.Counts {
			kinds[c.Kind+" "+c.State] += c.Count
		}
		return kinds["retention.tidy failed"] == 2 && kinds["retention.look waiting"]+kinds["retention.look running"] == 1
	})
	_, metrics := get(t, i.OperatorURL+"/metrics")
	if line := `kartei_jobs{kind="retention.tidy",state="failed"} 2`; !strings.Contains(metrics, line+"\n") {
		t.Errorf("the metrics have no line %s", line)
	}
	if err := call("jobs.retry", op.ByID{ID: "job_x"}, nil); err == nil ||
		!strings.Contains(socket.Sentence(err, nil), "no failed job job_x") {
		t.Errorf("of one that there is not: %v", err)
	}
	if err := call("jobs.retry", op.ByID{ID: "job_1"}, nil); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { // the retried job runs and is deleted
		var n int
		if err := i.DB.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select count(*) from jobs where organization = $1 and id = 'job_1'`,
				int64(1)).Scan(&n)
		}); err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
}

// TestRetryOfDuplicateJob checks that a failed job cannot be retried while
// another job with the same key waits.
func TestRetryOfDuplicateJob(t *testing.T) {
	dir := t.TempDir()
	i := begin(t, configOf(dir))
	defer end(t, i)
	for id, state := range map[string]string{"job_1": "failed", "job_2": "waiting"} {
		if err := i.DB.Write(t.Context(), func(tx db.Tx) error {
			tx.Queue(`insert into jobs (organization, id, kind, key, payload, state, claim, attempt, due_at, error, created_at, started_at)
				values (1, $1, 'a', 'k', 'null', $2, 1, 5, 1000000, '', 1000000, 1000000)`, id, state)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	err := i.door().Call(t.Context(), "jobs.retry", op.ByID{ID: "job_1"}, nil)
	if err == nil || !strings.Contains(socket.Sentence(err, nil), "Another job does the same now") {
		t.Error(err)
	}
}
