package dbtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
)

// across maps the beginning of a statement to the reason why it may ask all servers of a cluster.
// Such a statement does not name its organization.
var across = map[string]string{
	"select organization, task_id, due_at from reminders where look_at <= $1 order by look_at limit $2":                                                          "the look for tasks that are due: some of them along an index",
	"select organization, due_at from job_turns order by due_at limit $1":                                                                                        "the look for jobs: some turns along an index",
	"select kind, state, count(*), min(case when state = 'running' then started_at else due_at end), min(created_at), max(error) from jobs group by kind, state": "the operator's count of the jobs that there are, which are few",
	"select organization, id, kind, attempt, error, created_at, due_at from jobs where state = 'failed'":                                                         "the operator's list of what was given up, along an index that holds nothing else",
	"select count(*), coalesce(min(created_at), 0) from webhook_deliveries":                                                                                      "the operator's count of what waits",
	"select status, count(*) from webhook_endpoints group by status":                                                                                             "the operator's count of endpoints",
	"select count(*), coalesce(min(first), 0) from (select":                                                                                                      "the operator's count of endpoints that are behind",
	"select organization, id, due_at from webhook_endpoints where due_at > 0 and (due_at, organization, id) > ($1, $2, $3)":                                      "the look for deliveries that are due, along an index",
	"select e.organization, e.id, c.tick from webhook_endpoints as e join clocks as c on c.organization = e.organization":                                        "the look for endpoints that have events nobody told of, of which each server has its own",
	"select organization, family from search_moves group by organization, family":                                                                                "the look for words that are left to move, which are none or few",
	"select count(*) from (select distinct organization, family, created from search_moves":                                                                      "the operator's count of the same",
	"select coalesce(max(tick), 0) from clocks":                                                                                                                  "the newest date of a change, of a row for each organization",
	"select a.organization, a.subject, a.state from":                                                                                                             "usage of many organizations, which the statement names; on a cluster each has a transaction of its own",
	"insert into limits (organization, subject, state, updated_at) select":                                                                                       "the same",
	"select organization from jobs where state = 'failed' and id = $1":                                                                                           "an operator names a job that was given up by its id",
}

// rewriting maps the beginning of a statement to its purpose. Only these statements may change or
// delete rows of the audit log.
var rewriting = map[string]string{
	"update audit_lines set address = '' where organization = $1 and id in (":                                                                           "the addresses of an erased person",
	"update audit_lines set changes = $3 where organization = $1 and id = $2":                                                                           "the networks of keys of an erased person",
	"delete from audit_lines where organization = $1 and (id) in (select id from audit_lines where organization = $1 and at < $2 order by at limit $3)": "the retention",
	"delete from audit_lines where organization = $1 and (id) in (select id from audit_lines where organization = $1 limit $2)":                         "the erasure of an organization",
}

// record has the distinct statements that the product sent during the tests of this process. It
// leaves out statements that tests sent themselves.
type record struct {
	mu         sync.Mutex
	statements map[string]bool
}

var said = &record{statements: map[string]bool{}}

func (r *record) note(query string) {
	r.mu.Lock()
	known := r.statements[query]
	r.mu.Unlock()
	if known || leftOut() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements[query] = true
}

// leftOut reports whether a test or a test helper sent the statement: the first caller outside
// store/db and the schema is a test or a helper. Statements of store/db/move are left out too.
func leftOut() bool {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		switch {
		case strings.HasSuffix(frame.File, "_test.go"), strings.HasPrefix(frame.Function,
			"kartei/test/apitest."), strings.HasPrefix(frame.Function, "kartei/test/dbtest."):
			if !strings.HasPrefix(frame.Function, "kartei/test/dbtest.(*record)") {
				return true
			}
		case strings.HasPrefix(frame.Function, "kartei/store/db/move."):
			// It reads and writes whole tables, and no server runs meanwhile.
			return true
		case !strings.HasPrefix(frame.Function, "kartei/store/db.") &&
			!strings.HasPrefix(frame.Function, "kartei/store/db/") &&
			!strings.HasPrefix(frame.Function, "kartei/store/schema."):
			return false
		}
		if !more {
			return false
		}
	}
}

// complaints returns an error text for each recorded statement that breaks a rule.
func (r *record) complaints() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.statements) == 0 {
		return nil
	}
	tables, err := spreadTables()
	if err != nil {
		return []string{err.Error()}
	}
	var list []string
	for _, query := range slices.Sorted(maps.Keys(r.statements)) {
		if wrong := Unspread(query, tables); wrong != "" && excuse(query, across) == "" {
			list = append(list, fmt.Sprintf("dbtest: %s: %s", wrong, query))
		}
		if Rewrites(query) && excuse(query, rewriting) == "" {
			list = append(list, fmt.Sprintf("dbtest: changes or deletes lines of the audit log: %s", query))
		}
	}
	return list
}

// excuse returns the reason for the statement in excused, or "" if it has none.
func excuse(query string, excused map[string]string) string {
	query = plainSpaces(query)
	for begins, reason := range excused {
		if strings.HasPrefix(query, begins) {
			return reason
		}
	}
	return ""
}

// spreadTables returns the tables in which each row belongs to one organization.
func spreadTables() (names []string, err error) {
	template, err := sqliteTemplate()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kartei-tables-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "kartei.db")
	if err := os.WriteFile(path, template, 0o600); err != nil {
		return nil, err
	}
	ctx := context.Background()
	d, err := open.Database(ctx, "sqlite:"+path, db.Options{NoSync: true, Readers: 1})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	tables, err := schema.Tables(ctx, d)
	for _, t := range tables {
		if schema.Whole[t.Name] == "" {
			names = append(names, t.Name)
		}
	}
	return names, err
}

var (
	modifyingCTE = regexp.MustCompile(`\bas (not )?(materialized )?\((insert|update|delete)\b`)
	claiming     = regexp.MustCompile(`\bskip locked\b`)
	named        = regexp.MustCompile(`\b(?:\w+\.)?organization = (?:\$\d+|(?:\w+\.)?organization\b)`)
	arms         = regexp.MustCompile(`\b(?:union all|union|except|intersect)\b`)
	inserting    = regexp.MustCompile(`\b(?:insert into|copy) (\w+) \(([^)]*)\)`)
)

// rewrites matches statements that change or delete rows of the audit log.
var rewrites = regexp.MustCompile(`\b(?:update(?: or \w+)?|delete from|truncate(?: table)?|replace into|or replace into|merge into)(?: only)? "?audit_lines\b|\binto "?audit_lines\b.* on conflict\b`)

// Rewrites reports whether a statement changes or deletes rows of the audit log.
func Rewrites(query string) bool { return rewrites.MatchString(strings.ToLower(plainSpaces(query))) }

// Unspread returns why a statement cannot run on the one server of a cluster that has the
// organization's rows, or "". tables are the distributed tables.
//
// Each select, even a nested one, must compare the column organization by equality for each
// distributed table that it reads. It may compare with a parameter, or with the same column of
// another table. An insert must give the organization. A with clause must not write, and no
// statement may skip locked rows.
func Unspread(query string, tables []string) string {
	query = plainSpaces(query)
	switch {
	case modifyingCTE.MatchString(query):
		return "a write within a with"
	case claiming.MatchString(query):
		return "a claim that passes over rows that others hold"
	}
	uses, whole := using(tables), using(slices.Collect(maps.Keys(schema.Whole)))
	for _, part := range parts(query) {
		need := len(uses.FindAllString(part+" ", -1))
		if need > 0 && whole.MatchString(part+" ") {
			return "joins what is spread with what stays whole"
		}
		have := len(named.FindAllString(part, -1))
		if m := inserting.FindStringSubmatch(part); m != nil && slices.Contains(tables, m[1]) {
			if !slices.Contains(strings.Split(m[2], ", "), "organization") {
				return "an insert without organization"
			}
			have++
		}
		if have < need {
			return "does not name its organization by equality"
		}
	}
	return ""
}

// using returns a pattern that matches each place where a statement names one of the tables.
func using(tables []string) *regexp.Regexp {
	return regexp.MustCompile(`(?:\bfrom |\bjoin |\bupdate |\binto |\bcopy |, )(` + strings.Join(tables, "|") +
		`)\b(?: |$|\))`)
}

// parts splits a statement into its selects. Each part lacks the selects nested in it.
func parts(query string) []string {
	var all []string
	open := []*strings.Builder{{}}
	within := []bool{true} // whether the parentheses contain a part of their own
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '(':
			own := strings.HasPrefix(query[i+1:], "select ") || strings.HasPrefix(query[i+1:], "(select ") ||
				strings.HasPrefix(query[i+1:], "values ")
			if within = append(within, own); own {
				open[len(open)-1].WriteString("()")
				open = append(open, &strings.Builder{})
			} else {
				open[len(open)-1].WriteByte('(')
			}
		case c == ')' && len(within) > 1:
			own := within[len(within)-1]
			if within = within[:len(within)-1]; own {
				all = append(all, arms.Split(open[len(open)-1].String(), -1)...)
				open = open[:len(open)-1]
			} else {
				open[len(open)-1].WriteByte(')')
			}
		default:
			open[len(open)-1].WriteByte(c)
		}
	}
	return append(all, arms.Split(open[0].String(), -1)...)
}

func plainSpaces(query string) string {
	query = strings.Join(strings.Fields(query), " ")
	return strings.NewReplacer("( ", "(", " )", ")").Replace(query)
}
