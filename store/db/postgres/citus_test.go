package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestWorkerLostAtCommit checks a worker of a Citus cluster that dies during its commit. The
// coordinator does not know the outcome, so the change is neither acknowledged nor repeated.
func TestWorkerLostAtCommit(t *testing.T) {
	url := dbtest.Citus(t)
	d := dbtest.Open(t, url, db.Options{Writers: 2})
	dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 0)")
	var shard, node string
	dbtest.Get(t, d, []any{
		&shard, &node,
	}, "select shard_name, nodename from citus_shards where shardid = get_shard_id_for_distribution_column('events', 1)")
	for _, worker := range dbtest.CitusWorkers(t, url) {
		if !strings.Contains(worker, node) {
			continue
		}
		conn, err := pgx.Connect(ctx, worker)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		for _, statement := range []string{
			"set citus.enable_ddl_propagation = off",
			"set citus.enable_manual_changes_to_shards = on",
			"create function die() returns trigger language plpgsql as 'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'",
			"create constraint trigger late after insert on " + shard +
				" deferrable initially deferred for each row execute function die()",
		} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tries := range []string{"supposing", "asking"} {
		calls := 0
		err := d.WriteIn(ctx, 1, func(tx db.Tx) error {
			calls++
			tick, err := tx.Tick(ctx, 1, 1000)
			if err != nil {
				return err
			}
			if tries == "asking" { // sends the pending statements
				if err := tx.QueryRow(ctx, "select 1 from clocks where organization = 1").Scan(new(int)); err != nil {
					return err
				}
			}
			tx.Queue("insert into events (organization, tick, id, type, object, record_id) values (1, $1, $2, '', '', '')",
				tick, fmt.Sprint(tick))
			return nil
		})
		if !errors.Is(err, db.ErrUnknownOutcome) || calls != 1 {
			t.Errorf("%s: %d calls, %v", tries, calls, err)
		}
	}
}
