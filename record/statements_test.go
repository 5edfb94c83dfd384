package record_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/release"
	records "kartei/record"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

var write = flag.Bool("write", false, "write the statements of the families into testdata/statements (make docs)")

// TestStatements checks that each kind of call sends the SQL in testdata/statements. The files
// have the statements of package record and its callees in their order.
func TestStatements(t *testing.T) {
	apitest.Alone(t)
	dbtest.EachURL(t, func(t *testing.T, address string) {
		var heard listener
		served := release.VersionsIn("rc") // with all filters
		d := dbtest.Open(t, address, db.Options{Readers: 2, Writers: 2, Stated: heard.note})
		office := apitest.New(t, d, apitest.Replicas(1), apitest.Versions(served...))
		for _, family := range []func(*story){theContacts, theCompanies, theTasks, theDocuments} {
			s := &story{
				listener: &heard,
				member:   office.As(access.Member),
				admin:    office.As(access.Admin),
				known:    map[string]bool{},
			}
			family(s)
			sent := "-- Written by TestStatements (make docs): what calls on " + s.family + " send to " + d.Dialect().Name +
				".\n\n" + s.text.String()
			file := filepath.Join("testdata", "statements", s.family+"."+d.Dialect().Name+".sql")
			want, err := os.ReadFile(file)
			switch {
			case err == nil && string(want) == sent:
			case *write:
				if err := os.WriteFile(file, []byte(sent), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s is not what is sent now%s; write it with: make docs, and read the difference", file,
					firstDifference(string(want), sent))
			}
		}
	})
}

func firstDifference(want, got string) string {
	was, is := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i, line := range is {
		if i >= len(was) || was[i] != line {
			return fmt.Sprintf(", from line %d on: %s", i+1, line)
		}
	}
	return ", which is less"
}

// listener records the statements that package record sends while on is true.
type listener struct {
	mu         sync.Mutex
	on         bool
	statements []string
}

func (l *listener) note(query string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on && underRecord() {
		l.statements = append(l.statements, query)
	}
}

// underRecord reports whether package record is in the call stack.
func underRecord() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "kartei/record.") {
			return true
		}
		if !more {
			return false
		}
	}
}

// during returns the statements that f sent.
func (l *listener) during(f func()) []string {
	l.mu.Lock()
	l.on, l.statements = true, nil
	l.mu.Unlock()
	f()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = false
	return l.statements
}

// story writes the calls of a family and their statements.
type story struct {
	*listener
	family        string
	member, admin *apitest.Client
	text          strings.Builder
	known         map[string]bool
	company       string
}

// tell writes a heading and the statements that f sends. It abbreviates a statement that it has
// already written.
func (s *story) tell(heading string, f func()) {
	fmt.Fprintf(&s.text, "-------- %s\n\n", heading)
	for _, query := range s.during(f) {
		query = formatted(query)
		if s.known[query] {
			fmt.Fprintf(&s.text, "-- as above: %.90s ...\n\n", strings.Join(strings.Fields(query), " "))
			continue
		}
		s.known[query] = true
		s.text.WriteString(query + ";\n\n")
	}
}

// newest is the header that requests the API version with all filters.
var newest = []string{"Svc-Version", release.Versions[len(release.Versions)-1].Name}

// pages writes lists and counts with parameters that only sessions may use.
func (s *story) pages(queries ...string) {
	base := "/" + s.family
	member, admin := s.member.Session(s.member.Principal), s.member.Session(s.admin.Principal)
	for _, query := range queries {
		given := strings.NewReplacer("{me}", s.member.Principal, "{company}", s.company).Replace(query)
		s.tell("GET "+base+query+" in a session, by a member", func() { s.member.InSession(member, base+given).Want(200) })
		s.tell("GET "+base+query+" in a session, by an admin", func() { s.member.InSession(admin, base+given).Want(200) })
	}
}

// both writes a call by a member and the same call by an admin. The statements for a member check
// the audience, and an admin sees all records. The heading has shown in place of the path.
func (s *story) both(path, shown string) {
	s.tell("GET "+shown+", by a member", func() { s.member.Do("GET", path, nil, newest...).Want(200) })
	s.tell("GET "+shown+", by an admin", func() { s.admin.Do("GET", path, nil, newest...).Want(200) })
}

// walks writes the statements of Walk, with which an export reads the records of a contact.
func (s *story) walks(
	walk func(context.Context, *op.Call, records.Walk) ([]records.WalkRecord, error), contact string,
) {
	for i, c := range []*apitest.Client{s.member, s.admin} {
		s.tell("walk of the "+s.family+" of a contact, by "+[]string{"a member", "an admin"}[i], func() {
			c.Inside(func(ctx context.Context, c *op.Call) error {
				_, err := walk(ctx, c, records.Walk{Reference: "contactId", To: contact, Until: c.Now, Limit: 100})
				return err
			})
		})
	}
}

// create creates a record and returns its id. It writes the statements of the creation.
func (s *story) create(family string, body map[string]any) (id string) {
	s.family = family
	s.tell("POST /"+family, func() { id = s.member.Do("POST", "/"+family, body).Want(201).Text("id") })
	return id
}

// rest writes all calls after the creation. change is a request body that changes the search
// words of the record. Each element of filters has the names of one or more filters, separated by
// spaces.
func (s *story) rest(id, change string, values map[string]string, filters ...string) {
	base := "/" + s.family
	record, shown := base+"/"+id, base+"/{id}"
	s.both(record, shown)
	for _, query := range []string{
		"", "?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z",
		"?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true", "?q=anna",
	} {
		s.both(base+query, base+query)
	}
	s.narrowed(base, values, filters)
	s.both(base+"/count", base+"/count")
	s.narrowed(base+"/count", values, filters)
	for _, body := range []string{change, `{"visibility":"private"}`, `{"visibility":"organization"}`} {
		s.tell("PATCH "+shown+" "+body, func() { s.member.Do("PATCH", record, body, "If-Match", "*").Want(200) })
	}
	s.tell("DELETE "+shown, func() { s.member.Do("DELETE", record, nil, "If-Match", "*").Want(204) })
}

// narrowed writes lists or counts with filters.
func (s *story) narrowed(path string, values map[string]string, filters []string) {
	for _, names := range filters {
		given := url.Values{}
		for _, name := range strings.Fields(names) {
			given.Set(name, values[name])
		}
		s.both(path+"?"+given.Encode(), path+"?"+strings.ReplaceAll(names, " ", "&"))
	}
}

// others creates a record of each family. It returns values of filters that accept these records,
// by the name of the filter.
func (s *story) others() map[string]string {
	made := func(family, name string) string {
		return s.member.Do("POST", "/"+family, map[string]any{name: "Anna"}).Want(201).Text("id")
	}
	s.company = made("companies", "name")
	return map[string]string{
		"companyId": s.company, "contactId": made("contacts", "lastName"), "taskId": made("tasks", "title"),
		"assigneeId": s.member.Principal, "status": "open", "externalId": "crm-1", "email": "anna@berg.example",
		"reference": "12 O 345/26",
	}
}

func theContacts(s *story) {
	v := s.others()
	id := s.create("contacts", map[string]any{
		"lastName":   "Berg",
		"tags":       []string{"Mandant"},
		"email":      v["email"],
		"companyId":  v["companyId"],
		"externalId": v["externalId"],
	})
	s.rest(id, `{"lastName":"Tal"}`, v, "externalId", "email", "companyId", "email companyId")
	other := s.member.Do("POST", "/contacts", map[string]any{
		"lastName": "Berg",
		"tags":     []string{"Mandant"},
	}).Want(201).Text("id")
	s.tell(`PATCH /contacts/{id} {"tags":["Erbrecht"]}`, func() {
		s.member.Do("PATCH", "/contacts/"+other, `{"tags":["Erbrecht"]}`, "If-Match", "*").Want(200)
	})
	s.pages("?tag=mandant", "?tag=mandant&ownerId={me}", "?companyId={company}&tag=mandant", "?ownerId={me}",
		"/count?tag=mandant", "/count?ownerId={me}",
		"?sort=name", "?sort=-name&companyId={company}", "?sort=name&ownerId={me}", "?sort=name&tag=mandant",
		"?sort=name&back=true")
}

func theCompanies(s *story) {
	v := s.others()
	s.rest(s.create("companies", map[string]any{"name": "Hof", "externalId": v["externalId"]}), `{"name":"Feld"}`, v,
		"externalId")
}

func theTasks(s *story) {
	v := s.others()
	id := s.create("tasks", map[string]any{
		"title": "Akte", "companyId": v["companyId"], "contactId": v["contactId"],
		"assigneeId": v["assigneeId"], "reference": v["reference"],
	})
	s.tell("POST /tasks/{id}/complete", func() { s.member.Do("POST", "/tasks/"+id+"/complete", nil).Want(200) })
	s.rest(id, `{"title":"Brief"}`, v, "contactId", "reference", "companyId", "assigneeId", "status", "companyId status",
		"assigneeId status")
	s.pages("?sort=dueAt&status=open", "?sort=dueAt&status=open&assigneeId={me}")
	s.walks(task.Tasks.Walk, v["contactId"])
}

func theDocuments(s *story) {
	v := s.others()
	s.family = "documents"
	var id string
	s.tell("POST /documents, and the job that makes one", func() {
		id = s.member.Document("brief.txt", "text/plain", []byte("anna"), map[string]any{
			"companyId": v["companyId"], "contactId": v["contactId"], "taskId": v["taskId"],
			"reference": v["reference"],
		})
	})
	s.rest(id, `{"name":"akte.txt"}`, v, "contactId", "taskId", "reference", "companyId")
	s.walks(document.Documents.Walk, v["contactId"])
}

// formatted returns a statement with one line for each clause. Nested selects are indented.
func formatted(query string) string {
	query = strings.Join(strings.Fields(query), " ")
	query = strings.NewReplacer("( ", "(", " )", ")").Replace(query)
	clauses := []string{
		"from ", "where ", "and ", "order by ", "limit ", "union all ", "values ", "set ", "on conflict ",
		"returning ", "select ", "group by ",
	}
	var b strings.Builder
	depth := []bool{true} // whether each open parenthesis contains a select
	indent := func() string { return "\n" + strings.Repeat("\t", selects(depth)-1) }
	for i := 0; i < len(query); i++ {
		c := query[i]
		switch {
		case c == '(':
			inner := strings.HasPrefix(query[i+1:], "select ")
			depth = append(depth, inner)
			b.WriteByte(c)
			if inner {
				b.WriteString(indent())
			}
		case c == ')':
			inner := depth[len(depth)-1]
			depth = depth[:len(depth)-1]
			if inner {
				b.WriteString(indent())
			}
			b.WriteByte(c)
		case c == ' ' && depth[len(depth)-1] && !strings.HasSuffix(b.String(), "delete") &&
			slices.ContainsFunc(clauses, func(clause string) bool { return strings.HasPrefix(query[i+1:], clause) }):
			b.WriteString(indent())
			if strings.HasPrefix(query[i+1:], "and ") {
				b.WriteByte('\t')
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func selects(depth []bool) (n int) {
	for _, inner := range depth {
		if inner {
			n++
		}
	}
	return n
}
