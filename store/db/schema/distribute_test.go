package db_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// apart opens a database under an application_name that no server has.
func apart(t *testing.T, url string) db.DB {
	t.Helper()
	joint := "?"
	if strings.Contains(url, "?") {
		joint = "&"
	}
	return dbtest.Open(t, url+joint+"application_name="+db.AloneName, db.Options{Readers: 2, Writers: 2})
}

// local returns the URL of a migrated database outside a cluster, even if the
// tests run on one.
func local(t *testing.T) string {
	t.Helper()
	url := dbtest.EmptyPostgresURL(t)
	if _, err := db.Migrate(ctx, apart(t, url)); err != nil {
		t.Fatal(err)
	}
	return url
}

var placing = regexp.MustCompile(`^select create_distributed_table\('(\w+)', 'organization', colocate_with => '(\w+)'\)$`)

// The statements follow the schema: one for each distributed table, in the
// order of the foreign keys, all colocated with the first.
func TestDistributeFollowsTheSchema(t *testing.T) {
	d := apart(t, local(t))
	tables, err := db.Tables(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	tables = slices.DeleteFunc(tables, func(t db.Table) bool { return db.Whole[t.Name] != "" })
	run(t, d, "create table of_another_program (n bigint)")
	run(t, d, "insert into clocks (organization, tick) values (1, 0)")
	how, err := db.Distribute(ctx, d, true, func(string) { t.Error("something was sent") })
	if err != nil {
		t.Fatal(err)
	}
	if len(how.Statements) <= len(tables) || how.Whole != len(db.Whole) || how.Spread != len(tables) {
		t.Fatalf("%d whole, %d spread, %d statements for %d tables", how.Whole, how.Spread, len(how.Statements), len(tables))
	}
	with := "none"
	for i, table := range tables {
		if m := placing.FindStringSubmatch(how.Statements[i]); m == nil || m[1] != table.Name || m[2] != with {
			t.Errorf("for %s with %s: %s", table.Name, with, how.Statements[i])
		}
		with = tables[0].Name
	}
	// Existing rows are removed from their former place.
	want := []string{"select truncate_local_data_after_distributing_table('clocks')"}
	if got := how.Statements[len(tables):]; !slices.Equal(got, want) {
		t.Errorf("then %q", got)
	}
}

// A database that cannot be distributed is refused, with the remedy in the
// message.
func TestDistributeRefuses(t *testing.T) {
	served := local(t)
	run(t, dbtest.Open(t, served, db.Options{}), "delete from generations") // the pool keeps its connection
	plain := local(t)
	for _, c := range []struct {
		name, want string
		d          db.DB
	}{
		{"sqlite", "kartei copy", dbtest.SQLite(t)},
		{"not migrated", "run kartei migrate first", apart(t, dbtest.EmptyPostgresURL(t))},
		{"no extension", "create extension citus", apart(t, plain)},
		{"pooler", "URL that leads to the coordinator", apart(t, plain+"&default_query_exec_mode=exec")},
	} {
		_, err := db.Distribute(ctx, c.d, false, nil)
		if !errors.Is(err, db.ErrNotDistributable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := db.Distribute(ctx, apart(t, served), false, nil); err == nil || !strings.Contains(err.Error(), "in use by a Kartei server") {
		t.Errorf("while a server runs: %v", err)
	}
	if how, err := db.Distribute(ctx, apart(t, served), true, nil); err != nil || !strings.Contains(how.Before, "create extension") {
		t.Errorf("looking only: %v, before %q", err, how.Before)
	}
}

func TestDistributeRefusesClusters(t *testing.T) {
	url := dbtest.Citus(t)
	lone := apart(t, dbtest.LoneCitus(t))
	if _, err := db.Migrate(ctx, lone); err != nil {
		t.Fatal(err)
	}
	otherwise := apart(t, dbtest.EmptyCitus(t))
	if _, err := db.Migrate(ctx, otherwise); err != nil {
		t.Fatal(err)
	}
	run(t, otherwise, "select create_distributed_table('contacts', 'organization')")
	run(t, otherwise, "select create_reference_table('events')")
	for _, c := range []struct {
		name, want string
		d          db.DB
	}{
		{"no worker", "citus_add_node", lone},
		{"on a worker", "use the URL of the coordinator", apart(t, dbtest.CitusWorkers(t, url)[0])},
		{"spread by hand", "undistribute_table('events')", otherwise},
	} {
		_, err := db.Distribute(ctx, c.d, false, nil)
		if !errors.Is(err, db.ErrNotDistributable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Afterwards all rows are on the right servers and none is left behind. A
// second run changes nothing.
func TestDistribute(t *testing.T) {
	url := dbtest.EmptyCitus(t)
	d := apart(t, url)
	if _, err := db.Migrate(ctx, d); err != nil {
		t.Fatal(err)
	}
	fill(t, d, 200)
	before := described(t, d)
	how, err := db.Distribute(ctx, d, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if how.Nodes != 2 || how.Spread == 0 || how.Whole != len(db.Whole) || len(how.Statements) != 2*how.Spread {
		t.Errorf("%+v", how)
	}
	if after := described(t, d); after != before {
		t.Errorf("the tables were\n%s\nand are\n%s", before, after)
	}
	if left := texts(t, d, "select logicalrelid::text from pg_dist_partition where pg_relation_size(logicalrelid) > 0"); len(left) > 0 {
		t.Errorf("rows are left in %v", left)
	}
	if servers := texts(t, d, "select distinct nodename from citus_shards where table_name = 'contacts'::regclass and shard_size > 8192 * 2"); len(servers) != 2 {
		t.Errorf("the contacts are on %v", servers)
	}
	for _, dry := range []bool{true, false} {
		if again, err := db.Distribute(ctx, d, dry, nil); err != nil || len(again.Statements) != 0 || again.Spread != how.Spread || again.Whole != how.Whole {
			t.Errorf("a second time: %+v, %v", again, err)
		}
	}
}

// described returns the columns, keys and row counts of all tables.
func described(t *testing.T, d db.DB) string {
	t.Helper()
	tables, err := db.Tables(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, table := range tables {
		for _, keys := range [][][]string{table.Uniques, table.Foreign} {
			slices.SortFunc(keys, slices.Compare)
		}
		fmt.Fprintf(&all, "%+v: %d rows\n", table, countIn(t, d, table.Name))
	}
	return all.String()
}

// A run that was interrupted before any statement is completed by the next one.
func TestDistributeGoesOn(t *testing.T) {
	for _, after := range []int{1, 8, 13, 20} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			d := apart(t, dbtest.EmptyCitus(t))
			if _, err := db.Migrate(ctx, d); err != nil {
				t.Fatal(err)
			}
			fill(t, d, 20)
			before := described(t, d)
			broken, cut := context.WithCancel(ctx)
			defer cut()
			sent := 0
			if _, err := db.Distribute(broken, d, false, func(string) {
				if sent++; sent > after {
					cut()
				}
			}); err == nil {
				t.Fatal("it was not broken off")
			}
			rest, err := db.Distribute(ctx, d, false, nil)
			if err != nil || len(rest.Statements) == 0 {
				t.Fatalf("%+v, %v", rest, err)
			}
			if now := described(t, d); now != before {
				t.Errorf("the tables were\n%s\nand are\n%s", before, now)
			}
			if left, err := db.Distribute(ctx, d, true, nil); err != nil || len(left.Statements) != 0 {
				t.Errorf("still to do: %v, %v", left.Statements, err)
			}
		})
	}
}

// migrations returns those up to a version.
func migrations(t *testing.T, last int) fstest.MapFS {
	t.Helper()
	set := fstest.MapFS{}
	names, err := fs.Glob(db.Migrations(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		number, err := strconv.Atoi(name[:4])
		if err != nil {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(db.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		if number <= last {
			set[name] = &fstest.MapFile{Data: text}
		}
	}
	return set
}

// A database that was distributed at version 1 reaches the latest version: a
// cluster accepts every migration since then.
func TestMigrateSinceDistributed(t *testing.T) {
	const first = 1
	d := apart(t, dbtest.EmptyCitus(t))
	older := migrations(t, first)
	if _, err := db.MigrateFiles(ctx, d, older); err != nil {
		t.Fatal(err)
	}
	run(t, d, "select create_distributed_table('clocks', 'organization', colocate_with => 'none')")
	if _, err := db.MigrateFiles(ctx, d, older); err != nil { // it distributes the other tables
		t.Fatal(err)
	}
	if schema, err := db.Migrate(ctx, d); err != nil || !schema.Current() {
		t.Fatalf("%+v, %v", schema, err)
	}
	if left, err := db.Distribute(ctx, d, true, nil); err != nil || len(left.Statements) != 0 || left.Spread == 0 {
		t.Errorf("still to do: %+v, %v", left, err)
	}
}

// Later migrations change the shards, fill new tables from old ones, and
// distribute them. Several servers may start at the same time.
func TestMigrateDistributed(t *testing.T) {
	url := dbtest.Citus(t)
	d := apart(t, url)
	fill(t, d, 100)
	set := migrations(t, 9000)
	set["9000_more.sql"] = &fstest.MapFile{Data: []byte(`-- +goose Up
		create table aliases (organization bigint not null, id text not null, name text not null, primary key (organization, id));
		create index aliases_name on aliases (organization, name);
		insert into aliases select organization, id, 'a' from contacts;
		alter table contacts add column alias text;
		update contacts set alias = id where deleted = false;
		create index contacts_alias on contacts (organization, alias) where alias is not null;
		alter table principals add column alias text;
		drop table visibility_losses;`)}
	again := apart(t, url)
	failed := make(chan error)
	for _, d := range []db.DB{d, again} {
		go func() {
			_, err := db.MigrateFiles(ctx, d, set)
			failed <- err
		}()
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	var aliases, contacts, indexes, spread int
	get(t, d, []any{&aliases}, "select count(*) from aliases")
	get(t, d, []any{&contacts}, "select count(*) from contacts where alias is not null or deleted = true")
	get(t, d, []any{&spread}, "select count(distinct colocationid) + 10 * count(*) from pg_dist_partition where logicalrelid in ('aliases'::regclass, 'contacts'::regclass)")
	get(t, d, []any{&indexes}, "select count(*) from pg_indexes where indexname in ('aliases_name', 'contacts_alias')")
	if aliases != 100 || contacts != 100 || indexes != 2 || spread != 21 {
		t.Errorf("%d aliases, %d contacts, %d indexes, spread %d", aliases, contacts, indexes, spread)
	}
}

// If a worker dies during its commit, the coordinator does not know the
// outcome. So the change is neither acknowledged nor repeated.
func TestWorkerLostAtCommit(t *testing.T) {
	url := dbtest.Citus(t)
	d := dbtest.Open(t, url, db.Options{Writers: 2})
	run(t, d, "insert into clocks (organization, tick) values (1, 0)")
	var shard, node string
	get(t, d, []any{&shard, &node}, "select shard_name, nodename from citus_shards where shardid = get_shard_id_for_distribution_column('events', 1)")
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
			"create constraint trigger late after insert on " + shard + " deferrable initially deferred for each row execute function die()",
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
			tick, err := db.Tick(ctx, tx, 1, 1000)
			if err != nil {
				return err
			}
			if tries == "asking" { // sends the pending statements
				if err := tx.QueryRow(ctx, "select 1 from clocks where organization = 1").Scan(new(int)); err != nil {
					return err
				}
			}
			tx.Queue("insert into events (organization, tick, id, type, object, record_id) values (1, $1, $2, '', '', '')", tick, fmt.Sprint(tick))
			return nil
		})
		if !errors.Is(err, db.ErrUnknownOutcome) || calls != 1 {
			t.Errorf("%s: %d calls, %v", tries, calls, err)
		}
	}
}
