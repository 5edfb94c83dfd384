package offboarding_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/optest"
	"kartei/integration/grant"
	"kartei/integration/key"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/audit"
	"kartei/people/auditlog"
	"kartei/people/offboarding"
	"kartei/people/principal"
	"kartei/record/lookup"
	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

var ctx = context.Background()

// TestFamilies checks that all families are handed over. Records of a missing family would stay
// with a principal who has left.
func TestFamilies(t *testing.T) {
	var all []string
	for _, f := range api.Families {
		all = append(all, f.Plural)
	}
	if got := offboarding.Families(); !slices.Equal(got, all) {
		t.Errorf("hands over %v, the release serves %v", got, all)
	}
}

func each(t *testing.T, f func(*testing.T, *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d, apitest.Repeated())) })
}

// call runs an operation as the operator.
func call[O any](t *testing.T, o *apitest.Office, row string, in any) (out O, err *fault.Fault) {
	t.Helper()
	body, wrong := json.Marshal(in)
	if wrong != nil {
		t.Fatal(wrong)
	}
	got := o.API.Do(ctx, &api.Request{
		Operation: api.ByID(row), Door: api.Admin, Credential: api.Local(), Address: netip.MustParseAddr("192.0.2.7"),
		HasBody: true, Body: func() ([]byte, error) { return body, nil },
	}, nil)
	if got.Fault == nil {
		if wrong := json.Unmarshal(got.Body, &out); wrong != nil {
			t.Fatalf("%s: %s", row, got.Body)
		}
	}
	return out, got.Fault
}

// must runs an operation as the operator, and fails the test if the operation fails.
func must[O any](t *testing.T, o *apitest.Office, row string, in any) O {
	t.Helper()
	out, err := call[O](t, o, row, in)
	if err != nil {
		t.Fatalf("%s: %v %+v", row, err, err.Fields)
	}
	return out
}

// handOver begins a hand-over and waits for its end. It returns the output of the operation and the
// final state.
func handOver(
	t *testing.T, o *apitest.Office, in offboarding.HandOverInput,
) (offboarding.HandOverOutput, offboarding.Handover) {
	t.Helper()
	out := must[offboarding.HandOverOutput](t, o, "people.handOver", in)
	o.Rest()
	list := must[op.Entries[offboarding.Handover]](t, o, "people.handOverStatus", op.ByID{ID: in.ID})
	if list.Data[0].ID != out.ID || list.Data[0].FinishedAt == 0 || len(list.Data[0].Parts) != 2 {
		t.Fatalf("the hand-over %s has not ended: %+v", out.ID, list.Data)
	}
	return out, list.Data[0]
}

// create creates a record and returns its id.
func create(c *apitest.Client, family, members string) string {
	c.Helper()
	return c.Do("POST", "/"+family, members).Want(201).Text("id")
}

// leaver is a member with shared and private records. Tasks of their own and of others are assigned
// to them.
type leaver struct {
	*apitest.Client
	contact, company, task, secret, assigned, hidden string
	document                                         string
}

func newLeaver(o *apitest.Office, other *apitest.Client) *leaver {
	l := &leaver{Client: o.As(access.Member)}
	l.contact = create(l.Client, "contacts", `{"lastName":"Berg"}`)
	l.secret = create(l.Client, "contacts", `{"lastName":"Geheim","visibility":"private"}`)
	l.company = create(l.Client, "companies", `{"name":"Rheinbau"}`)
	l.task = create(l.Client, "tasks", `{"title":"Akte","assigneeId":"`+l.Principal+`"}`)
	l.assigned = create(other, "tasks", `{"title":"Frist","assigneeId":"`+l.Principal+`"}`)
	l.hidden = create(l.Client, "tasks", `{"title":"Still","visibility":"private","assigneeId":"`+l.Principal+`"}`)
	l.document = l.Document("akte.txt", "text/plain", []byte("Klageerwiderung"))
	return l
}

func TestHandOver(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		admin, successor := o.As(access.Admin), o.As(access.Member)
		l := newLeaver(o, admin)
		l.Do("POST", "/webhook_endpoints", map[string]any{
			"name":       "Mirror",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}).Want(201)
		before := admin.Do("GET", "/contacts/"+l.contact, nil).Want(200).JSON()
		events := len(feed(admin))
		out, done := handOver(t, o, offboarding.HandOverInput{ID: l.Principal, To: successor.Principal})

		if len(out.Endpoints) != 1 || out.Endpoints[0].Name != "Mirror" || out.PrivateRecords["contacts"] != 1 ||
			out.PrivateRecords["tasks"] != 1 {
			t.Errorf("%+v", out)
		}
		after := admin.Do("GET", "/contacts/"+l.contact, nil).Want(200).JSON()
		if after["ownerId"] != successor.Principal || after["revision"].(float64) != before["revision"].(float64)+1 ||
			after["updatedAt"] == before["updatedAt"] || after["lastName"] != "Berg" {
			t.Errorf("%v", after)
		}
		for path, want := range map[string][2]string{
			"/companies/" + l.company: {successor.Principal, ""}, "/documents/" + l.document: {successor.Principal, ""},
			"/tasks/" + l.task:     {successor.Principal, successor.Principal},
			"/tasks/" + l.assigned: {admin.Principal, successor.Principal},
			"/tasks/" + l.hidden:   {l.Principal, l.Principal}, "/contacts/" + l.secret: {l.Principal, ""},
		} {
			got := admin.Do("GET", path, nil).Want(200).JSON()
			if assignee, _ := got["assigneeId"].(string); got["ownerId"] != want[0] || assignee != want[1] {
				t.Errorf("%s belongs to %v, and is assigned to %q; want %v", path, got["ownerId"], assignee, want)
			}
		}
		admin.Inside(func(ctx context.Context, call *op.Call) error {
			history, err := optest.Run(ctx, call, lookup.History, lookup.HistoryInput{ID: l.contact, Limit: 1})
			if got := history.Data[0]; got.Act != "updated" || fmt.Sprint(got.Members) != "[ownerId]" || got.Door != "job" ||
				got.Principal != "" || !strings.HasPrefix(got.RequestID, "req_") {
				t.Errorf("%+v", got)
			}
			return err
		})
		// The contact, the company and two tasks have one event each. There is no event for the
		// update of a document.
		if all := feed(admin); len(all) != events+4 {
			t.Errorf("%d new events: %v", len(all)-events, all)
		}
		counts := map[string]string{}
		for _, p := range done.Parts {
			for name, n := range p.Families {
				counts[name] = fmt.Sprint(n)
			}
		}
		want := map[string]string{
			"contacts": "{{1 0 0} 1}", "companies": "{{1 0 0} 0}", "tasks": "{{1 0 2} 1}",
			"documents": "{{1 0 0} 0}",
		}
		if fmt.Sprint(counts) != fmt.Sprint(want) {
			t.Errorf("counts %v, want %v", counts, want)
		}
		audited(t, o, l.Principal, successor.Principal)
		// A second hand-over finds no records and changes nothing.
		handOver(t, o, offboarding.HandOverInput{ID: l.Principal, To: successor.Principal})
		if again := admin.Do("GET", "/contacts/"+l.contact, nil).Want(200).JSON(); again["revision"] != after["revision"] {
			t.Errorf("handed over twice: %v", again)
		}
	})
}

// TestHoldings checks what Holds returns before a principal leaves: what they have in the
// organization and its sandbox, without the records of others.
func TestHoldings(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		l := newLeaver(o, o.As(access.Admin))
		l.Do("POST", "/webhook_endpoints", map[string]any{
			"name":       "Mirror",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}).Want(201)
		o.Session(l.Principal)
		application := grant.Client{
			Kind:         grant.Registered,
			Name:         "Mirror",
			RedirectURIs: []string{"https://app.example.com/back"},
			Method:       grant.NoSecret,
		}
		for _, audience := range []string{access.V1, access.MCP} {
			o.Connect(&application, l.Principal, audience, "contacts:read")
		}
		h := must[offboarding.Holdings](t, o, "people.holdings", offboarding.HoldingsInput{ID: l.Principal})
		if h.Keys != 1 || h.Sessions != 1 || h.Applications != 1 || h.OpenTasks != 3 ||
			h.PrivateRecords["contacts"] != 1 || h.PrivateRecords["tasks"] != 1 || h.PrivateRecords["companies"] != 0 {
			t.Errorf("%+v", h)
		}
		few := must[offboarding.Holdings](t, o, "people.holdings",
			offboarding.HoldingsInput{ID: l.Principal, EndpointsOnly: true})
		if len(few.Endpoints) != 1 || few.Keys+few.Sessions+few.OpenTasks != 0 || len(few.PrivateRecords) != 0 {
			t.Errorf("%+v", few)
		}
		l.Do("POST", "/tasks/"+l.task+"/complete", nil).Want(200)
		if h := must[offboarding.Holdings](t, o, "people.holdings",
			offboarding.HoldingsInput{ID: l.Principal}); h.OpenTasks != 2 {
			t.Errorf("%d open tasks after one was completed", h.OpenTasks)
		}
		if len(h.Endpoints) != 1 || h.Endpoints[0].Name != "Mirror" || h.Endpoints[0].OrganizationID != o.SandboxID {
			t.Errorf("endpoints: %+v", h.Endpoints)
		}
		if e := h.Endpoints[0]; e.Missed != nil {
			t.Errorf("an endpoint that gets everything missed %+v", e.Missed)
		}
		dbtest.Run(t, o.DB, `update webhook_endpoints set status = 'disabled', disabled_reason = 'failing', missed_since = cursor where id = $1`, h.Endpoints[0].ID)
		l.Do("POST", "/contacts", map[string]any{"lastName": "Haas"}).Want(201)
		h = must[offboarding.Holdings](t, o, "people.holdings",
			offboarding.HoldingsInput{ID: l.Principal, EndpointsOnly: true})
		if e := h.Endpoints[0]; e.Missed == nil || *e.Missed != (webhook.Tally{Events: 1}) {
			t.Errorf("a disabled endpoint missed %+v", e.Missed)
		}
	})
}

// TestOpenTasksGoAlongIndex checks that counting the open tasks does not read the completed ones.
func TestOpenTasksGoAlongIndex(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		if o.DB.Dialect().Name != "sqlite" { // PostgreSQL chooses its plan by statistics
			return
		}
		err := o.DB.Read(t.Context(), func(tx db.Tx) error {
			plan, err := dbtest.SQLitePlan(t.Context(), tx, offboarding.CountOpenTasks, 1, "usr_1", 100)
			if !strings.Contains(plan, "tasks_assignee_id_status_audience (organization=? AND assignee_id=? AND status=?)") {
				t.Error(plan)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestHandOverDisables checks that a hand-over can disable the principal that leaves.
func TestHandOverDisables(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		successor := o.As(access.Member)
		l := newLeaver(o, o.As(access.Admin))
		session := o.Session(l.Principal)
		handOver(t, o, offboarding.HandOverInput{ID: l.Principal, To: successor.Principal, Disable: true})
		l.Do("GET", "/me", nil).Want(401)
		if h := must[offboarding.Holdings](t, o, "people.holdings",
			offboarding.HoldingsInput{ID: l.Principal}); h.Sessions != 0 || session == "" {
			t.Errorf("a session outlives: %+v", h)
		}
		page := must[op.Entries[audit.Line]](t, o, "audit.list", auditlog.Input{Target: l.Principal})
		if text := fmt.Sprint(page.Data); !strings.Contains(text, "disabled") {
			t.Errorf("the audit log does not say that they were disabled: %s", text)
		}
		// A disabled principal hands over too, and the log does not say again that it was disabled.
		handOver(t, o, offboarding.HandOverInput{ID: l.Principal, To: successor.Principal, Disable: true})
		page = must[op.Entries[audit.Line]](t, o, "audit.list", auditlog.Input{Target: l.Principal, Word: "person.handOver"})
		if text := fmt.Sprint(page.Data); len(page.Data) != 2 || strings.Count(text, "disabled") != 1 {
			t.Errorf("%d lines: %s", len(page.Data), text)
		}
	})
}

// TestHandOverOfLastAdmin checks that only the operator can disable the last admin by a hand-over.
func TestHandOverOfLastAdmin(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		boss, successor := o.User(access.Admin), o.As(access.Member)
		in, err := json.Marshal(offboarding.HandOverInput{ID: boss, To: successor.Principal, Disable: true})
		if err != nil {
			t.Fatal(err)
		}
		got := o.API.Do(t.Context(), &api.Request{
			Operation: api.ByID("people.handOver"), Door: api.Web, Credential: api.Cookie(o.Session(boss), false),
			Address: netip.MustParseAddr("192.0.2.1"),
			HasBody: true, Body: func() ([]byte, error) { return in, nil },
		}, nil)
		if got.Status != 403 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		if p := must[access.PrincipalInfo](t, o, "people.get", op.ByID{ID: boss}); p.Disabled {
			t.Error("the last admin is disabled")
		}
		if list := must[op.Entries[offboarding.Handover]](t, o, "people.handOverStatus",
			op.ByID{ID: boss}); len(list.Data) != 0 {
			t.Errorf("a hand-over began: %+v", list.Data)
		}
	})
}

// audited checks the line of the hand-over in the audit log, and the lines about the end of its
// parts.
func audited(t *testing.T, o *apitest.Office, from, to string) {
	t.Helper()
	page := must[op.Entries[audit.Line]](t, o, "audit.list", auditlog.Input{Target: from})
	words := map[string]int{}
	text := ""
	for _, l := range page.Data {
		words[l.Word]++
		if l.Word == offboarding.DoneWord {
			b, _ := json.Marshal(l)
			text += string(b)
		}
	}
	if words["person.handOver"] != 1 || words[offboarding.DoneWord] != 2 || !strings.Contains(text, to) ||
		!strings.Contains(text, `{"member":"tasks.assigned","from":0,"to":2}`) || strings.Contains(text, "Berg") {
		t.Errorf("audit log: %v %s", words, text)
	}
}

func feed(c *apitest.Client) (types []string) {
	c.Helper()
	for _, e := range c.Do("GET", "/events?limit=100", nil).Want(200).Data() {
		types = append(types, e["type"].(string))
	}
	return types
}

// TestHandOverPrivate checks that private records are handed over only if the input says so. The
// successor then sees them, and the former owner does not. Sync shows tombstones to the former
// owner.
func TestHandOverPrivate(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		admin, successor := o.As(access.Admin), o.As(access.Member)
		l := newLeaver(o, admin)
		successor.Do("GET", "/contacts/"+l.secret, nil).Want(404)
		handOver(t, o, offboarding.HandOverInput{ID: l.Principal, To: successor.Principal, Private: true})
		got := successor.Do("GET", "/contacts/"+l.secret, nil).Want(200).JSON()
		if got["ownerId"] != successor.Principal || got["visibility"] != "private" {
			t.Errorf("%v", got)
		}
		l.Do("GET", "/contacts/"+l.secret, nil).Want(404)
		if found := successor.Do("GET", "/contacts?q=geheim", nil).Want(200).Data(); len(found) != 1 {
			t.Errorf("the successor finds %d", len(found))
		}
		if found := l.Do("GET", "/contacts?q=geheim", nil).Want(200).Data(); len(found) != 0 {
			t.Errorf("the former owner finds %d", len(found))
		}
		marked := false
		for _, r := range l.Do("GET", "/contacts?updatedSince=2026-01-01T00:00:00Z&includeDeleted=true&sort=updatedAt",
			nil).Want(200).Data() {
			marked = marked || r["id"] == l.secret && r["deleted"] == true
		}
		if !marked {
			t.Error("sync does not tell the former owner of the loss")
		}
	})
}

func TestHandOverRefused(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		from, to := o.User(access.Member), o.User(access.Member)
		away, _ := o.Organization("Andere")
		stranger, off := o.User(access.Member, away), o.User(access.Member)
		yes := true
		must[access.PrincipalInfo](t, o, "people.set", principal.Change{ID: off, Disabled: &yes})
		for name, in := range map[string]offboarding.HandOverInput{
			"to REQUIRED": {ID: from}, "to NOT_FOUND": {ID: from, To: stranger},
			"to FORBIDDEN_COMBINATION":  {ID: from, To: from},
			"to  FORBIDDEN_COMBINATION": {ID: from, To: off},
		} {
			_, err := call[any](t, o, "people.handOver", in)
			if err == nil || len(err.Fields) != 1 ||
				err.Fields[0].Name+" "+string(err.Fields[0].Code) != strings.Replace(name, "  ", " ", 1) {
				t.Errorf("%s: %+v", name, err)
			}
		}
		if _, err := call[any](t, o, "people.handOver",
			offboarding.HandOverInput{ID: "usr_x", To: to}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		// While a hand-over is unfinished, no other hand-over from or to either principal can
		// begin.
		begun := func(ctx context.Context, c *op.Call, in offboarding.HandOverInput) (struct{}, error) {
			if _, err := optest.Run(ctx, c, offboarding.HandOver, in); err != nil {
				return struct{}{}, err
			}
			for _, in := range []offboarding.HandOverInput{{ID: from, To: stranger}, {ID: from, To: to}, {ID: to, To: from}} {
				if _, err := optest.Run(ctx, c, offboarding.HandOver, in); !fault.Is(err, fault.ValidationFailed) {
					return struct{}{}, fmt.Errorf("meanwhile %+v: %w", in, err)
				}
			}
			return struct{}{}, nil
		}
		if _, err := operator.Do(ctx, o.Operator, begun, offboarding.HandOverInput{ID: from, To: to}); err != nil {
			t.Error(err)
		}
	})
}

// crashingDB is a database on which the pieces of a hand-over fail in turn: before the commit,
// after the commit, and not at all. To the worker, a failure looks like the death of its process.
type crashingDB struct {
	db.DB
	mu     sync.Mutex
	pieces int
}

// pieceTx is a transaction that notes whether it stores the progress of a hand-over.
type pieceTx struct {
	db.Tx
	piece bool
}

func (s *pieceTx) Queue(query string, args ...any) {
	s.piece = s.piece || strings.HasPrefix(query, "update handovers set progress = $3 where")
	s.Tx.Queue(query, args...)
}

var errDied = errors.New("the process died")

func (d *crashingDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	piece := false
	err := d.DB.WriteIn(ctx, organization, func(tx db.Tx) error {
		s := &pieceTx{Tx: tx}
		err := f(s)
		if piece = s.piece; piece && err == nil && d.turn() == 0 {
			return errDied
		}
		return err
	})
	if !piece {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pieces++
	if err == nil && d.pieces%3 == 2 {
		return errDied
	}
	return err
}

func (d *crashingDB) turn() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pieces % 3
}

// TestHandOverSurvivesCrashes checks that the next worker continues if a worker dies during a
// hand-over. Each record is changed once and counted once.
func TestHandOverSurvivesCrashes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		broken := &crashingDB{}
		o := apitest.New(t, d, apitest.Working(func(w *apitest.Workshop) {
			broken.DB, w.DB = w.DB, broken
		}))
		c, successor := o.As(access.Member), o.As(access.Member)
		const records = 230
		admin := o.As(access.Admin)
		late := create(admin, "contacts", `{"lastName":"Später"}`)
		var ids []string
		for n := range records {
			ids = append(ids, create(c, "contacts", fmt.Sprintf(`{"lastName":"Berg %d"}`, n)))
		}
		must[offboarding.HandOverOutput](t, o, "people.handOver",
			offboarding.HandOverInput{ID: c.Principal, To: successor.Principal})
		var list op.Entries[offboarding.Handover]
		for tries := 0; tries == 0 || list.Data[0].FinishedAt == 0; tries++ {
			if tries == 100 {
				t.Fatalf("does not end: %+v", list.Data)
			}
			o.Clock.Advance(20 * time.Minute) // longer than the backoff of a failed job
			o.Rest()
			if tries == 1 { // the worker has already read this contact
				admin.Do("PATCH", "/contacts/"+late, `{"ownerId":"`+c.Principal+`"}`, "If-Match", "*").Want(200)
			}
			list = must[op.Entries[offboarding.Handover]](t, o, "people.handOverStatus", op.ByID{ID: c.Principal})
		}
		if broken.pieces < 6 {
			t.Errorf("only %d pieces were disturbed", broken.pieces)
		}
		if got := admin.Do("GET", "/contacts/"+late, nil).Want(200).JSON(); got["ownerId"] != successor.Principal {
			t.Errorf("what came to the person meanwhile: %v", got)
		}
		for _, id := range ids {
			if got := c.Do("GET", "/contacts/"+id, nil).Want(200).JSON(); got["ownerId"] != successor.Principal ||
				got["revision"] != 2.0 {
				t.Fatalf("%v", got)
			}
		}
		total := int64(0)
		for _, p := range list.Data[0].Parts {
			total += p.Families["contacts"].Handed.Owned
		}
		if total != records+1 {
			t.Errorf("%d are counted, want %d", total, records+1)
		}
	})
}

func TestErase(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		admin, successor := o.As(access.Admin), o.As(access.Member)
		l := newLeaver(o, admin)
		email := emailOf(t, o, l.Principal)
		l.Do("POST", "/webhook_endpoints", map[string]any{
			"name":       "Mirror",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}).Want(201)
		l.becomeUnique(t)
		leaveTraces(t, o, l.Principal)
		leaving := tablesOfPeople(t, o)
		for _, table := range leaving {
			if count(t, o, `select count(*) from `+table+` where principal = $1`, l.Principal) == 0 {
				t.Errorf("%s has a column principal: add a row to leaveTraces in people/offboarding/offboarding_test.go, or say in staying why it outlives an erased person", table)
			}
		}

		if err := l.erase(t); err == nil || err.Code != fault.Forbidden ||
			!strings.Contains(err.Detail.In(i18n.English), "contacts 1, contacts (private) 1, companies 1, tasks 1, tasks (private) 1, tasks (assigned) 3, documents 1") {
			t.Fatalf("with records: %+v", err)
		}
		handOver(t, o, offboarding.HandOverInput{ID: l.Principal, To: successor.Principal})
		if err := l.erase(t); err == nil || !strings.Contains(err.Detail.In(i18n.English),
			": contacts (private) 1, tasks (private) 1, tasks (assigned) 1 ") &&
			!strings.Contains(err.Detail.In(i18n.English), ": contacts (private) 1, tasks (private) 1, tasks (assigned) 1.") {
			t.Fatalf("with private records: %+v", err)
		}
		handOver(t, o, offboarding.HandOverInput{ID: l.Principal, To: successor.Principal, Private: true})
		if err := l.erase(t); err != nil {
			t.Fatalf("%v %+v", err, err.Detail)
		}
		l.hasNoName(t)
		l.hasNothing(t)
		if found := mentions(t, o, "xaver", strings.ToLower(email)); len(found) > 0 {
			t.Errorf("the person is still in %v", found)
		}
		// The address can be used again. The erased person cannot be restored.
		must[access.PrincipalInfo](t, o, "people.create", principal.New{Organization: o.ID, Name: "Ida", Email: email})
		l.staysErased(t, admin)

		o.Clock.Advance(2 * time.Minute)
		o.Rest()
		l.leavesLinesWithoutAddress(t)
		for _, table := range leaving {
			if n := count(t, o, `select count(*) from `+table+` where principal = $1`, l.Principal); n > 0 {
				t.Errorf("%d rows of %s are left of an erased person: delete them in principal.Erase (people/principal/erase.go) or in what it calls", n,
					table)
			}
		}
	})
}

func emailOf(t *testing.T, o *apitest.Office, person string) string {
	t.Helper()
	people := must[op.Entries[access.PrincipalInfo]](t, o, "people.list", op.Page{Organization: o.ID}).Data
	return people[slices.IndexFunc(people, func(p access.PrincipalInfo) bool { return p.ID == person })].Email
}

// becomeUnique gives the person and the key a unique name. It also gives the key networks, and adds
// a line with the person's address to the audit log.
func (l *leaver) becomeUnique(t *testing.T) {
	t.Helper()
	name := "Xaver Unikat"
	must[access.PrincipalInfo](t, l.Office, "people.set", principal.Change{ID: l.Principal, Name: &name})
	must[key.Info](t, l.Office, "keys.update", key.Change{ID: keyOf(t, l.Office, l.Principal), Name: &name})
	home := []string{"203.0.113.0/24", "192.0.2.0/24"}
	must[key.Info](t, l.Office, "keys.update", key.Change{ID: keyOf(t, l.Office, l.Principal), Networks: &home})
	dbtest.Run(t, l.DB, `update principals set language = 'en', preferences = '{"timeZone":"Europe/Xaver"}' where id = $1`, l.Principal)
	dbtest.Run(t, l.DB, `insert into audit_lines (organization, id, at, principal, kind, credential, door, address, operation, word, target, changes, request_id)
		select number, 'adt_refused', 1, '', 'anonymous', '', 'web', '203.0.113.9', 'signin.password', 'signin.refused', $2, '[]', 'req_1' from organizations where id = $1`, l.ID, l.Principal)
}

func (l *leaver) erase(t *testing.T) *fault.Fault {
	t.Helper()
	_, err := call[access.PrincipalInfo](t, l.Office, "people.erase", op.ByID{ID: l.Principal})
	return err
}

// hasNoName fails the test unless the person's key is refused and the person has the name of erased
// people.
func (l *leaver) hasNoName(t *testing.T) {
	t.Helper()
	l.Do("GET", "/me", nil).Want(401)
	names := must[principal.Names](t, l.Office, "names.resolve",
		principal.NamesInput{Organization: l.ID, IDs: []string{l.Principal}})
	if len(names.Data) != 1 || names.Data[0].Name != "Gelöschte Person" && names.Data[0].Name != "Erased person" ||
		!names.Data[0].Erased {
		t.Errorf("%+v", names)
	}
	if got := must[key.Info](t, l.Office, "keys.get",
		op.ByID{ID: keyOf(t, l.Office, l.Principal)}); got.Status != key.Revoked || got.Name != "" {
		t.Errorf("%+v", got)
	}
}

// hasNothing fails the test if the rows of the person and the key have any personal data left.
func (l *leaver) hasNothing(t *testing.T) {
	t.Helper()
	l.columnsAre(t, "principals", "id", map[string]string{
		"id": "<> ''", "organization": "> 0", "created_at": "> 0", "erased_at": "> 0", // records and logs have the id
		"kind": "= 'user'", "role": "= 'viewer'", "rights": "= '{}'", "disabled": "= true", "language": "= 'de'",
		"preferences": "= '{}'",
		"name":        "= ''", "email": "is null", "email_folded": "is null", "account_id": "is null",
	})
	l.columnsAre(t, "api_keys", "principal_id", map[string]string{
		"name": "= ''", "networks": "= '[]'", "revoked_at": "> 0",
		// The logs have the id of the key and what it did.
		"id": "<> ''", "organization": "> 0", "principal_id": "<> ''", "kid": "<> ''",
		"previous_kid": "is not distinct from previous_kid", "secret_hash": "is not null",
		"previous_hash": "is not distinct from previous_hash", "environment": "<> ''", "scopes": "<> ''",
		"version_pin": "<> ''", "expires_at": "> 0", "created_at": "> 0",
		"made_by": "is not null", "paused": "= false", "last_used_at": ">= 0",
	})
}

// columnsAre fails the test unless each column of a table satisfies its condition, in the rows of
// the erased person.
func (l *leaver) columnsAre(t *testing.T, name, by string, conditions map[string]string) {
	t.Helper()
	tables, err := schema.Tables(ctx, l.DB)
	if err != nil {
		t.Fatal(err)
	}
	rows := count(t, l.Office, `select count(*) from `+name+` where `+by+` = $1`, l.Principal)
	if rows == 0 {
		t.Errorf("the erased person has no row of %s", name)
	}
	table := tables[slices.IndexFunc(tables, func(t schema.Table) bool { return t.Name == name })]
	for _, c := range table.Columns {
		empty, known := conditions[c.Name]
		if !known || count(t, l.Office, `select count(*) from `+name+` where `+by+` = $1 and `+c.Name+` `+empty,
			l.Principal) != rows {
			t.Errorf("%s.%s of an erased person: it should be %q; clear it in principal.Erase (people/principal/erase.go) or in what it calls, or say here why it stays", name, c.Name, empty)
		}
	}
}

// staysErased fails the test if the person can be enabled, erased again, or made the owner of a
// record.
func (l *leaver) staysErased(t *testing.T, admin *apitest.Client) {
	t.Helper()
	no := false
	for row, in := range map[string]any{
		"people.set": principal.Change{ID: l.Principal, Disabled: &no}, "people.erase": op.ByID{ID: l.Principal},
	} {
		if _, err := call[any](t, l.Office, row, in); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s of an erased person: %v", row, err)
		}
	}
	admin.Do("PATCH", "/contacts/"+l.contact, `{"ownerId":"`+l.Principal+`"}`, "If-Match", "*").Want(422)
}

// leavesLinesWithoutAddress checks that both logs keep the person's lines, without addresses.
func (l *leaver) leavesLinesWithoutAddress(t *testing.T) {
	t.Helper()
	if n := count(t, l.Office, `select count(*) from audit_lines where principal = $1 and address <> ''`,
		l.Principal); n > 0 {
		t.Errorf("%d lines of the audit log have an address", n)
	}
	if n := count(t, l.Office, `select count(*) from audit_lines where address like '203.0.113.%' or changes like '%203.0.113.%'`); n > 0 {
		t.Errorf("%d lines of the audit log tell where the person was", n)
	}
	if n := count(t, l.Office, `select count(*) from audit_lines where target = $1 and changes like '%"networks"%'`,
		keyOf(t, l.Office, l.Principal)); n == 0 {
		t.Error("no line says that the networks of the key were changed")
	}
	if n := count(t, l.Office, `select count(*) from audit_lines where principal = $1`, l.Principal); n != 2 {
		t.Errorf("%d lines of the audit log, want those of the export and of the endpoint", n)
	}
	if n := count(t, l.Office, `select count(*) from request_log where principal_id = $1 and address <> ''`,
		l.Principal); n > 0 {
		t.Errorf("%d lines of the request log have an address", n)
	}
	if n := count(t, l.Office, `select count(*) from request_log where principal_id = $1`, l.Principal); n == 0 {
		t.Error("the lines of the request log are gone")
	}
}

// staying says for each table why its rows with the id of an erased person stay.
var staying = map[string]string{
	"audit_lines":       "the id stays in the log, for 400 days",
	"bulk_acts":         "ids and counts, for seven days",
	"idempotency":       "sealed, for a day",
	"merges":            "sealed, for seven days; then two ids of records",
	"imports":           "sealed, for seven days; then counts, for 90",
	"operations":        "for 31 days, with ids",
	"record_changes":    "ids, until the record is gone",
	"uploads":           "for a day, until they expire",
	"visibility_losses": "ids, until the record is gone",
}

// tablesOfPeople returns the tables whose rows are deleted when their person is erased.
func tablesOfPeople(t *testing.T, o *apitest.Office) (names []string) {
	t.Helper()
	tables, err := schema.Tables(ctx, o.DB)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if staying[table.Name] == "" && slices.ContainsFunc(table.Columns,
			func(c schema.Column) bool { return c.Name == "principal" }) {
			names = append(names, table.Name)
		}
	}
	return names
}

// leaveTraces inserts a notice for a person, an application that they asked for, their recent
// records, and a line of the person in the audit log.
func leaveTraces(t *testing.T, o *apitest.Office, person string) {
	t.Helper()
	err := o.DB.Write(ctx, func(tx db.Tx) error {
		tx.Queue(`insert into notices (organization, principal, id, created_at, kind, data, read_at, mailing, mail_at, mailed_at) values (1, $1, 'ntc_a', 1, 'quota.low', '{}', 0, false, 0, 0)`, person)
		tx.Queue(`insert into oauth_approvals (organization, id, client_id, principal, asked_at) values (1, 'apr_a', 'cli_a', $1, 1)`, person)
		tx.Queue(`insert into recents (organization, principal, switched_off, records) values (1, $1, false, '[]')`, person)
		tx.Queue(`insert into audit_lines (organization, id, at, principal, kind, credential, door, address, operation, word, target, changes, request_id)
			values (1, 'aud_a', 1, $1, 'session', '', 'web', '192.0.2.9', 'keys.pause', 'key.pause', 'key_a', '[]', 'req_a')`, person)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mentions returns the text columns of all tables that contain one of the words.
func mentions(t *testing.T, o *apitest.Office, words ...string) (found []string) {
	t.Helper()
	tables, err := schema.Tables(ctx, o.DB)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		for _, c := range table.Columns {
			for _, word := range words {
				if c.Type == "text" && count(t, o, `select count(*) from `+table.Name+` where lower(`+c.Name+`) like $1`,
					"%"+word+"%") > 0 {
					found = append(found, table.Name+"."+c.Name)
				}
			}
		}
	}
	return found
}

func keyOf(t *testing.T, o *apitest.Office, principal string) (id string) {
	t.Helper()
	if err := o.DB.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select id from api_keys where principal_id = $1`, principal).Scan(&id)
	}); err != nil {
		t.Fatal(err)
	}
	return id
}

func count(t *testing.T, o *apitest.Office, query string, args ...any) (n int64) {
	t.Helper()
	if err := o.Log.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := o.DB.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, query, args...).Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEraseRefused checks that the last admin cannot be erased. A person who gets a record between
// the count and the erasure cannot be erased either.
func TestEraseRefused(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		only := o.User(access.Admin)
		if _, err := call[any](t, o, "people.erase", op.ByID{ID: only}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("the last admin: %v", err)
		}
		c, other := o.As(access.Member), o.As(access.Admin)
		services := op.Services{Read: o.DB.Read}
		seen, err := optest.Prefetch(ctx, &op.Call{Actor: operatorOf(t, o), Services: &services}, offboarding.Erase,
			op.ByID{ID: c.Principal})
		if err != nil {
			t.Fatal(err)
		}
		create(other, "tasks", `{"title":"Frist","assigneeId":"`+c.Principal+`"}`)
		_, err = operator.Do(ctx, o.Operator, func(ctx context.Context, call *op.Call, in op.ByID) (access.PrincipalInfo, error) {
			call.Prefetched = seen
			return optest.Run(ctx, call, offboarding.Erase, in)
		}, op.ByID{ID: c.Principal})
		if !fault.Is(err, fault.Forbidden) || !strings.Contains(fault.From(err).Detail.In(i18n.English), "tasks (assigned) 1") {
			t.Errorf("with a task of meanwhile: %v", err)
		}
		if _, err := call[any](t, o, "people.erase", op.ByID{ID: only}); err != nil {
			t.Errorf("with another admin: %v", err)
		}
	})
}

func operatorOf(t *testing.T, o *apitest.Office) *access.Actor {
	t.Helper()
	a, _, err := o.Directory.Resolve(ctx, access.Presentation{Scheme: access.Local}, netip.Addr{}, true)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
