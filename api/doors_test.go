package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestTwoDoors checks that a key and a session of the same person get the same responses from every
// operation. It tries each role and restricted permissions, with own records, records of colleagues
// and of another organization, and unknown ids. Both read the same record. Changes use two records
// that are alike.
//
// apitest.BySession.Stages lists the stages of a call that treat the two differently.
// TestDoorsDiffer checks this list.
func TestTwoDoors(t *testing.T) {
	apitest.Through(t, "")
	o := office(t)
	others := map[string]*owner{
		"a colleague's":          {Client: o.As(access.Member)},
		"another organization's": {Client: ofAnother(t, o)},
	}
	compared := 0
	for who, change := range map[string]principal.Change{
		"admin": {Role: new(access.Admin)}, "member": {}, "viewer": {Role: new(access.Viewer)},
		"reader of all": {Rights: rightsTo(access.ReadRight)}, "reader of nothing": {Rights: rightsTo(access.NoRight)},
		"writer of tasks": {
			Rights: access.Rights{"contacts": access.NoRight, "companies": access.ReadRight, "documents": access.NoRight},
		},
	} {
		mine := &owner{Client: o.As(access.Member)}
		for op := range rows() {
			if op.Named() {
				mine.places(t, op) // creates the records while the person still has the permission
			}
		}
		change.ID = mine.Principal
		if _, err := o.Operator.SetUser(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		mine.narrowed = true
		for op := range rows() {
			if op.ID == "me.get" || op.ID == "rateLimit.get" || op.ID == "batch.run" {
				continue // apitest.BySession.Stages: answer, batch
			}
			d := &doors{T: t, who: who, Client: mine.Client, op: op}
			if !op.Named() {
				d.without()
			} else {
				d.with("own", mine)
				for place, other := range others {
					d.with(place, other)
				}
				d.compare("unknown", &pair{id.New(id.Contact), id.New(id.Contact)})
			}
			compared += d.compared
		}
	}
	t.Logf("%d pairs of calls", compared)
	if compared < 1000 {
		t.Errorf("only %d pairs of calls were compared", compared)
	}
}

func rightsTo(right access.Right) access.Rights {
	all := access.Rights{}
	for _, family := range access.Families {
		all[family] = right
	}
	return all
}

// ofAnother returns a member of another organization.
func ofAnother(t *testing.T, o *apitest.Office) *apitest.Client {
	t.Helper()
	other, _ := o.Organization("Kanzlei Abendroth")
	member := o.User(access.Member, other)
	return &apitest.Client{Office: o, Principal: member, Key: o.Key(member)}
}

// pair has the ids of two records that are alike. The call with the key uses the first, and the
// call in the session the second.
type pair [2]string

// owner is a person with records.
type owner struct {
	*apitest.Client
	pairs    map[string][]*pair // by family and visibility; calls use the last pair
	narrowed bool               // the person may no longer create records
}

// places returns pairs of records for calls of an operation, by their visibility.
func (o *owner) places(t *testing.T, op *api.Operation) map[string]*pair {
	t.Helper()
	found := map[string]*pair{}
	for _, visibility := range []string{"organization", "private"} {
		if p := o.pair(t, op.Family, visibility); p != nil {
			found[visibility] = p
		}
	}
	return found
}

func (o *owner) pair(t *testing.T, family, visibility string) *pair {
	t.Helper()
	if o.pairs == nil {
		o.pairs = map[string][]*pair{}
	}
	name := family + " " + visibility
	for n := len(o.pairs[name]); n < 2 && !o.narrowed; n++ { // one to delete, and one for the later calls
		o.pairs[name] = append(o.pairs[name], &pair{o.make(t, family, visibility), o.make(t, family, visibility)})
	}
	if n := len(o.pairs[name]); n > 0 {
		return o.pairs[name][n-1]
	}
	return nil
}

// make creates a record of a family, and returns its id.
func (o *owner) make(t *testing.T, family, visibility string) string {
	t.Helper()
	switch family {
	case "operations":
		return begun(t, o.Client)
	case "events":
		contact := makeRecord(t, o.Client, creator("contacts"), visibility)
		return eventOf(t, o.Client, contact)
	}
	return makeRecord(t, o.Client, creator(family), visibility)
}

// gone removes the last pair, which was deleted.
func (o *owner) gone(family, visibility string) {
	name := family + " " + visibility
	o.pairs[name] = o.pairs[name][:len(o.pairs[name])-1]
}

// doors compares the responses to a key and to a session for one person and one operation.
type doors struct {
	*testing.T
	*apitest.Client
	who      string
	op       *api.Operation
	compared int
}

// without calls an operation whose path has no id.
func (d *doors) without() {
	if d.op.Writes() {
		d.both("", d.op.Path, d.op.Path, "")
		return
	}
	for _, q := range queries(d.op) {
		d.both("", d.op.Path+"?"+q, d.op.Path+"?"+q, "")
	}
}

// with calls an operation with the records of an owner.
func (d *doors) with(place string, of *owner) {
	for visibility, p := range of.places(d.T, d.op) {
		if d.compare(place+", "+visibility, p) && d.op.Deletes() {
			of.gone(d.op.Family, visibility)
		}
	}
}

// compare calls an operation with the records of a pair. It reports whether the last call
// succeeded.
func (d *doors) compare(place string, p *pair) (done bool) {
	at := func(record string) string { return strings.Replace(d.op.Path, "{id}", record, 1) }
	if !d.op.Writes() {
		return d.both(place, at(p[0]), at(p[0]), "")
	}
	for _, ifMatch := range []string{"", `"r9"`, "malformed", "*"} {
		done = d.both(place, at(p[0]), at(p[1]), ifMatch)
	}
	return done
}

// both calls an operation with the key and in the session, and compares the responses. It reports
// whether both calls succeeded.
func (d *doors) both(place, byKey, bySession, ifMatch string) bool {
	d.T.Helper()
	request := func(path string) *http.Request {
		return d.Request(d.op.Method, path, example(d.T, d.op), "If-Match", ifMatch)
	}
	key, session := d.Send(request(byKey)), d.BySession(request(bySession))
	if byKey == bySession && !d.op.Writes() { // one record: the whole bodies are equal
		if a, b := wordless.ReplaceAllString(string(key.Body),
			""), wordless.ReplaceAllString(string(session.Body), ""); a != b {
			d.T.Errorf("%s, %s %s, %s:\nby the key     %s\nby the session %s", d.who, d.op.ID, byKey, place, a, b)
		}
	}
	if a, b := told(key), told(session); a != b {
		d.T.Errorf("%s, %s, %s with If-Match %s:\nby the key     %s\nby the session %s", d.who, d.op.ID, place, ifMatch, a, b)
	}
	d.compared++
	return key.Status < 400
}

var (
	wordless = regexp.MustCompile(`"(requestId|nextCursor|message)":"[^"]*"`)
	// perCall matches the values that differ between equal calls about two records.
	perCall = regexp.MustCompile(`"message":"[^"]*"|whsec_[A-Za-z0-9+/=]+|/uploads/[A-Za-z0-9_.-]+|"(etag|cursor)":"[^"]*"`)
)

// told returns the status, headers and body of a response without ids, times and secrets.
func told(a *apitest.Answer) string {
	return fmt.Sprintf("%d %s %s %s %s", a.Status, a.Header.Get("ETag"), a.Header.Get("Content-Type"),
		nameless(a.Header.Get("Location")), perCall.ReplaceAllString(nameless(string(a.Body)), "…"))
}

// TestDoorsDiffer checks that each stage in apitest.BySession.Stages treats a key and a session of
// one person differently. It makes a call with a key and a call in a session, and checks both
// responses. It also checks that the list recognizes each of these calls.
func TestDoorsDiffer(t *testing.T) {
	apitest.Through(t, "")
	o := office(t)
	s := &stages{T: t, checked: map[string]bool{}}
	c := o.As(access.Member)
	if got := apitest.BySession.StageOf(c, c.Request("GET", "/contacts", nil)); got != "" {
		t.Errorf("a call that is the same by both doors differs by the stage %q", got)
	}
	s.differ("door", c, "GET", "/documents/"+c.Document("Brief.txt", "text/plain", []byte("Guten Tag"))+"/content", "",
		206, 200, "Range", "bytes=0-4")
	s.differ("version", c, "GET", "/contacts?tag=Mandant", "", 400, 200)
	s.differ("version", c, "GET", "/contacts?sort=name", "", 400, 200)
	s.differ("version", c, "GET", "/contacts", "", 400, 200, "Svc-Version", "1999-01-01")
	s.differ("channel", c, "POST", "/contacts", `{"lastName":"Berg"}`, 404, 201, "Svc-Preview", "")
	s.differ("idempotency", c, "POST", "/contacts", `{"lastName":"Berg"}`, 400, 201, "Idempotency-Key", "")
	s.differ("authorize", o.As(access.Member, "contacts:read"), "GET", "/tasks", "", 403, 200)
	s.differ("limits", withoutPoints(t), "GET", "/contacts?q=berg", "", 429, 200)
	s.differ("gate", atLevelRead(t), "POST", "/contacts", `{"lastName":"Berg"}`, 403, 201)
	s.partsOfBatchDiffer(c)
	s.answersDiffer(c)
	s.requestLogDiffers(c)
	s.authenticationDiffers(c)
	for _, stage := range apitest.BySession.Stages {
		if stage.Reason == "" || !s.checked[stage.Name] {
			t.Errorf("nothing shows how the stage %s differs", stage.Name)
		}
	}
}

// stages notes the stages for which a test has checked that they differ.
type stages struct {
	*testing.T
	checked map[string]bool
}

// known returns a request. It fails the test unless apitest.BySession says that this stage treats
// the request differently.
func (s *stages) known(stage string, c *apitest.Client, method, path, body string, headers ...string) *http.Request {
	s.Helper()
	s.checked[stage] = true
	request := func() *http.Request {
		if body == "" {
			return c.Request(method, path, nil, headers...)
		}
		return c.Request(method, path, body, headers...)
	}
	if got := apitest.BySession.StageOf(c, request()); got != stage {
		s.Errorf("%s %s differs by the stage %q, want %q", method, path, got, stage)
	}
	return request()
}

// differ fails the test unless the request has the status byKey with a key and the status bySession
// in a session.
func (s *stages) differ(
	stage string, c *apitest.Client, method, path, body string, byKey, bySession int, headers ...string,
) {
	s.Helper()
	c.Send(s.known(stage, c, method, path, body, headers...)).Want(byKey)
	c.BySession(s.known(stage, c, method, path, body, headers...)).Want(bySession)
}

func (s *stages) partsOfBatchDiffer(c *apitest.Client) {
	s.Helper()
	parts := `{"calls":[{"method":"GET","path":"/contacts?tag=Mandant"}]}`
	for by, a := range map[string]*apitest.Answer{
		`"status":400`: c.Send(s.known("batch", c, "POST", "/batch", parts)),
		`"status":200`: c.BySession(s.known("batch", c, "POST", "/batch", parts)),
	} {
		if a.Want(200); !strings.Contains(string(a.Body), by) {
			s.Errorf("a part of a batch has not %s: %s", by, a.Body)
		}
	}
}

func (s *stages) answersDiffer(c *apitest.Client) {
	s.Helper()
	key, session := c.Send(s.known("answer", c, "GET", "/me",
		"")).Text("authMethod"), c.BySession(s.known("answer", c, "GET", "/me", "")).Text("authMethod")
	if key != "apiKey" || session != "session" {
		s.Errorf("/me says %s and %s", key, session)
	}
}

func (s *stages) requestLogDiffers(c *apitest.Client) {
	s.Helper()
	s.checked["request log"] = true
	logged := func(a *apitest.Answer) bool {
		s.Helper()
		if err := c.Log.Flush(s.Context()); err != nil {
			s.Fatal(err)
		}
		var n int
		dbtest.Get(s.T, c.DB, []any{&n}, `select count(*) from request_log where request_id = $1`,
			a.Want(200).Header.Get("Request-Id"))
		return n > 0
	}
	if !logged(c.Do("GET", "/contacts", nil)) || logged(c.BySession(c.Request("GET", "/contacts", nil))) {
		s.Error("the log has a read by a session, or none by a key")
	}
}

// authenticationDiffers checks that a wrong key is refused while a session of the same person still
// works.
func (s *stages) authenticationDiffers(c *apitest.Client) {
	s.Helper()
	token := c.Session(c.Principal)
	c.Key += "x"
	c.Send(s.known("authenticate", c, "GET", "/contacts", "")).Want(401)
	c.InSession(token, "/contacts").Want(200)
}

// withoutPoints returns a client with a key that has no points left.
func withoutPoints(t *testing.T) *apitest.Client {
	t.Helper()
	c := office(t, apitest.Metered()).As(access.Member)
	for range 200 {
		if c.Do("GET", "/contacts?q=berg", nil).Status == 429 {
			break
		}
	}
	return c
}

// atLevelRead returns a client of an organization in which programs may only read.
func atLevelRead(t *testing.T) *apitest.Client {
	t.Helper()
	o := office(t)
	level := access.Read
	c := o.As(access.Member)
	if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.SandboxID, Level: &level}); err != nil {
		t.Fatal(err)
	}
	return c
}
