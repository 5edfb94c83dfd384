package schema_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/dbtest"
)

// eachEmpty runs f for a database without tables on each engine.
func eachEmpty(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, "sqlite:"+filepath.Join(t.TempDir(), "kartei.db")) })
	t.Run("postgres", func(t *testing.T) { f(t, dbtest.EmptyPostgresURL(t)) })
}

func files(texts map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range texts {
		all[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)}
	}
	return all
}

func TestMigrateRunsTextOfTheEngine(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		d := dbtest.Open(t, url, db.Options{})
		set := files(map[string]string{
			"0001_a.sql": "create table a (n bigint);",
			"0002_b.sql": "create table b (/*sqlite: of_sqlite *//*postgres: of_postgres */ bigint);",
		})
		if state, err := schema.StatusFiles(ctx, d, set); err != nil || state != (schema.State{Version: 0, Latest: 2}) {
			t.Errorf("before: %+v, %v", state, err)
		}
		for range 2 { // the second call has nothing to do
			state, err := schema.MigrateFiles(ctx, d, set)
			if err != nil || !state.Current() || state.Version != 2 {
				t.Fatalf("%+v, %v", state, err)
			}
		}
		dbtest.Run(t, d, "insert into a (n) values (1)")
		dbtest.Run(t, d, "insert into b (of_"+d.Dialect().Name+") values (1)")
	})
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		d := dbtest.Open(t, url, db.Options{})
		texts := map[string]string{
			"0001_a.sql": "create table a (n bigint);",
			"0002_b.sql": "create table b (n bigint); insert into b (n) values (1); insert into nowhere (n) values (1);",
		}
		if _, err := schema.MigrateFiles(ctx, d, files(texts)); err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Fatalf("got %v", err)
		}
		state, err := schema.StatusFiles(ctx, d, files(texts))
		if err != nil || state.Version != 1 {
			t.Errorf("%+v, %v", state, err)
		}
		if err := dbtest.Exec(d, "insert into b (n) values (2)"); err == nil {
			t.Error("the failed migration left its table")
		}
		texts["0002_b.sql"] = "create table b (n bigint);"
		if _, err := schema.MigrateFiles(ctx, d, files(texts)); err != nil {
			t.Errorf("the repaired migration: %v", err)
		}
		dbtest.Run(t, d, "insert into b (n) values (2)")
	})
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		d := dbtest.Open(t, url, db.Options{})
		old := map[string]string{"0001_a.sql": "create table a (n bigint);"}
		both := map[string]string{"0001_a.sql": old["0001_a.sql"], "0002_b.sql": "create table b (n bigint);"}
		if _, err := schema.MigrateFiles(ctx, d, files(both)); err != nil {
			t.Fatal(err)
		}
		var newer *schema.NewerError
		if _, err := schema.MigrateFiles(ctx, d, files(old)); !errors.As(err, &newer) || newer.Version != 2 ||
			newer.Latest != 1 {
			t.Errorf("Migrate: %v", err)
		}
		if _, err := schema.StatusFiles(ctx, d, files(old)); !errors.As(err, &newer) ||
			!strings.Contains(err.Error(), "newer program") {
			t.Errorf("Status: %v", err)
		}
	})
}

// TestReplicasMigrateOnce checks that several replicas that start at the same time migrate only
// once.
func TestReplicasMigrateOnce(t *testing.T) {
	url := dbtest.EmptyPostgresURL(t)
	set := map[string]string{}
	for i := 1; i <= 5; i++ {
		// Each of these migrations fails if it is applied twice.
		set[fmt.Sprintf("%04d_t.sql", i)] = fmt.Sprintf("create table t%d (n bigint);", i)
	}
	set["0001_t.sql"] += "select pg_sleep(0.5);" // so that all replicas start before the first has finished
	var wait sync.WaitGroup
	start := make(chan struct{})
	for range 4 {
		d := dbtest.Open(t, url, db.Options{Readers: 1})
		wait.Add(1)
		go func() {
			defer wait.Done()
			<-start
			if state, err := schema.MigrateFiles(ctx, d, files(set)); err != nil || state.Version != 5 {
				t.Errorf("%+v, %v", state, err)
			}
		}()
	}
	close(start)
	wait.Wait()
}

// TestMigrateDuringCalls checks that open connections still work after a migration, and see its
// changes.
func TestMigrateDuringCalls(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Run(t, d, "create table things (n bigint not null primary key)")
		dbtest.Run(t, d, "insert into things (n) values (1)")
		set := fstest.MapFS{}
		// set has the migrations of Kartei and one more.
		err := fs.WalkDir(schema.Migrations(), ".", func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				text, err := fs.ReadFile(schema.Migrations(), path)
				set[path] = &fstest.MapFile{Data: text}
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		set["9000_more.sql"] = &fstest.MapFile{
			Data: []byte("-- +goose Up\nalter table things add column more bigint not null default 4;"),
		}
		if _, err := schema.MigrateFiles(ctx, d, set); err != nil {
			t.Fatal(err)
		}
		var n, more int
		dbtest.Get(t, d, []any{&n}, "select count(*) from things")
		dbtest.Get(t, d, []any{&more}, "select more from things")
		dbtest.Run(t, d, "insert into things (n) values (2)")
		if n != 1 || more != 4 {
			t.Error(n, more)
		}
	})
}

// TestMigrationFiles checks that migrations are numbered 0001, 0002 and so on. A text for one
// engine must begin with the name of an engine, because it is otherwise a comment on both.
func TestMigrationFiles(t *testing.T) {
	names, err := fs.Glob(schema.Migrations(), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	comments, known := regexp.MustCompile(`/\*\s*\w*`), []string{"/*sqlite", "/*postgres"}
	for i, name := range names { // sorted by name
		if want := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("%s: want a name that begins with %s", name, want)
		}
		text, err := fs.ReadFile(schema.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range comments.FindAllString(string(text), -1) {
			if !slices.Contains(known, found) {
				t.Errorf("%s: %s names no engine; a comment is written with --", name, found)
			}
		}
	}
}
