package schema_test

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

	"kartei/store/db"
	"kartei/store/db/postgres"
	"kartei/store/schema"
	"kartei/test/dbtest"
)

// apart opens a database under an application_name that servers of Kartei do not use.
func apart(t *testing.T, url string) db.DB {
	t.Helper()
	joint := "?"
	if strings.Contains(url, "?") {
		joint = "&"
	}
	return dbtest.Open(t, url+joint+"application_name="+postgres.AloneName, db.Options{Readers: 2, Writers: 2})
}

// local returns the URL of a migrated database outside a cluster, even if the tests run on a
// cluster.
func local(t *testing.T) string {
	t.Helper()
	url := dbtest.EmptyPostgresURL(t)
	if _, err := schema.Migrate(ctx, apart(t, url)); err != nil {
		t.Fatal(err)
	}
	return url
}

var placing = regexp.MustCompile(`^select create_distributed_table\('(\w+)', 'organization', colocate_with => '(\w+)'\)$`)

// TestDistributeFollowsTheSchema checks that there is one statement for each distributed table, in
// the order of the foreign keys. All tables must be colocated with the first.
func TestDistributeFollowsTheSchema(t *testing.T) {
	d := apart(t, local(t))
	tables, err := schema.Tables(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	tables = slices.DeleteFunc(tables, func(t schema.Table) bool { return schema.Whole[t.Name] != "" })
	dbtest.Run(t, d, "create table of_another_program (n bigint)")
	dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 0)")
	how, err := schema.Distribute(ctx, d, true, func(string) { t.Error("something was sent") })
	if err != nil {
		t.Fatal(err)
	}
	if len(how.Statements) <= len(tables) || how.Whole != len(schema.Whole) || how.Spread != len(tables) {
		t.Fatalf("%d whole, %d spread, %d statements for %d tables", how.Whole, how.Spread, len(how.Statements), len(tables))
	}
	with := "none"
	for i, table := range tables {
		if m := placing.FindStringSubmatch(how.Statements[i]); m == nil || m[1] != table.Name || m[2] != with {
			t.Errorf("for %s with %s: %s", table.Name, with, how.Statements[i])
		}
		with = tables[0].Name
	}
	// Existing rows are removed from the local table.
	want := []string{"select truncate_local_data_after_distributing_table('clocks')"}
	if got := how.Statements[len(tables):]; !slices.Equal(got, want) {
		t.Errorf("then %q", got)
	}
}

// TestDistributeRefuses checks that Distribute refuses a database that cannot be distributed. The
// message must say what to do.
func TestDistributeRefuses(t *testing.T) {
	served := local(t)
	dbtest.Run(t, dbtest.Open(t, served, db.Options{}), "delete from generations") // the pool keeps its connection
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
		_, err := schema.Distribute(ctx, c.d, false, nil)
		if !errors.Is(err, schema.ErrNotDistributable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := schema.Distribute(ctx, apart(t, served), false, nil); err == nil ||
		!strings.Contains(err.Error(), "in use by a Kartei server") {
		t.Errorf("while a server runs: %v", err)
	}
	if how, err := schema.Distribute(ctx, apart(t, served), true, nil); err != nil ||
		!strings.Contains(how.Before, "create extension") {
		t.Errorf("looking only: %v, before %q", err, how.Before)
	}
}

func TestDistributeRefusesClusters(t *testing.T) {
	url := dbtest.Citus(t)
	lone := apart(t, dbtest.LoneCitus(t))
	if _, err := schema.Migrate(ctx, lone); err != nil {
		t.Fatal(err)
	}
	otherwise := apart(t, dbtest.EmptyCitus(t))
	if _, err := schema.Migrate(ctx, otherwise); err != nil {
		t.Fatal(err)
	}
	dbtest.Run(t, otherwise, "select create_distributed_table('contacts', 'organization')")
	dbtest.Run(t, otherwise, "select create_reference_table('events')")
	for _, c := range []struct {
		name, want string
		d          db.DB
	}{
		{"no worker", "citus_add_node", lone},
		{"on a worker", "use the URL of the coordinator", apart(t, dbtest.CitusWorkers(t, url)[0])},
		{"spread by hand", "undistribute_table('events')", otherwise},
	} {
		_, err := schema.Distribute(ctx, c.d, false, nil)
		if !errors.Is(err, schema.ErrNotDistributable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestDistribute checks that all rows are on the right servers after Distribute, and that no local
// row is left. A second call must change nothing.
func TestDistribute(t *testing.T) {
	url := dbtest.EmptyCitus(t)
	d := apart(t, url)
	if _, err := schema.Migrate(ctx, d); err != nil {
		t.Fatal(err)
	}
	dbtest.Fill(t, d, 200)
	before := described(t, d)
	how, err := schema.Distribute(ctx, d, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if how.Nodes != 2 || how.Spread == 0 || how.Whole != len(schema.Whole) || len(how.Statements) != 2*how.Spread {
		t.Errorf("%+v", how)
	}
	if after := described(t, d); after != before {
		t.Errorf("the tables were\n%s\nand are\n%s", before, after)
	}
	if left := dbtest.Texts(t, d, "select logicalrelid::text from pg_dist_partition where pg_relation_size(logicalrelid) > 0"); len(left) > 0 {
		t.Errorf("rows are left in %v", left)
	}
	if servers := dbtest.Texts(t, d, "select distinct nodename from citus_shards where table_name = 'contacts'::regclass and shard_size > 8192 * 2"); len(servers) != 2 {
		t.Errorf("the contacts are on %v", servers)
	}
	for _, dry := range []bool{true, false} {
		if again, err := schema.Distribute(ctx, d, dry, nil); err != nil || len(again.Statements) != 0 ||
			again.Spread != how.Spread || again.Whole != how.Whole {
			t.Errorf("a second time: %+v, %v", again, err)
		}
	}
}

// described returns the columns, keys and numbers of rows of all tables.
func described(t *testing.T, d db.DB) string {
	t.Helper()
	tables, err := schema.Tables(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, table := range tables {
		for _, keys := range [][][]string{table.Uniques, table.Foreign} {
			slices.SortFunc(keys, slices.Compare)
		}
		fmt.Fprintf(&all, "%+v: %d rows\n", table, dbtest.Count(t, d, table.Name))
	}
	return all.String()
}

// TestDistributeResumes checks that another call completes an interrupted call, whichever statement
// was the last.
func TestDistributeResumes(t *testing.T) {
	for _, after := range []int{1, 8, 13, 20} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			d := apart(t, dbtest.EmptyCitus(t))
			if _, err := schema.Migrate(ctx, d); err != nil {
				t.Fatal(err)
			}
			dbtest.Fill(t, d, 20)
			before := described(t, d)
			broken, cut := context.WithCancel(ctx)
			defer cut()
			sent := 0
			if _, err := schema.Distribute(broken, d, false, func(string) {
				if sent++; sent > after {
					cut()
				}
			}); err == nil {
				t.Fatal("it was not broken off")
			}
			rest, err := schema.Distribute(ctx, d, false, nil)
			if err != nil || len(rest.Statements) == 0 {
				t.Fatalf("%+v, %v", rest, err)
			}
			if now := described(t, d); now != before {
				t.Errorf("the tables were\n%s\nand are\n%s", before, now)
			}
			if left, err := schema.Distribute(ctx, d, true, nil); err != nil || len(left.Statements) != 0 {
				t.Errorf("still to do: %v, %v", left.Statements, err)
			}
		})
	}
}

// migrations returns the migrations up to a version.
func migrations(t *testing.T, last int) fstest.MapFS {
	t.Helper()
	set := fstest.MapFS{}
	names, err := fs.Glob(schema.Migrations(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		number, err := strconv.Atoi(name[:4])
		if err != nil {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(schema.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		if number <= last {
			set[name] = &fstest.MapFile{Data: text}
		}
	}
	return set
}

// TestMigrateSinceDistributed checks that a database that was distributed at version 1 can be
// migrated to the latest version on a cluster.
func TestMigrateSinceDistributed(t *testing.T) {
	const first = 1
	d := apart(t, dbtest.EmptyCitus(t))
	older := migrations(t, first)
	if _, err := schema.MigrateFiles(ctx, d, older); err != nil {
		t.Fatal(err)
	}
	dbtest.Run(t, d, "select create_distributed_table('clocks', 'organization', colocate_with => 'none')")
	if _, err := schema.MigrateFiles(ctx, d, older); err != nil { // distributes the other tables
		t.Fatal(err)
	}
	if state, err := schema.Migrate(ctx, d); err != nil || !state.Current() {
		t.Fatalf("%+v, %v", state, err)
	}
	if left, err := schema.Distribute(ctx, d, true, nil); err != nil || len(left.Statements) != 0 || left.Spread == 0 {
		t.Errorf("still to do: %+v, %v", left, err)
	}
}

// TestMigrateDistributed checks that later migrations can change distributed tables, fill new
// tables from old ones and distribute the new tables. Several servers may start at the same time.
func TestMigrateDistributed(t *testing.T) {
	url := dbtest.Citus(t)
	d := apart(t, url)
	dbtest.Fill(t, d, 100)
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
			_, err := schema.MigrateFiles(ctx, d, set)
			failed <- err
		}()
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	var aliases, contacts, indexes, spread int
	dbtest.Get(t, d, []any{&aliases}, "select count(*) from aliases")
	dbtest.Get(t, d, []any{&contacts}, "select count(*) from contacts where alias is not null or deleted = true")
	dbtest.Get(t, d, []any{
		&spread,
	}, "select count(distinct colocationid) + 10 * count(*) from pg_dist_partition where logicalrelid in ('aliases'::regclass, 'contacts'::regclass)")
	dbtest.Get(t, d, []any{
		&indexes,
	}, "select count(*) from pg_indexes where indexname in ('aliases_name', 'contacts_alias')")
	if aliases != 100 || contacts != 100 || indexes != 2 || spread != 21 {
		t.Errorf("%d aliases, %d contacts, %d indexes, spread %d", aliases, contacts, indexes, spread)
	}
}
