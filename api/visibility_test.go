package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/kit/id"
	"kartei/people/principal"
	"kartei/test/apitest"
)

// The walks of this file also cover the whole table of operations. Every operation treats a hidden
// record like an unknown id, and refuses missing permissions in the same way.

// families yields the families of records, each with the operation that creates a record.
func families() func(func(op.Family, *api.Operation) bool) {
	return func(yield func(op.Family, *api.Operation) bool) {
		for _, f := range api.Families {
			if op := creator(f.Plural); op != nil && !yield(f, op) {
				return
			}
		}
	}
}

// makeRecord creates a record that a search for Geheimwort finds, and returns its id. visibility
// does not apply to webhook endpoints, since only their principal sees them.
func makeRecord(t testing.TB, c *apitest.Client, op *api.Operation, visibility string) string {
	t.Helper()
	body := example(t, op).(map[string]any)
	if op.Family != "webhook_endpoints" {
		body["visibility"], body["tags"] = visibility, []string{"Geheimwort"}
	}
	return create(t, c, op, body).Text("id")
}

// eventOf returns the id of the newest event about a record.
func eventOf(t testing.TB, c *apitest.Client, record string) string {
	t.Helper()
	for _, e := range c.Do("GET", "/events?limit=100", nil).Want(200).Data() {
		if e["data"].(map[string]any)["id"] == record {
			return e["id"].(string)
		}
	}
	t.Fatalf("no event of %s", record)
	return ""
}

// serviceAccount returns a client with the key of a new service account.
func serviceAccount(t testing.TB, o *apitest.Office, role access.Role) *apitest.Client {
	t.Helper()
	made, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{
		Organization: o.ID, Name: "Abgleich", Role: role,
	})
	if err != nil {
		t.Fatal(err)
	}
	var scopes []string
	if role == access.Viewer {
		scopes = access.ReadScopes()
	}
	return &apitest.Client{Office: o, Principal: made.ID, Key: o.Key(made.ID, scopes...)}
}

// onlookers returns clients who cannot see a member's private records in the sandbox. The strangers
// see no records there at all.
func onlookers(t testing.TB, o *apitest.Office) (colleagues, strangers map[string]*apitest.Client) {
	t.Helper()
	other, _ := o.Organization("Kanzlei Abendroth")
	member, admin := o.User(access.Member, other), o.User(access.Admin, other)
	live := liveKey(t, o)
	return map[string]*apitest.Client{
			"member": o.As(access.Member), "viewer": o.As(access.Viewer),
			"service account":         serviceAccount(t, o, access.Member),
			"viewing service account": serviceAccount(t, o, access.Viewer),
		}, map[string]*apitest.Client{
			"member of another organization": {Office: o, Principal: member, Key: o.Key(member)},
			"admin of another organization":  {Office: o, Principal: admin, Key: o.Key(admin)},
			"live key":                       live,
		}
}

// TestInvisibleIsUnknown calls every operation with the id of a record that the caller cannot see.
// The record is private, of another organization, deleted or of another family. The response must
// equal the response for an id that does not exist, with each precondition.
func TestInvisibleIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		colleagues, strangers := onlookers(t, o)
		admins := map[string]*apitest.Client{"admin": o.As(access.Admin)}
		hidden, shared := hiddenAndShared(t, o.As(access.Member))
		walked := 0
		for op := range rows() {
			if !op.Named() {
				continue
			}
			if len(hidden[op.Family]) == 0 {
				t.Errorf("%s: no record to hide is made", op.ID)
			}
			// Long-running operations and webhook endpoints are visible to their principal only.
			// Admins cannot see them either.
			blind := []map[string]*apitest.Client{colleagues, strangers, admins}
			if shared[op.Family] != "" {
				blind = blind[:2]
				walked += isUnknown(t, op, "another organization's", shared[op.Family], strangers)
				isKnown(t, op, shared[op.Family], colleagues["member"])
			}
			for what, record := range hidden[op.Family] {
				walked += isUnknown(t, op, what, record, blind...)
			}
		}
		if walked < 100 {
			t.Errorf("only %d calls were compared", walked)
		}
	})
}

// hiddenAndShared creates records of an owner. hidden has the ids that other people cannot see, by
// family and reason. shared has an id in each family that colleagues see.
func hiddenAndShared(
	t *testing.T, owner *apitest.Client,
) (hidden map[string]map[string]string, shared map[string]string) {
	t.Helper()
	gone := func(op *api.Operation) string {
		record := makeRecord(t, owner, op, "organization")
		owner.Do("DELETE", op.Path+"/"+record, nil, "If-Match", "*").Want(204)
		return record
	}
	hidden, shared = map[string]map[string]string{}, map[string]string{}
	var events []string
	for _, op := range families() {
		private, open := makeRecord(t, owner, op, "private"), makeRecord(t, owner, op, "organization")
		event := eventOf(t, owner, private)
		hidden[op.Family] = map[string]string{
			"private": private, "deleted": gone(op), "of another family": id.New("doc_"), "its event": event,
		}
		shared[op.Family] = open
		events = append(events, event)
		shared["events"] = eventOf(t, owner, open)
	}
	hidden["operations"] = map[string]string{"of another principal": begun(t, owner)}
	endpoints := creator("webhook_endpoints")
	endpoint := makeRecord(t, owner, endpoints, "")
	deleted := gone(endpoints)
	tested := owner.Do("POST", endpoints.Path+"/"+endpoint+"/test", nil).Want(200).Text("eventId")
	hidden["webhook_endpoints"] = map[string]string{
		"of another principal": endpoint, "deleted": deleted, "its event": tested,
	}
	hidden["events"] = map[string]string{
		"a private record's": events[0], "a record": hidden["contacts"]["private"], "another's test": tested,
	}
	return hidden, shared
}

// isUnknown calls an operation with a record and with an unknown id, with each precondition. It
// fails the test unless the responses are equal. It returns the number of compared calls.
func isUnknown(t *testing.T, op *api.Operation, what, record string, who ...map[string]*apitest.Client) (walked int) {
	t.Helper()
	unknown := id.New(record[:4])
	for _, clients := range who {
		for name, c := range clients {
			for _, ifMatch := range []string{"", "*", `"r1"`, `"r9"`, "malformed"} {
				send := func(record string, headers ...string) *apitest.Answer {
					headers = append(headers, "If-Match", ifMatch, "Idempotency-Key", "")
					return c.Do(op.Method, strings.Replace(op.Path, "{id}", record, 1), example(t, op), headers...)
				}
				got, want := send(record), send(unknown)
				if bare(got) != bare(want) || strings.ReplaceAll(string(got.Body), record,
					unknown) != withRequestID(string(want.Body), want, got) {
					t.Errorf("%s, %s, %s with If-Match %s:\n%s\nunknown:\n%s", name, op.ID, what, ifMatch, bare(got), bare(want))
				}
				if got.Status < 400 {
					t.Errorf("%s, %s, %s: %d", name, op.ID, what, got.Status)
				}
				walked++
				if ifMatch != "" && ifMatch != "*" { // If-Match is checked before If-None-Match, so the second header makes no difference
					continue
				}
				for _, tag := range []string{`"r1"`, "*"} {
					if a, b := send(record, "If-None-Match", tag), send(unknown, "If-None-Match", tag); bare(a) != bare(b) {
						t.Errorf("%s, %s, %s with If-None-Match %s:\n%s\nunknown:\n%s", name, op.ID, what, tag, bare(a), bare(b))
					}
				}
			}
		}
	}
	return walked
}

// isKnown fails the test if a colleague does not see a shared record. Otherwise the walk would
// compare nothing.
func isKnown(t *testing.T, op *api.Operation, record string, colleague *apitest.Client) {
	t.Helper()
	at := strings.Replace(op.Path, "{id}", record, 1)
	if a := colleague.Do(op.Method, at, example(t, op), "If-Match", `"r9"`); a.Status == 404 {
		t.Errorf("%s of a shared record: %s", op.ID, a.Body)
	}
}

// withRequestID replaces the request id of the response of in body by the request id of the
// response to.
func withRequestID(body string, of, to *apitest.Answer) string {
	return strings.ReplaceAll(body, of.Header.Get("Request-Id"), to.Header.Get("Request-Id"))
}

// queries returns queries for an operation without an id in its path. They are built from the
// parameters in the OpenAPI document.
func queries(op *api.Operation) []string {
	list := []string{"", "limit=1", "limit=100"}
	if op.Path == "/contacts/count" || strings.HasSuffix(op.Path, "/count") {
		list = []string{""}
	}
	for _, p := range parameters(op) {
		switch p.Name {
		case "limit", "cursor":
		case "q":
			list = append(list, "q=Geheimwort", "q=geheim")
		case "sort":
			list = append(list, "sort="+strings.TrimPrefix(sample(p), "-"))
		case "includeDeleted":
			list = append(list, "includeDeleted=true&limit=100&updatedSince=2026-11-01T00:00:00Z")
		default:
			list = append(list, p.Name+"="+url.QueryEscape(sample(p)))
		}
	}
	return list
}

// seen returns the responses that a client gets from all reads without an id, by query. For a
// cursor, it only notes whether there is one.
func seen(t testing.TB, c *apitest.Client) map[string]string {
	t.Helper()
	answers := map[string]string{}
	for op := range rows() {
		if op.Method != "GET" || op.Named() || op.Family == "meta" {
			continue
		}
		for _, q := range queries(op) {
			a := c.Do("GET", op.Path+"?"+q, nil).Want(200)
			answers[op.ID+"?"+q] = cursors(string(a.Body))
		}
	}
	return answers
}

func cursors(body string) string {
	before, after, found := strings.Cut(body, `"nextCursor":"`)
	if !found {
		return body
	}
	_, rest, _ := strings.Cut(after, `"`)
	return before + `"nextCursor":"..."` + rest
}

// TestInvisibleLeavesNoTrace checks that changes of a private record do not change any list, count,
// search, sync or feed of callers who cannot see the record. An admin sees each step.
func TestInvisibleLeavesNoTrace(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, admin := o.As(access.Member), o.As(access.Admin)
		colleagues, strangers := onlookers(t, o)
		for _, op := range families() {
			for range 3 {
				makeRecord(t, owner, op, "organization")
			}
		}
		before := map[string]map[string]string{}
		all := map[string]*apitest.Client{}
		for _, group := range []map[string]*apitest.Client{colleagues, strangers} {
			for who, c := range group {
				before[who], all[who] = seen(t, c), c
			}
		}
		witness := fmt.Sprint(seen(t, admin))
		look := func(step string) {
			t.Helper()
			for who, c := range all {
				for q, now := range seen(t, c) {
					if now != before[who][q] {
						t.Errorf("after %s, %s asks %s:\nwas %s\nis  %s", step, who, q, before[who][q], now)
					}
				}
			}
			now := fmt.Sprint(seen(t, admin))
			if now == witness {
				t.Errorf("after %s, not even an admin sees a difference", step)
			}
			witness = now
		}
		for f, op := range families() {
			record := makeRecord(t, owner, op, "private")
			look(f.Object + " created")
			at := op.Path + "/" + record
			owner.Do("PATCH", at, `{"tags":["Geheimwort","zwei"]}`, "If-Match", "*").Want(200)
			look(f.Object + " changed")
			owner.Do("DELETE", at, nil, "If-Match", "*").Want(204)
			look(f.Object + " deleted")
		}
	})
}

// TestVisibilityChanges hides records from callers, transfers records, and makes callers admins. It
// checks that each change applies to the next call, also for past events.
func TestVisibilityChanges(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, other, admin := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		role := func(r access.Role) {
			if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: other.Principal, Role: &r}); err != nil {
				t.Fatal(err)
			}
		}
		for f, op := range families() {
			record := makeRecord(t, owner, op, "organization")
			at, event := op.Path+"/"+record, eventOf(t, owner, record)
			checkVisible := func(c *apitest.Client, step string, want bool) {
				t.Helper()
				status := map[bool]int{true: 200, false: 404}[want]
				for _, path := range []string{at, "/events/" + event} {
					if a := c.Do("GET", path, nil); a.Status != status {
						t.Errorf("%s: GET %s is %d, want %d", step, path, a.Status, status)
					}
				}
				for _, q := range []string{
					op.Path + "?limit=100", op.Path + "?q=Geheimwort", op.Path + "?updatedSince=2026-11-01T00:00:00Z",
					"/events?limit=100",
				} {
					if a := c.Do("GET", q, nil).Want(200); strings.Contains(string(a.Body), record) != want {
						t.Errorf("%s: GET %s tells %t, want %t", step, q, !want, want)
					}
				}
				n := 0.0
				if want {
					n = 1
				}
				if got := c.Do("GET", op.Path+"/count?q=Geheimwort", nil).Want(200).JSON()["count"]; got != n {
					t.Errorf("%s: counted %v", step, got)
				}
			}
			change := func(c *apitest.Client, body map[string]any) {
				t.Helper()
				c.Do("PATCH", at, body, "If-Match", "*").Want(200)
			}
			checkVisible(other, f.Object+" shared", true)
			change(owner, map[string]any{"visibility": "private"})
			checkVisible(other, "private", false)
			checkVisible(owner, "private", true)
			checkVisible(admin, "private", true)
			role(access.Admin)
			checkVisible(other, "private, as an admin", true)
			role(access.Member)
			checkVisible(other, "private, an admin no more", false)
			change(owner, map[string]any{"ownerId": other.Principal})
			checkVisible(other, "given", true)
			checkVisible(owner, "given away", false)
			owner.Do("PATCH", at, map[string]any{"visibility": "organization"}, "If-Match", "*").Want(404, "NOT_FOUND")
			change(other, map[string]any{"visibility": "organization"})
			checkVisible(owner, "shared again", true)
			change(other, map[string]any{"visibility": "private"})
			other.Do("DELETE", at, nil, "If-Match", "*").Want(204)
			// The deletion marker and the events remain visible to callers who could see the
			// record.
			for who, c := range map[string]*apitest.Client{"owner": other, "admin": admin, "former owner": owner} {
				want := who != "former owner"
				if a := c.Do("GET", "/events?limit=100", nil).Want(200); strings.Contains(string(a.Body), record) != want {
					t.Errorf("deleted: the feed tells the %s %t", who, !want)
				}
				// The former owner has a deletion marker too, with the time at which the record was
				// hidden.
				q := op.Path + "?includeDeleted=true&updatedSince=2026-11-01T00:00:00Z&limit=100"
				if a := c.Do("GET", q, nil).Want(200); !strings.Contains(string(a.Body), record) {
					t.Errorf("deleted: no marker for the %s", who)
				}
				status := map[bool]int{true: 200, false: 404}[want]
				c.Do("GET", "/events/"+event, nil).Want(status)
			}
		}
	})
}

// TestRights gives a principal each role with each right, and calls every operation after each
// change with the same key. It checks that a call is refused only if the role or the right does not
// suffice. The change must apply to the next call.
func TestRights(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner := o.As(access.Member)
		records := map[string]string{}
		for _, op := range families() {
			records[op.Family] = makeRecord(t, owner, op, "organization")
		}
		for kind, c := range map[string]*apitest.Client{
			"user": o.As(access.Admin), "service account": serviceAccount(t, o, access.Admin),
		} {
			set := o.Operator.SetUser
			if kind != "user" {
				set = o.Operator.SetServiceAccount
			}
			for _, role := range []access.Role{access.Admin, access.Member, access.Viewer} {
				for _, right := range []access.Right{access.NoRight, access.ReadRight, access.WriteRight} {
					// One family has this right. For the other families, the principal may write as
					// far as the role allows.
					for _, family := range access.Families {
						rights := access.Rights{}
						for _, f := range access.Families {
							rights[f] = access.WriteRight
						}
						rights[family] = right
						if _, err := set(t.Context(), principal.Change{ID: c.Principal, Role: &role, Rights: rights}); err != nil {
							t.Fatal(err)
						}
						may := func(scope string) bool {
							of, verb, _ := strings.Cut(scope, ":")
							r := access.WriteRight
							if of == family {
								r = right
							}
							if verb == "write" {
								return role != access.Viewer && r == access.WriteRight
							}
							return r != access.NoRight
						}
						var scopes []any
						for _, s := range access.AllScopes() {
							if may(s) {
								scopes = append(scopes, s)
							}
						}
						name := fmt.Sprintf("%s, %s with %s:%s", kind, role, family, right)
						if got := c.Do("GET", "/me", nil).Want(200).JSON()["scopes"]; fmt.Sprint(got) != fmt.Sprint(scopes) {
							t.Errorf("%s: scopes %v, want %v", name, got, scopes)
						}
						for op := range rows() {
							if op.Scope == "" {
								continue
							}
							a := c.Do(op.Method, somePath(op), nil)
							if refused := a.Status == 403 && a.Text("code") == "FORBIDDEN"; refused == may(op.Scope) {
								t.Errorf("%s: %s answers %d %s", name, op.ID, a.Status, a.Body)
							}
						}
						told := string(c.Do("GET", "/events?limit=100", nil).Want(200).Body)
						for tag, record := range records {
							if strings.Contains(told, record) != may(tag+":read") {
								t.Errorf("%s: the feed has events of %s: %t", name, tag, !may(tag+":read"))
							}
						}
					}
				}
			}
		}
	})
}
