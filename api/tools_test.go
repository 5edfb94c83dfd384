package api_test

import (
	"net/http"
	"os"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/integration/grant"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestWaysAreTaken checks that calls go through the api.Door in KARTEI_TEST_DOOR. Each apitest.Way
// counts its calls, and the request log has the api.Door of each call.
func TestWaysAreTaken(t *testing.T) {
	for door, way := range map[string]*apitest.Way{"session": apitest.BySession, "mcp": apitest.ByTool} {
		t.Run(door, func(t *testing.T) {
			t.Setenv("KARTEI_TEST_DOOR", door)
			if apitest.Door() != string(way.Door) {
				t.Errorf("the door is %s, want %s", apitest.Door(), way.Door)
			}
			o := office(t)
			c := o.As(access.Member)
			before, _ := way.Sent()
			made := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
			at := "/contacts/" + made.Text("id")
			c.Do("PATCH", at, `{"lastName":"Thal"}`, "If-Match", made.Header.Get("ETag")).Want(200)
			c.Do("GET", "/contacts?q=thal", nil).Want(200)
			c.Do("DELETE", at, nil, "If-Match", "*").Want(204)
			if sent, stayed := way.Sent(); sent != before+4 {
				t.Errorf("%d calls travelled, want 4; others went by REST: %v", sent-before, stayed)
			}
			if got := doorOf(t, o, made); got != string(way.Door) {
				t.Errorf("the request log says door %s, want %s", got, way.Door)
			}
		})
	}
}

// doorOf returns the api.Door that the request log has for the call with the response a.
func doorOf(t *testing.T, o *apitest.Office, a *apitest.Answer) (door string) {
	t.Helper()
	if err := o.Log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	dbtest.Get(t, o.DB, []any{&door}, `select door from request_log where request_id = $1`, a.Header.Get("Request-Id"))
	return door
}

// TestWalksByTool repeats walks of the table of operations, with each call as a call of an MCP
// tool.
func TestWalksByTool(t *testing.T) {
	if os.Getenv("KARTEI_TEST_REPLICAS") != "" {
		t.Skip("replicas are on PostgreSQL, and the way is tried on SQLite")
	}
	apitest.Through(t, "mcp")
	for name, walk := range map[string]func(*testing.T){
		"scope": TestWalkScope, "parameters": TestWalkUnknownParameter, "language": TestWalkLanguage,
		"headers": TestWalkHeaders,
		"keys":    TestWalkIdempotencyKey, "preconditions": TestWalkPreconditions, "costs": TestWalkCost,
		"order": TestOrder, "replay": TestReplay,
		"sight": TestInvisibleIsUnknown, "rights": TestRights, "bodies": TestBadBodies, "queries": TestBadQueries,
		"ids": TestBadIds,
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := apitest.ByTool.Sent()
			walk(t)
			if sent, stayed := apitest.ByTool.Sent(); sent == before {
				t.Errorf("no call travelled as one of a tool: %v", stayed)
			}
		})
	}
}

// TestToolsDiffer checks that each stage in apitest.ByTool.Stages treats a call of an MCP tool and
// a REST call differently. It makes both calls, and checks the status of each. It also checks that
// the list recognizes each of these calls.
func TestToolsDiffer(t *testing.T) {
	apitest.Through(t, "")
	checked := map[string]bool{}
	known := func(stage string, c *apitest.Client, r *http.Request) {
		t.Helper()
		checked[stage] = true
		if got := apitest.ByTool.StageOf(c, r); got != stage {
			t.Errorf("%s %s differs by the stage %q, want %q", r.Method, r.URL, got, stage)
		}
	}
	differ := func(stage string, c *apitest.Client, method, path, body string, byREST, byTool int, headers ...string) {
		t.Helper()
		request := func() *http.Request { return c.Request(method, path, []byte(body), headers...) }
		if body == "" {
			request = func() *http.Request { return c.Request(method, path, nil, headers...) }
		}
		known(stage, c, request())
		c.Send(request()).Want(byREST)
		c.ByTool(request()).Want(byTool)
	}
	o := office(t)
	c := o.As(access.Member)
	at := "/contacts/" + c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	for _, same := range []*http.Request{
		c.Request("GET", "/contacts", nil), c.Request("GET", "/contacts?limit=50&q=x", nil),
		c.Request("GET", "/contacts?limit=0&nosuch=x", nil),
		c.Request("PATCH", at, `{"note":null}`, "If-Match", `"r7"`), c.Request("PATCH", at, `{"note":null}`),
		c.Request("DELETE", at, nil, "If-Match", "*"),
		c.Request("POST", "/tasks/tsk_0/complete", nil), c.Request("GET", "/contacts", nil, "Authorization", "Bearer x"),
	} {
		if got := apitest.ByTool.StageOf(c, same); got != "" {
			t.Errorf("%s %s, which is the same by both doors, differs by the stage %q", same.Method, same.URL, got)
		}
	}
	differ("door", c, "GET", at, "", 304, 200, "If-None-Match", `"r1"`)
	differ("organization", c, "GET", "/contacts", "", 403, 200, "Svc-Organization", "org_x")
	differ("version", c, "GET", "/contacts", "", 400, 200, "Svc-Version", "1999-01-01")
	differ("channel", c, "POST", "/contacts", `{"lastName":"Berg"}`, 404, 201, "Svc-Preview", "")
	differ("idempotency", c, "POST", "/contacts", `{"lastName":"Berg"}`, 400, 201, "Idempotency-Key", "")
	differ("precondition", c, "PATCH", at, `{"lastName":"Thal"}`, 412, 428, "If-Match", `W/"r1"`)
	differ("arguments", c, "POST", "/contacts?nosuch=1", `{"lastName":"Berg"}`, 400, 422)

	known("tool", c, c.Request("GET", "/openapi.json", nil))
	for op := range rows() {
		if r := c.Request(op.Method, somePath(op), `{}`); (apitest.ByTool.StageOf(c, r) == "tool") != (op.Tool() == "") {
			t.Errorf("%s has the tool %q", op.ID, op.Tool())
		}
	}

	anonymous := func() *http.Request { return c.Request("GET", at, nil, "Authorization", "") }
	known("authenticate", c, anonymous())
	c.Send(anonymous()).Want(401)
	c.ByTool(anonymous()).Want(401)
	client := grant.Client{
		Kind:         grant.Registered,
		Name:         "CRM",
		RedirectURIs: []string{"https://crm.example/cb"},
		Method:       grant.NoSecret,
	}
	token := &apitest.Client{Office: o, Key: o.Connect(&client, c.Principal, access.V1, "contacts:read").Access}
	differ("authenticate", token, "GET", at, "", 200, 401)

	metered := office(t, apitest.Metered()).As(access.Member)
	differ("page size", metered, "GET", "/contacts?limit=51", "", 200, 400)

	checked["request log"] = true
	read := c.Request("GET", "/contacts", nil)
	if a, b := doorOf(t, o, c.Send(read)), doorOf(t, o, c.ByTool(read)); a != string(api.REST) || b != string(api.MCP) {
		t.Errorf("the request log has the doors %s and %s", a, b)
	}
	for _, s := range apitest.ByTool.Stages {
		if s.Reason == "" || !checked[s.Name] {
			t.Errorf("nothing shows how the stage %q differs", s.Name)
		}
	}
}
