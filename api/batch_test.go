package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/batch"
	"kartei/integration/limit"
	"kartei/integration/requestlog"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// TestBatch checks that every part has its own response with headers. The responses are in the
// order of the calls.
func TestBatch(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at := "/contacts/" + c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		a, results := c.Batch([]apitest.Part{
			{
				ID:      "new",
				Method:  "POST",
				Path:    "/contacts",
				Headers: map[string]string{"Idempotency-Key": "one"},
				Body:    []byte(`{"lastName":"Thal"}`),
			},
			{Method: "GET", Path: at},
			{Method: "GET", Path: at, Headers: map[string]string{"If-None-Match": `"r1"`}},
			{Method: "GET", Path: "/contacts?limit=1"},
			{Method: "PATCH", Path: "/contacts/con_x", Headers: map[string]string{"If-Match": "*"}, Body: []byte(`{}`)},
			{Method: "GET", Path: "/nothing"},
			{Method: "POST", Path: "/me"},
			{Method: "POST", Path: "/contacts", Headers: map[string]string{"Idempotency-Key": "two"}, Body: []byte(`[1]`)},
			{Method: "POST", Path: "/contacts", Headers: map[string]string{"Idempotency-Key": "three"}},
			{Method: "POST", Path: "/contacts", Body: []byte(`{"lastName":"Kern"}`)},
			{ID: "last", Method: "GET", Path: "/me?nosuch=1"},
		}, "Accept-Language", "en")
		a.Want(200)
		var got []string
		for _, r := range results {
			var body struct{ Code string }
			json.Unmarshal(r.Body, &body)
			got = append(got, strings.TrimSpace(fmt.Sprint(r.ID, " ", r.Status, " ", body.Code)))
		}
		want := "new 201|1 200|2 304|3 200|4 404 NOT_FOUND|5 404 NOT_FOUND|6 405 METHOD_NOT_ALLOWED|7 400 INVALID_REQUEST|8 400 INVALID_REQUEST|9 400 INVALID_REQUEST|last 400 UNKNOWN_PARAMETER"
		if strings.Join(got, "|") != want {
			t.Fatalf("%q\nwant %q", strings.Join(got, "|"), want)
		}
		var made struct{ ID string }
		json.Unmarshal(results[0].Body, &made)
		for _, h := range []struct {
			part        int
			name, value string
		}{
			{0, "Location", "/v1/contacts/" + made.ID}, {0, "ETag", `"r1"`}, {0, "Content-Type", "application/json"},
			{1, "ETag", `"r1"`}, {2, "ETag", `"r1"`},
			{5, "Content-Type", "application/problem+json"}, {5, "Content-Language", "en"}, {6, "Allow", "GET, HEAD"},
			{0, "Svc-Version", ""},
		} {
			if v := results[h.part].Headers[h.name]; v != h.value {
				t.Errorf("part %d: %s is %q, want %q", h.part, h.name, v, h.value)
			}
		}
		if string(results[2].Body) != "null" || !strings.Contains(string(results[5].Body), `"instance":"/v1/nothing"`) {
			t.Errorf("%s, %s", results[2].Body, results[5].Body)
		}
		seen := map[string]bool{a.Header.Get("Request-Id"): true}
		for i, r := range results {
			if id := r.Headers["Request-Id"]; seen[id] || !strings.HasPrefix(id, "req_") {
				t.Errorf("part %d has the Request-Id %q", i, id)
			} else {
				seen[id] = true
			}
		}
	})
}

// TestBatchBody checks that an invalid batch is refused as a whole, and that none of its parts
// runs.
func TestBatchBody(t *testing.T) {
	c := office(t).As(access.Member)
	create := `{"method":"POST","path":"/contacts","headers":{"Idempotency-Key":"k"},"body":{"lastName":"Berg"}}`
	with := func(call string) string { return `{"calls":[` + create + `,` + call + `]}` }
	for body, want := range map[string]string{
		`{"calls":[]}`: "422 VALIDATION_FAILED calls TOO_SHORT",
		`{}`:           "422 VALIDATION_FAILED calls REQUIRED",
		`{"calls":[` + strings.Repeat(create+",", batch.MaxCalls) + create + `]}`: "400 BATCH_TOO_LARGE",
		`{"calls":[` + strings.Repeat("1,", 5000) + `1],"nosuch":1}`:              "400 BATCH_TOO_LARGE",
		`{"calls":{}}`:                          "422 VALIDATION_FAILED calls INVALID_TYPE",
		`[]`:                                    "400 INVALID_REQUEST",
		with(`{"path":"/me"}`):                  "422 VALIDATION_FAILED calls[1].method REQUIRED",
		with(`{"method":"GET"}`):                "422 VALIDATION_FAILED calls[1].path REQUIRED",
		with(`{"method":"","path":"/me"}`):      "422 VALIDATION_FAILED calls[1].method TOO_SHORT",
		with(`{"method":"GET /","path":"/me"}`): "422 VALIDATION_FAILED calls[1].method INVALID_FORMAT",
		with(`{"method":"HEAD","path":"/documents/doc_x/content"}`):    "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
		with(`{"method":"GET","path":"me"}`):                           "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":""}`):                             "422 VALIDATION_FAILED calls[1].path TOO_SHORT",
		with(`{"method":"GET","path":"/v1/me"}`):                       "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"POST","path":"/v1/batch"}`):                   "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"https://kartei.example/v1/me"}`): "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/me#top"}`):                      "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/me HTTP/1.1"}`):                 "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/me\r\nHost: x"}`):               "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/contacts/%zz"}`):                "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/contacts/%"}`):                  "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/` + strings.Repeat("x", 8192) +
			`"}`): "422 VALIDATION_FAILED calls[1].path TOO_LONG",
		with(`{"method":"GET","path":"/me","headers":{"Authorization":"Bearer x"}}`):              "422 VALIDATION_FAILED calls[1].headers.Authorization UNKNOWN_FIELD",
		with(`{"method":"GET","path":"/me","headers":{"if-match":"*"}}`):                          "422 VALIDATION_FAILED calls[1].headers.if-match UNKNOWN_FIELD",
		with(`{"method":"GET","path":"/me","headers":{"Svc-Version":"2026-11-01"}}`):              "422 VALIDATION_FAILED calls[1].headers.Svc-Version UNKNOWN_FIELD",
		with(`{"method":"GET","path":"/me","headers":{"If-Match":["*"]}}`):                        "422 VALIDATION_FAILED calls[1].headers.If-Match INVALID_TYPE",
		with(`{"method":"GET","path":"/me","headers":{"Idempotency-Key":"a\r\nSvc-Version: x"}}`): "422 VALIDATION_FAILED calls[1].headers.Idempotency-Key INVALID_FORMAT",
		with(`{"method":"GET","path":"/me","headers":[]}`):                                        "422 VALIDATION_FAILED calls[1].headers INVALID_TYPE",
		with(`{"method":"GET","path":"/me","query":"a=1"}`):                                       "422 VALIDATION_FAILED calls[1].query UNKNOWN_FIELD",
		with(`{"id":"0","method":"GET","path":"/me"}`):                                            "422 VALIDATION_FAILED calls[1].id DUPLICATE",
		with(`{"id":"a","method":"GET","path":"/me"},{"id":"a","method":"GET","path":"/me"}`):     "422 VALIDATION_FAILED calls[2].id DUPLICATE",
		with(`{"id":"2","method":"GET","path":"/me"},{"method":"GET","path":"/me"}`):              "422 VALIDATION_FAILED calls[1].id DUPLICATE",
		with(`{"id":"","method":"GET","path":"/me"}`):                                             "422 VALIDATION_FAILED calls[1].id TOO_SHORT",
		with(`{"id":1,"method":"GET","path":"/me"}`):                                              "422 VALIDATION_FAILED calls[1].id INVALID_TYPE",
		with(`{"method":"POST","path":"/contacts","body":{"lastName":"a","lastName":"b"}}`):       "400 INVALID_REQUEST",
		with(`{"method":"POST","path":"/batch","body":{"calls":[` + create +
			`]}}`): "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
		with(`{"method":"GET","path":"/batch"}`):     "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
		with(`{"method":"GET","path":"/batch?x=1"}`): "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
		with(`{"method":"GET","path":"/openapi.json"},{"method":"GET","path":"/me"},{"method":"DELETE","path":"/users/usr_1"}`): "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM calls[3].path NOT_IN_ENUM",
		with(`{"method":"GET","path":"/documents/doc_1/content"}`):                                                              "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
		with(`{"method":"GET","path":"/webhook_endpoints/x/test"}`):                                                             "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
	} {
		a := c.Do("POST", "/batch", body)
		got := strings.TrimSpace(fmt.Sprint(a.Status, " ", a.Text("code"), " ", strings.Join(a.Fields(), " ")))
		if got != want {
			t.Errorf("%.200s\n%s, want %s", body, got, want)
		}
	}
	a := c.Do("POST", "/batch", with(`{"method":"GET","path":"me"}`), "Accept-Language", "en")
	if !strings.Contains(string(a.Body), "a path that begins with /") {
		t.Errorf("%s", a.Body)
	}
	if n := c.Do("GET", "/contacts/count", nil).JSON()["count"]; n != 0.0 {
		t.Errorf("%v contacts are there", n)
	}
}

// TestWalkBatchGivesSameAnswer calls each operation alone and as a part of a batch, on similar
// records. It checks that the responses are equal apart from ids, times and cursors.
func TestWalkBatchGivesSameAnswer(t *testing.T) {
	apitest.BySession.Except(t, "limits", "a batch goes by the key, and its headers have other limits")
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		same := 0
		for op := range rows() {
			if op.Batch == false {
				c.Batch([]apitest.Part{{Method: op.Method, Path: somePath(op)}})
				continue
			}
			same++
			for _, query := range []string{"", "?nosuch=1"} {
				o.Rest() // an unfinished document of an earlier call must count in both calls or in neither
				headers := []string{"If-Match", "*"}
				if !op.Writes() {
					headers = nil
				}
				alone := c.Do(op.Method, path(t, c, op)+query, ready(t, c, op), headers...)
				part := apitest.Part{Method: op.Method, Path: path(t, c, op) + query, Headers: map[string]string{}}
				if op.Writes() {
					part.Headers["If-Match"] = "*"
				}
				if op.Method == "POST" {
					part.Headers["Idempotency-Key"] = apitest.Fresh()
				}
				if body := ready(t, c, op); body != nil {
					part.Body, _ = json.Marshal(body)
				}
				_, results := c.Batch([]apitest.Part{part})
				got := results[0]
				if string(got.Body) == "null" {
					got.Body = nil
				}
				if got.Status != alone.Status || nameless(string(got.Body)) != nameless(string(alone.Body)) {
					t.Errorf("%s%s in a batch: %d %s\nalone: %d %s", op.ID, query, got.Status, got.Body, alone.Status, alone.Body)
				}
				if query == "" && got.Status != op.Status() {
					t.Errorf("%s: %d %s", op.ID, got.Status, got.Body)
				}
				for name, values := range alone.Header {
					if value, has := got.Headers[spelled(name)]; has != ownHeaders[name] ||
						has && nameless(value) != nameless(values[0]) {
						t.Errorf("%s%s: the header %s is %q in a batch and %q alone", op.ID, query, name, value, values[0])
					}
				}
				if len(got.Headers) > len(alone.Header) {
					t.Errorf("%s%s: headers %v in a batch, %v alone", op.ID, query, got.Headers, alone.Header)
				}
			}
		}
		if same < 20 {
			t.Errorf("a batch may hold %d rows only", same)
		}
	})
}

// ownHeaders are the headers that the response of a part has. The response of the batch has the
// other headers.
var ownHeaders = map[string]bool{
	"Content-Type": true, "Content-Language": true, "Location": true, "Etag": true, "Idempotent-Replayed": true,
	"Retry-After": true, "Allow": true,
	"Www-Authenticate": true, "Ratelimit": true, "Ratelimit-Policy": true, "Request-Id": true,
}

// spelled returns the name of a header as the results of a batch spell it.
func spelled(name string) string {
	for _, own := range []string{"ETag", "RateLimit", "RateLimit-Policy", "WWW-Authenticate"} {
		if strings.EqualFold(own, name) {
			return own
		}
	}
	return name
}

var ownIDs = regexp.MustCompile(`[a-z]{3}_[0-7][0-9a-z]{25}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|"(nextCursor)":"[^"]*"`)

// nameless replaces ids, times and cursors in a text.
func nameless(text string) string { return ownIDs.ReplaceAllString(text, "…") }

// TestWalksInBatch repeats the walks of the table of operations, and other tests of single calls.
// Each call is a part of a batch.
func TestWalksInBatch(t *testing.T) {
	apitest.Through(t, "batch")
	for name, walk := range map[string]func(*testing.T){
		"scope": TestWalkScope, "preview": TestWalkPreview, "parameters": TestWalkUnknownParameter,
		"language": TestWalkLanguage,
		"headers":  TestWalkHeaders, "keys": TestWalkIdempotencyKey, "preconditions": TestWalkPreconditions,
		"order":        TestOrder,
		"not modified": TestNotModified, "paused": TestPausedAndPending, "times": TestTimestamps,
		"unknown paths": TestUnknownPaths,
		"events":        TestWalkEvents, "costs": TestWalkCost, "levels": TestWalkLevels, "lock": TestLockOfAKey,
		"quota":  TestQuotaExhausted,
		"replay": TestReplay, "key scope": TestKeyScope, "stored": TestRefusedIsNotStored, "in progress": TestInProgress,
		"crash": TestCrashStoresNothing, "module off": TestModuleOff, "gate": TestGate, "sight": TestInvisibleIsUnknown,
		"rights":    TestRights,
		"confirmed": TestCachedCallerIsConfirmed, "bodies": TestBadBodies, "queries": TestBadQueries, "ids": TestBadIds,
		"versions": TestVersionOfTheRequest, "candidate": TestCandidate, "retirement": TestRetirement,
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv("KARTEI_TEST_REPLICAS") != "" && (name == "lock" || name == "quota") {
				t.Skip("about the limits of one replica")
			}
			before := apitest.SentInBatch()
			if walk(t); apitest.SentInBatch() == before {
				t.Error("no call travelled in a batch")
			}
		})
	}
}

// TestBatchCosts checks that a batch costs the sum of its parts in every policy. The headers of the
// batch show the points that remain after all parts.
func TestBatchCosts(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		o = apitest.New(t, o.DB, apitest.Metered())
		c := o.As(access.Member)
		at := "/contacts/" + c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		o.Clock.Advance(10 * time.Minute)
		before := allLeft(t, c)
		a, results := c.Batch([]apitest.Part{
			{Method: "POST", Path: "/contacts", Headers: map[string]string{"Idempotency-Key": "k"}, Body: []byte(`{"lastName":"Thal"}`)}, // costs 5
			{Method: "GET", Path: "/tasks"},       // costs 2
			{Method: "GET", Path: "/tasks?q=x"},   // costs 7
			{Method: "GET", Path: at},             // costs 1
			{Method: "GET", Path: "/me"},          // costs 1
			{Method: "GET", Path: "/me?nosuch=1"}, // costs 1
			{Method: "GET", Path: "/nothing"},
			{Method: "DELETE", Path: "/contacts/con_x", Headers: map[string]string{"If-Match": "*"}}, // costs 10
		})
		a.Want(200)
		after := allLeft(t, c)
		want := map[string]int{
			"key": 28, "principal": 28, "organization": 28, "writes": 2, "deletes": 1, "deletes-day": 1,
			"outflow": 1,
		}
		for name, n := range before {
			if took := n - after[name]; took != want[name] {
				t.Errorf("took %d of %s, want %d", took, name, want[name])
			}
		}
		if got := a.Header.Get("RateLimit"); !strings.HasPrefix(got, `"deletes";r=9;t=`) {
			t.Errorf("RateLimit of the batch: %q", got)
		}
		if got := a.Header.Get("RateLimit-Policy"); strings.Count(got, ";q=") != 8 {
			t.Errorf("RateLimit-Policy of the batch: %q", got)
		}
		if got := results[6].Headers["RateLimit"]; !strings.HasPrefix(got, `"key";r=600`) {
			t.Errorf("RateLimit of an unknown path: %q", got)
		}
	})
}

// parts returns n copies of a part.
func parts(n int, p apitest.Part) (list []apitest.Part) {
	for range n {
		list = append(list, p)
	}
	return list
}

var me = apitest.Part{Method: "GET", Path: "/me"}

// TestBatchOverTheLimit checks that parts over a limit are refused singly. Each refusal counts for
// the lock of the key. Once the key is locked, the batch itself is refused.
func TestBatchOverTheLimit(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		o = apitest.New(t, o.DB, apitest.Metered())
		c := o.As(access.Member)
		for i := range 31 {
			a, results := c.Batch(parts(20, me))
			a.Want(200)
			for _, r := range results {
				if want := map[bool]int{true: 200, false: 429}[i < 30]; r.Status != want {
					t.Fatalf("batch %d: %d %s", i, r.Status, r.Body)
				} else if want == 429 && (r.Headers["Retry-After"] != "120" ||
					!strings.Contains(string(r.Body), `"violated-policies":["key"]`)) {
					t.Fatalf("batch %d: %v %s", i, r.Headers, r.Body)
				}
			}
			if i == 30 && !strings.HasPrefix(a.Header.Get("RateLimit"), `"key";r=0;`) {
				t.Errorf("RateLimit %q", a.Header.Get("RateLimit"))
			}
		}
		c.Batch(parts(20, me)) // 40 refusals
		a, results := c.Batch(parts(20, me))
		a.Want(200)
		locked := 0
		for _, r := range results {
			if r.Status != 429 {
				t.Errorf("%d %s", r.Status, r.Body)
			}
			if r.Headers["Retry-After"] == "300" {
				locked++
			}
		}
		if locked != 10 { // the 51st refusal locks the key
			t.Errorf("%d parts name the lock", locked)
		}
		if a, _ := c.Batch([]apitest.Part{me}); a.Status != 429 || a.Header.Get("Retry-After") != "300" {
			t.Errorf("a batch of a locked key: %d %s", a.Status, a.Body)
		}
		o.Clock.Advance(10 * time.Minute)
		// The limit is 60 writes a minute, whether in batches or not.
		create := apitest.Part{Method: "POST", Path: "/contacts", Body: []byte(`{"lastName":"Berg"}`)}
		made := 0
		for range 4 {
			list := parts(20, create)
			for i := range list {
				list[i].Headers = map[string]string{"Idempotency-Key": apitest.Fresh()}
			}
			_, results := c.Batch(list)
			for _, r := range results {
				if r.Status == 201 {
					made++
				} else if !strings.Contains(string(r.Body), `"violated-policies":["writes"]`) {
					t.Errorf("%d %s", r.Status, r.Body)
				}
			}
		}
		if made != 60 {
			t.Errorf("%d were made", made)
		}
	})
}

// TestBatchIsOneCall checks that a batch counts as one of the six concurrent calls of a key. Its
// parts do not count.
func TestBatchIsOneCall(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		o = apitest.New(t, o.DB, apitest.Metered())
		c := o.As(access.Member)
		var ends []func()
		for range 5 {
			ends = append(ends, hang(t, c))
		}
		_, results := c.Batch(parts(20, me))
		for i, r := range results {
			if r.Status != 200 {
				t.Errorf("part %d beside five calls: %d %s", i, r.Status, r.Body)
			}
		}
		ends = append(ends, hang(t, c))
		a, _ := c.Batch([]apitest.Part{me})
		if a.Want(429, "RATE_LIMITED"); fmt.Sprint(a.JSON()["violated-policies"]) != "[concurrency]" {
			t.Errorf("%s", a.Body)
		}
		for _, end := range ends {
			end()
		}
		if n := allLeft(t, c)["concurrency"]; n != 6 {
			t.Errorf("%d may run when none does", n)
		}
	})
}

// readHook calls the function in the context, if there is one, before each read transaction.
type readHook struct{ db.DB }

func (d readHook) Read(ctx context.Context, f func(db.Tx) error) error {
	if hook, is := ctx.Value(hookKey{}).(func()); is {
		hook()
	}
	return d.DB.Read(ctx, f)
}

// TestBatchOfARevokedKey revokes a key during a batch. It checks that the parts that have not
// started yet fail.
func TestBatchOfARevokedKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, readHook{d})
		c := o.As(access.Member)
		key := keyID(c)
		revoke := sync.OnceFunc(func() {
			if _, err := o.Operator.RevokeKey(context.Background(), op.ByID{ID: key}); err != nil {
				t.Error(err)
			}
		})
		r := c.Request("POST", "/batch", map[string]any{"calls": parts(20, apitest.Part{Method: "GET", Path: "/contacts"})})
		a := c.Send(r.WithContext(context.WithValue(r.Context(), hookKey{}, revoke)))
		if a.Status == 401 { // PostgreSQL confirms the key before the first part
			return
		}
		var body struct{ Results []struct{ Status int } }
		json.Unmarshal(a.Want(200).Body, &body)
		for i, part := range body.Results {
			if part.Status != 401 && (i >= 4 || part.Status != 200) {
				t.Errorf("part %d of a revoked key: %d", i, part.Status)
			}
		}
		c.Do("GET", "/me", nil).Want(401)
	})
}

// TestBatchIsLogged checks that the request log has an entry for the batch and one for each part.
// The entry of a part has the request id of the batch.
func TestBatchIsLogged(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	a, results := c.Batch([]apitest.Part{me, {Method: "GET", Path: "/contacts"}, {Method: "GET", Path: "/nothing"}})
	id := a.Want(200).Header.Get("Request-Id")
	lines := map[string]string{}
	out, err := o.Requests(requestlog.QueryInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range out.Data {
		lines[l.RequestID] = fmt.Sprint(l.Operation, " ", l.Status, " ", l.Batch)
	}
	want := map[string]string{
		id: "batch.run 200 ", results[0].Headers["Request-Id"]: "me.get 200 " + id,
		results[1].Headers["Request-Id"]: "contacts.list 200 " + id, results[2].Headers["Request-Id"]: " 404 " + id,
	}
	if !maps.Equal(lines, want) {
		t.Errorf("%v\nwant %v", lines, want)
	}
}

// TestBatchOnOneRecord checks that exactly one of several parts that change the same revision
// succeeds. Parts with the same idempotency key create one record. The order of the parts does not
// matter.
func TestBatchOnOneRecord(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at := "/contacts/" + c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		var list []apitest.Part
		for i := range 10 {
			list = append(list,
				apitest.Part{
					Method:  "PATCH",
					Path:    at,
					Headers: map[string]string{"If-Match": `"r1"`},
					Body:    fmt.Appendf(nil, `{"note":"%d"}`, i),
				},
				apitest.Part{
					Method:  "POST",
					Path:    "/contacts",
					Headers: map[string]string{"Idempotency-Key": "same"},
					Body:    []byte(`{"lastName":"Thal"}`),
				})
		}
		_, results := c.Batch(list)
		count := map[string]int{}
		for i, r := range results {
			count[list[i].Method+" "+strconv.Itoa(r.Status)+r.Headers["Idempotent-Replayed"]]++
		}
		if count["PATCH 200"] != 1 || count["PATCH 412"] != 9 || count["POST 201"] != 1 ||
			count["POST 201true"]+count["POST 409"] != 9 {
			t.Errorf("%v", count)
		}
		if n := c.Do("GET", "/contacts/count", nil).JSON()["count"]; n != 2.0 {
			t.Errorf("%v contacts", n)
		}
	})
}

// TestBatchPaths sends unusual spellings of paths as parts of a batch and as single calls. It
// checks that a part reaches no more than a single call. No spelling reaches a batch, a path
// outside /v1, or another host.
func TestBatchPaths(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	for _, at := range []string{
		"/", "//", "//me", "/me/", "/me//", "/./me", "/contacts/../batch", "/contacts/../me", "/contacts/%2e%2e/batch",
		"/%2e%2e/batch", "/%2e%2e/healthz", "/../healthz",
		"/batch/", "/%62atch", "/BATCH", "/batch;x=1", "/batch%3fx", "/%2Fme", "/me%00", "/m%65",
		"//kartei.example/v1/me", "/http://kartei.example/v1/me",
		"/contacts/%2fme", "/contacts/ä", "/tasks/x/complete/", "/users%2fx", "/%75sers", "/contacts/con_x/batch", `/\me`,
		"/me\\", "/*", "/@me", "/me?", "/contacts?limit=%31&q=M%C3%BCller", "/contacts?q=Müller",
		"/contacts?q=a+b", "/contacts?limit=1?limit=2", "/contacts?q=%zz", "/contacts?%71=a", "/contacts?limit=1;limit=2",
		"/rate_limit?q=%00",
	} {
		u, err := url.ParseRequestURI("/v1" + at)
		if err != nil {
			t.Fatal(err)
		}
		r := c.Request("GET", "/me", nil)
		r.URL, r.RequestURI = u, "/v1"+at
		w := httptest.NewRecorder()
		o.Handler.ServeHTTP(w, r)
		a, results := c.Batch([]apitest.Part{{Method: "GET", Path: at}})
		if results == nil {
			t.Errorf("%s: the batch is refused: %s", at, a.Body)
			continue
		}
		got := results[0]
		if got.Status != w.Code || nameless(string(got.Body)) != nameless(w.Body.String()) {
			t.Errorf("%s in a batch: %d %s\nalone: %d %s", at, got.Status, got.Body, w.Code, w.Body)
		}
	}
}

// TestBatchForeign checks that parts get the same responses for a record of another organization as
// for a record that never existed.
func TestBatchForeign(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		away, _ := o.Organization("Kanzlei Abendroth")
		other := o.User(access.Admin, away)
		stranger := &apitest.Client{Office: o, Principal: other, Key: o.Key(other)}
		theirs, none := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id"), id.New(id.Contact)
		var list []apitest.Part
		for _, record := range []string{theirs, none} {
			any := map[string]string{"If-Match": "*"}
			list = append(list, apitest.Part{Method: "GET", Path: "/contacts/" + record},
				apitest.Part{Method: "DELETE", Path: "/contacts/" + record, Headers: any},
				apitest.Part{Method: "PATCH", Path: "/contacts/" + record, Headers: any, Body: []byte(`{"note":"x"}`)},
				apitest.Part{
					Method:  "POST",
					Path:    "/tasks",
					Headers: map[string]string{"Idempotency-Key": apitest.Fresh()},
					Body:    []byte(`{"title":"a","contactId":"` + record + `"}`),
				})
		}
		_, results := stranger.Batch(list)
		for i := range 4 {
			if a, b := results[i], results[i+4]; a.Status != b.Status || a.Status < 400 ||
				nameless(string(a.Body)) != nameless(string(b.Body)) {
				t.Errorf("part %d: %d %s\n%d %s", i, a.Status, a.Body, b.Status, b.Body)
			}
		}
		c.Do("GET", "/contacts/"+theirs, nil).Want(200)
	})
}

// TestBatchOfLargeAnswers checks that the responses of a batch use bounded memory. Parts beyond the
// bound are refused before they run, and cost nothing.
func TestBatchOfLargeAnswers(t *testing.T) {
	o := office(t, apitest.Metered(limit.Override{Name: "writes", Quota: 1000, Capacity: 1000},
		limit.Override{Name: "key", Quota: 10_000, Capacity: 10_000}))
	c := o.As(access.Member)
	note := strings.Repeat("\U0001F4C1", 10_000)
	for range 100 { // a page of 4 MB
		c.Do("POST", "/contacts", `{"lastName":"Berg","note":"`+note+`"}`).Want(201)
	}
	before := allLeft(t, c)["key"]
	a, results := c.Batch(parts(20, apitest.Part{Method: "GET", Path: "/contacts?limit=100"}))
	full := 0
	for i, r := range results {
		switch {
		case r.Status == 200:
			full++
		case r.Status != 429 || !strings.Contains(string(r.Body), "OVERLOADED") || r.Headers["Retry-After"] != "1":
			t.Errorf("part %d: %d %.200s", i, r.Status, r.Body)
		}
	}
	if full < 4 || full == 20 || len(a.Body) > 70<<20 {
		t.Errorf("%d parts were answered, with %d bytes", full, len(a.Body))
	}
	if took := before - allLeft(t, c)["key"]; took != 2*full+1 {
		t.Errorf("%d parts that were answered took %d points", full, took)
	}
	// Twenty large bodies must fit into a megabyte together.
	body, _ := json.Marshal(map[string]string{"lastName": "Berg", "note": strings.Repeat("x", 10_000)})
	list := parts(20, apitest.Part{Method: "POST", Path: "/contacts", Body: body})
	for i := range list {
		list[i].Headers = map[string]string{"Idempotency-Key": apitest.Fresh()}
	}
	_, results = c.Batch(list)
	for i, r := range results {
		if r.Status != 201 {
			t.Errorf("part %d: %d %s", i, r.Status, r.Body)
		}
	}
	body, _ = json.Marshal(map[string]string{"lastName": "Berg", "note": strings.Repeat("x", 60_000)})
	for i := range list {
		list[i].Body = body
	}
	a, _ = c.Batch(list)
	a.Want(413, "PAYLOAD_TOO_LARGE")
}

// TestRandomBatches sends the same calls to two offices: in batches to one, and singly to the
// other. It checks that the responses and the final records are equal. No two calls of a batch use
// the same record.
func TestRandomBatches(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		alone := apitest.New(t, dbtest.SQLite(t))
		sides := [2]*batchSide{newBatchSide(o.As(access.Member)), newBatchSide(alone.As(access.Member))}
		random := seed.Rand(t)
		statuses := map[int]int{}
		for round := range 40 {
			calls := randomCalls(random, len(sides[0].records), round)
			var answers [2][]string
			_, results := sides[0].Batch(sides[0].parts(calls))
			for i, r := range results {
				statuses[r.Status]++
				answers[0] = append(answers[0], sides[0].record(calls[i], r.Status, r.Headers["ETag"], r.Body))
			}
			for i, p := range sides[1].parts(calls) {
				headers := []string{"Idempotency-Key", ""}
				for name, value := range p.Headers {
					headers = append(headers, name, value)
				}
				var body any
				if p.Body != nil {
					body = []byte(p.Body)
				}
				a := sides[1].Do(p.Method, p.Path, body, headers...)
				answers[1] = append(answers[1], sides[1].record(calls[i], a.Status, a.Header.Get("ETag"), a.Body))
			}
			for i := range calls {
				if answers[0][i] != answers[1][i] {
					t.Fatalf("round %d, %+v\nin a batch %s\nalone      %s", round, calls[i], answers[0][i], answers[1][i])
				}
			}
		}
		for _, status := range []int{200, 201, 204, 304, 400, 404, 412, 422, 428} {
			if statuses[status] == 0 {
				t.Errorf("no part was answered %d: %v", status, statuses)
			}
		}
		var there [2][]string
		for i, s := range sides {
			for _, path := range []string{"/contacts", "/tasks"} {
				for id, revision := range visibleTo(t, s.Client, path) {
					there[i] = append(there[i], fmt.Sprint(s.names[id], " ", revision))
				}
			}
			slices.Sort(there[i])
			events := 0
			for cursor := ""; ; {
				a := s.Do("GET", "/events?limit=100"+cursor, nil).Want(200)
				events += len(a.Data())
				if a.JSON()["hasMore"] != true {
					break
				}
				cursor = "&cursor=" + a.Text("nextCursor")
			}
			there[i] = append(there[i], fmt.Sprint(events, " events"))
		}
		if !slices.Equal(there[0], there[1]) {
			t.Errorf("in the end there is %q\nand %q", there[0], there[1])
		}
	})
}

// randomCall is a call with the index of its record, or with -1 for none.
type randomCall struct {
	kind   string
	record int
	value  string
}

// randomCalls returns the calls of one batch. records is the number of records that the calls can
// use.
func randomCalls(random *rand.Rand, records, round int) (calls []randomCall) {
	free := random.Perm(records)
	for n := 1 + random.IntN(20); len(calls) < n; {
		c := randomCall{"", -1, fmt.Sprintf("Name %d-%d", round, len(calls))}
		kinds := []string{
			"contact", "contact", "task", "no key", "wrong body", "bad body", "unknown", "method", "me",
			"parameter",
		}
		if len(free) > 0 && random.IntN(3) > 0 {
			c.record, free = free[0], free[1:]
			kinds = []string{
				"read", "not modified", "change", "change", "same", "stale", "unconditional", "malformed", "delete",
				"complete", "replay",
			}
		}
		c.kind = kinds[random.IntN(len(kinds))]
		calls = append(calls, c)
	}
	return calls
}

// batchSide is one of two offices with the same calls, whose records should stay equal.
type batchSide struct {
	*apitest.Client
	records []string       // the path of each record, in the order of creation
	names   map[string]int // the index in records of each id
	keys    []apitest.Part // the call that created each record, with its idempotency key
}

func newBatchSide(c *apitest.Client) *batchSide {
	return &batchSide{Client: c, names: map[string]int{}}
}

func (s *batchSide) parts(calls []randomCall) (list []apitest.Part) {
	for _, c := range calls {
		at, key := "", map[string]string{"Idempotency-Key": "key " + c.value}
		if c.record >= 0 {
			at = s.records[c.record]
		}
		with := func(name, value string) map[string]string { return map[string]string{name: value} }
		body := func(member string) []byte { return fmt.Appendf(nil, `{%q:%q}`, member, c.value) }
		tags := fmt.Appendf(nil, `{"tags":[%q]}`, c.value)
		list = append(list, map[string]apitest.Part{
			"contact":       {Method: "POST", Path: "/contacts", Headers: key, Body: body("lastName")},
			"task":          {Method: "POST", Path: "/tasks", Headers: key, Body: body("title")},
			"no key":        {Method: "POST", Path: "/contacts", Body: body("lastName")},
			"wrong body":    {Method: "POST", Path: "/contacts", Headers: key, Body: []byte(`{"email":"no","nosuch":1}`)},
			"bad body":      {Method: "POST", Path: "/tasks", Headers: key, Body: []byte(`["title"]`)},
			"unknown":       {Method: "GET", Path: "/contacts/con_x"},
			"method":        {Method: "DELETE", Path: "/contacts"},
			"me":            {Method: "GET", Path: "/me", Headers: with("If-None-Match", "*")},
			"parameter":     {Method: "GET", Path: "/contacts?limit=0"},
			"read":          {Method: "GET", Path: at},
			"not modified":  {Method: "GET", Path: at, Headers: with("If-None-Match", `"r1", "r2"`)},
			"change":        {Method: "PATCH", Path: at, Headers: with("If-Match", "*"), Body: tags},
			"same":          {Method: "PATCH", Path: at, Headers: with("If-Match", "*"), Body: []byte(`{}`)},
			"stale":         {Method: "PATCH", Path: at, Headers: with("If-Match", `"r1"`), Body: tags},
			"unconditional": {Method: "PATCH", Path: at, Body: tags},
			"malformed":     {Method: "PATCH", Path: at, Headers: with("If-Match", "r1"), Body: tags},
			"delete":        {Method: "DELETE", Path: at, Headers: with("If-Match", "*")},
			"complete":      {Method: "POST", Path: strings.Replace(at, "/contacts/", "/tasks/", 1) + "/complete"},
			"replay":        s.made(c.record),
		}[c.kind])
	}
	return list
}

func (s *batchSide) made(record int) apitest.Part {
	if record < 0 {
		return apitest.Part{}
	}
	return s.keys[record]
}

// record notes the record that a call created. It returns the response without the parts that
// differ between two offices.
func (s *batchSide) record(c randomCall, status int, tag string, body []byte) string {
	if status == 201 && c.kind != "replay" {
		var made struct {
			ID     string `json:"id"`
			Object string `json:"object"`
		}
		json.Unmarshal(body, &made)
		s.names[made.ID] = len(s.records)
		s.records = append(s.records, "/"+made.Object+"s/"+made.ID)
		s.keys = append(s.keys, s.parts([]randomCall{c})[0])
	}
	if c.kind == "me" {
		body = nil // the body has a person's id
	}
	if string(body) == "null" {
		body = nil
	}
	return fmt.Sprint(status, " ", tag, " ", nameless(string(body)))
}

// FuzzBatch sends any text as the body of a batch. It checks that the status is never 5xx, and that
// the response of each part fits the OpenAPI document.
func FuzzBatch(f *testing.F) {
	for _, seed := range []string{
		`{"calls":[{"method":"GET","path":"/me"}]}`, `{"calls":[]}`,
		`{"calls":[{"id":"a","method":"POST","path":"/contacts","headers":{"Idempotency-Key":"k"},"body":{"lastName":"x"}}]}`,
		`{"calls":[{"method":"PATCH","path":"/contacts/con_x","headers":{"If-Match":"*","If-None-Match":null},"body":null},{"method":"GET","path":"/contacts?q=%zz"}]}`,
		`{"calls":[{"method":"GET","path":"/batch"}]}`, `{"calls":[{"method":"GET","path":"//x?#"}]}`,
		`{"calls":[{"method":"POST","path":"/tasks","body":[1e999,"\ud800"]}]}`, `{"calls":null}`, `[]`, `{"calls":[1]}`,
		`{"calls":[{"id":"1","method":"GET","path":"/%00"},{"method":"DELETE","path":"/events/%2f"}]}`,
	} {
		f.Add(seed)
	}
	o := office(f)
	c := o.As(access.Member)
	f.Fuzz(func(t *testing.T, body string) {
		c := *c
		c.Office = &apitest.Office{}
		*c.Office = *o
		c.Office.TB = t
		a := c.Do("POST", "/batch", body)
		if told := o.Logged.Take(); a.Status >= 500 || told != "" {
			t.Fatalf("%d %s, the log has %q", a.Status, a.Body, told)
		}
		if a.Status != 200 {
			return
		}
		var sent struct {
			Calls []struct{ Method, Path string }
		}
		var got struct{ Results []apitest.Result }
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(a.Body, &got); err != nil || len(got.Results) != len(sent.Calls) {
			t.Fatalf("%d calls, %d results, %v", len(sent.Calls), len(got.Results), err)
		}
		for i, r := range got.Results {
			header := a.Header.Clone()
			for name := range ownHeaders {
				header.Del(name)
			}
			for name, value := range r.Headers {
				header.Set(name, value)
			}
			part := []byte(r.Body)
			if string(part) == "null" {
				part = nil
			}
			at, err := url.ParseRequestURI("/v1" + sent.Calls[i].Path)
			if err != nil {
				t.Fatal(err)
			}
			if r.Status >= 500 {
				t.Fatalf("part %d: %d %s", i, r.Status, r.Body)
			}
			apitest.Conform(t, apitest.Current(), sent.Calls[i].Method, at.EscapedPath()[len("/v1"):], r.Status, header, part)
		}
	})
}

// TestBatchMethods checks that a part whose path does not support its method gets its own 405. HEAD
// works like GET.
func TestBatchMethods(t *testing.T) {
	c := office(t).As(access.Member)
	parts := []string{
		"HEAD /me", "PUT /me", "get /me", "TRACE /contacts", "GET /me", "HEAD /nothing", "PUT /nothing",
		"PUT /contacts/count",
	}
	var calls []string
	for _, part := range parts {
		method, path, _ := strings.Cut(part, " ")
		calls = append(calls, `{"method":"`+method+`","path":"`+path+`"}`)
	}
	a := c.Do("POST", "/batch", `{"calls":[`+strings.Join(calls, ",")+`]}`).Want(200)
	for i, want := range []string{
		"200 ", "405 GET, HEAD", "405 GET, HEAD", "405 GET, HEAD, POST", "200 ", "404 ", "404 ",
		"405 GET, HEAD",
	} {
		r := a.JSON()["results"].([]any)[i].(map[string]any)
		headers := r["headers"].(map[string]any)
		allow, _ := headers["Allow"].(string)
		if got := fmt.Sprintf("%v %s", r["status"], allow); got != want {
			t.Errorf("%s: %s, want %s", parts[i], got, want)
		}
		if head := strings.HasPrefix(parts[i], "HEAD"); head != (r["body"] == nil) {
			t.Errorf("%s: body %v", parts[i], r["body"])
		}
	}
}
