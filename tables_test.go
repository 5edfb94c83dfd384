package kartei_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shared are the tables that several packages write, with the reason. No table may be added. If
// only one package writes a listed table, the test fails too. The empty name stands for statements
// that are built with the name of a table.
var shared = map[string]sharedTable{
	"": {"instance/erasure store/db/move", "the erasure of an organization, and a copy, go through all tables"},
	"accounts": {
		"access people/account people/signin",
		"the erasure of accounts without a person, and a new master key, are not acts of an account",
	},
	"api_keys":    {"access integration/key", "the path notes the last use, and pauses a key at its limit"},
	"audit_lines": {"people/audit people/offboarding", "a job hides the addresses of an erased person"},
	"clocks": {
		"people/organization store/db/internal/engine store/db/postgres",
		"an organization begins with a clock, a transaction takes its tick, and one on PostgreSQL may assume it",
	},
	"devices": {
		"instance people/signin", "a restored database begins with these endings, before a server reads it",
	},
	"invitations": {
		"instance people/invitation",
		"a restored database begins with these endings, before a server reads it",
	},
	"oauth_grants": {
		"access instance integration/grant",
		"the path notes the last use, and the end of sessions ends codes; a restored database begins with these endings, before a server reads it",
	},
	"organizations": {"access people/organization", "the worker that erases an organization marks it"},
	"recents": {
		"people/offboarding record/lookup",
		"what an erased person opened is forgotten; both stand on one floor",
	},
	"recovery_codes": {
		"instance people/account", "a restored database begins with these endings, before a server reads it",
	},
	"request_log": {"integration/requestlog people/offboarding", "a job hides the addresses of an erased person"},
	"sessions":    {"access instance", "a restored database begins with these endings, before a server reads it"},
	"settings": {
		"instance store/db/move store/setting",
		"a copy gets a name of its own; a restored database begins with these endings, before a server reads it",
	},
	"sign_in_tickets": {
		"instance people/signin", "a restored database begins with these endings, before a server reads it",
	},
	"webhook_attempts":   {"integration/dispatch integration/webhook", "the dispatcher notes each attempt"},
	"webhook_deliveries": {"integration/dispatch integration/webhook", "the dispatcher notes the state of each delivery"},
	"webhook_endpoints": {
		"integration/dispatch integration/webhook",
		"the dispatcher notes how an endpoint does, and disables it",
	},
}

// sharedTable has the packages that write a table, separated by spaces, and the reason.
type sharedTable struct {
	writers string
	why     string
}

var (
	createsTable = regexp.MustCompile(`(?im)^create table (?:if not exists )?(\w+)`)
	// writesTable matches the beginning of a statement that writes. The name of the table is empty
	// if the code inserts it into the statement.
	writesTable = regexp.MustCompile(`(?i)\b(?:insert(?: or \w+)? into|delete from|update)\s+(?:only\s+)?(\w*)`)
)

// tables returns the names of all tables in the schema.
func tables(t *testing.T) map[string]bool {
	t.Helper()
	migrations, err := filepath.Glob("store/schema/migrations/*.sql")
	if err != nil || len(migrations) == 0 {
		t.Fatalf("%d migrations: %v", len(migrations), err)
	}
	found := map[string]bool{}
	for _, name := range migrations {
		migration, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range createsTable.FindAllStringSubmatch(string(migration), -1) {
			found[m[1]] = true
		}
	}
	return found
}

// writers returns the packages that write each table, found by their SQL texts. Packages that
// insert the name of a table into a statement have the empty name.
func writers(t *testing.T, known map[string]bool) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || fitsAny(name+"/", helpers)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || fitsAny(path.Dir(name), helpers) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, is := n.(*ast.BasicLit)
			if !is || literal.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(literal.Value)
			for _, at := range writesTable.FindAllStringSubmatchIndex(text, -1) {
				table := strings.ToLower(text[at[2]:at[3]])
				if table == "" && at[1] != len(text) || table != "" && !known[table] {
					continue
				}
				if found[table] == nil {
					found[table] = map[string]bool{}
				}
				found[table][path.Dir(name)] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestOnePackageWritesATable checks that only one package writes each table, or else exactly the
// packages in shared.
func TestOnePackageWritesATable(t *testing.T) {
	known := tables(t)
	found := writers(t, known)
	if len(known) < 50 || len(found) < 50 {
		t.Fatalf("only %d tables and %d written ones were found", len(known), len(found))
	}
	for table, packages := range found {
		names := strings.Join(slices.Sorted(maps.Keys(packages)), " ")
		if len(packages) > 1 && shared[table].writers != names {
			t.Errorf("%s is written by %s: one package writes a table, others call its functions", table, names)
		}
	}
	for table, s := range shared {
		if names := strings.Join(slices.Sorted(maps.Keys(found[table])), " "); names != s.writers ||
			len(found[table]) < 2 || s.why == "" {
			t.Errorf("shared says that %s is written by %s: it is written by %q", table, s.writers, names)
		}
	}
}
