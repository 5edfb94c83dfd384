package instance

import (
	"context"
	"sync"
	"time"

	"kartei/api"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/kit/disk"
	"kartei/kit/telemetry"
	"kartei/record/document"
	"kartei/record/search"
	"kartei/store/db"
	"kartei/store/job"
)

// observe returns the function that counts the responses of the API in the metrics.
func (i *Instance) observe() func(api.Observation) {
	operations := map[string]*telemetry.Operation{"": i.metrics.Operation("")}
	for n := range api.Table {
		name := api.Table[n].ID
		operations[name] = i.metrics.Operation(name)
	}
	return func(o api.Observation) { operations[o.Operation].Count(o.Status, o.Code, o.Duration) }
}

// measure registers the metrics and the conditions of the instance's parts.
func (i *Instance) measure() {
	i.readiness.Warn("writes", func(context.Context) error { return i.DB.Writes().Refused() })
	i.show(&i.files, "files", "kartei_files_reachable",
		"1 while the folder or the bucket of the files of documents is there, else 0.")
	i.show(&i.dates, "clock", "kartei_changes_dated_by_clock",
		"1 while no change is dated more than a minute later than this machine's clock, else 0.")
	if i.scanner.ping != nil {
		i.show(&i.scanner, "scanner", "kartei_scanner_reachable", "1 while the scan for malware answers, else 0.")
	}
	i.show(&i.reader, "reader", "kartei_reader_confined",
		"1 while the process that reads texts is confined by Landlock and seccomp, else 0.")
	i.metrics.Counter("kartei_text_processor_seconds_total", "Processor time that reading the texts of documents took.",
		func() float64 { return i.maker.Spent().Seconds() })
	i.metrics.Counter("kartei_text_waits_total",
		"Documents that waited because their organization had used up its reading time for the hour, counted each time.",
		func() float64 { return float64(i.maker.Waits()) })
	i.metrics.Counter("kartei_request_log_dropped_total", "Entries of the request log that were not written.",
		func() float64 { return float64(i.Log.Dropped()) })
	i.metrics.Counter("kartei_request_log_thinned_total",
		"Entries of refused, uncharged calls that were left out because too many came.",
		func() float64 { return float64(i.Log.Thinned()) })
	i.metrics.Counter("kartei_usage_lost_total",
		"Calls and deliveries that are in no count of usage, because the database took no writes for hours.",
		func() float64 { return float64(i.Log.Usage().Lost()) })
	i.metrics.Gauge("kartei_request_log_waiting", "Entries of the request log that wait to be written.",
		func() float64 { return float64(i.Log.Waits()) })
	i.metrics.Counter("kartei_limit_incidents_total",
		"Calls charged in this process's memory alone because the database could not be reached.",
		func() float64 { return float64(i.limits.Incidents()) })
	i.metrics.Gauge("kartei_db_writable", "1 while the database accepts writes, 0 from a refused write until the next stored one.",
		func() float64 {
			if i.DB.Writes().Refused() != nil {
				return 0
			}
			return 1
		})
	i.metrics.Counter("kartei_db_refused_writes_total",
		"Writes that were not stored because the database was full, read-only, broken or away.",
		func() float64 { return float64(i.DB.Writes().Total()) })
	i.metrics.Counter("kartei_db_statements_total", "Statements that this process sent to the database.",
		func() float64 { return float64(i.statements.Load()) })
	i.metrics.Counter("kartei_db_log_pages_total",
		"Pages that commits added to SQLite's write-ahead log; 0 on PostgreSQL.",
		func() float64 { return float64(i.logPages.Load()) })
	i.metrics.Gauge("kartei_transfers_in_flight", "Files in transit between clients and this process.",
		func() float64 { return float64(i.API.Transfers()) })
	i.measureRoom()
	i.measureTraces()
	i.measureJobs()
	i.measureWebhooks()
	moving := lately(i, func(ctx context.Context) (int64, error) { return search.Moving(ctx, i.DB) })
	i.metrics.Gauge("kartei_search_records_moving",
		"Long records whose words in the search index wait to be moved after a change of visibility or a deletion, of all replicas.",
		func() float64 { return float64(moving()) })
	i.metrics.Counter("kartei_last_uses_dropped_total", "Marks of a key's last use that were not written.",
		func() float64 { return float64(i.Directory.UsesDropped()) })
}

// measureRoom registers metrics with the room on the disk of the data folder. On PostgreSQL the
// database is elsewhere, but the folder may have the files of documents.
func (i *Instance) measureRoom() {
	room := func() (free, size uint64) {
		free, size, err := disk.Room(string(i.config.Store.DataDir))
		if err != nil { // the folder is away, which other metrics report
			return 0, 0
		}
		return free, size
	}
	i.metrics.Gauge("kartei_disk_free_bytes", "Free space on the disk of the data folder.", func() float64 {
		free, _ := room()
		return float64(free)
	})
	i.metrics.Gauge("kartei_disk_size_bytes", "Size of the disk of the data folder.", func() float64 {
		_, size := room()
		return float64(size)
	})
}

// depthAge is the time for which a count from the database is reused. Counting reads all jobs and
// all deliveries.
const depthAge = 10 * time.Second

// countPatience is the maximum time for which a scrape waits for a count. It is shorter than the
// write timeout of the operator's listener, for the case that the database hangs.
const countPatience = 5 * time.Second

// lately returns a function that returns the last result of count. If the result is older than
// depthAge, it calls count again. If count fails, the last result is returned, and /readyz reports
// the failure of the database. If count takes longer than countPatience, its result is for a later
// scrape.
func lately[T any](i *Instance, count func(context.Context) (T, error)) func() T {
	var mu sync.Mutex
	var last T
	var at time.Time
	var running chan struct{} // nil if count is not running
	run := func(done chan struct{}) {
		ctx, cancel := context.WithTimeout(context.Background(), depthAge)
		defer cancel()
		now := i.clock.Now()
		found, err := count(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			last, at = found, now
		}
		running = nil
		close(done)
	}
	begin := func() chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		if running == nil && i.migrated.Load() && i.clock.Now().Sub(at) >= depthAge {
			running = make(chan struct{})
			go run(running)
		}
		return running
	}
	return func() T {
		if done := begin(); done != nil {
			patience := time.NewTimer(countPatience)
			defer patience.Stop()
			select {
			case <-done:
			case <-patience.C:
			}
		}
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

// measureJobs registers metrics with the numbers and ages of the jobs in the database.
func (i *Instance) measureJobs() {
	look := lately(i, func(ctx context.Context) (counts []job.Count, err error) {
		err = i.DB.Read(ctx, func(tx db.Tx) error {
			counts, err = job.Counts(ctx, tx)
			return err
		})
		return counts, err
	})
	i.metrics.Gauges("kartei_jobs", "Jobs by kind and state (waiting, running, failed), of all replicas.",
		[]string{"kind", "state"}, func(set func(value float64, labels ...string)) {
			for _, c := range look() {
				set(float64(c.Count), c.Kind, c.State)
			}
		})
	i.metrics.Gauges("kartei_operation_age_seconds",
		"Time since the call of the oldest operation that has not ended, by type, of all replicas.", []string{"type"},
		func(set func(value float64, labels ...string)) {
			oldest := clock.Now(i.clock)
			for _, c := range look() {
				if c.Kind == document.MakeKind && c.State != "failed" {
					oldest = min(oldest, c.Created)
				}
			}
			set(clock.Now(i.clock).Sub(oldest).Seconds(), document.MakeKind)
		})
	i.metrics.Gauges("kartei_jobs_overdue_seconds",
		"Time since the first waiting job of a kind was due; 0 if there is none.", []string{"kind"},
		func(set func(value float64, labels ...string)) {
			for _, c := range look() {
				if c.State == "waiting" {
					set(max(0, clock.Now(i.clock).Sub(c.Oldest).Seconds()), c.Kind)
				}
			}
		})
}

// countedLimiter is a Limiter that counts the refusals of each policy in the metrics.
type countedLimiter struct {
	limit.Limiter
	metrics *telemetry.Metrics
}

// Take charges a call. If the call is refused, Take counts the refusal for each violated policy.
func (l countedLimiter) Take(ctx context.Context, c limit.Charge) (limit.Decision, error) {
	d, err := l.Limiter.Take(ctx, c)
	for _, policy := range d.Violated {
		l.metrics.Rejected(policy)
	}
	return d, err
}
