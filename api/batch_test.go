package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kartei/access"
	"kartei/apitest"
	"kartei/batch"
)

// TestBatch: every part has its own answer, in the order of the calls, with
// the headers that are its own.
func TestBatch(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at := "/contacts/" + c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		a, results := c.Batch([]apitest.Part{
			{ID: "new", Method: "POST", Path: "/contacts", Headers: map[string]string{"Idempotency-Key": "one"}, Body: []byte(`{"lastName":"Thal"}`)},
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
			{0, "Location", "/v1/contacts/" + made.ID}, {0, "ETag", `"r1"`}, {0, "Content-Type", "application/json"}, {1, "ETag", `"r1"`}, {2, "ETag", `"r1"`},
			{5, "Content-Type", "application/problem+json"}, {5, "Content-Language", "en"}, {6, "Allow", "GET, HEAD"}, {0, "Svc-Version", ""},
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

// TestBatchBody: what is refused as a whole runs nothing.
func TestBatchBody(t *testing.T) {
	c := office(t).As(access.Member)
	create := `{"method":"POST","path":"/contacts","headers":{"Idempotency-Key":"k"},"body":{"lastName":"Berg"}}`
	with := func(call string) string { return `{"calls":[` + create + `,` + call + `]}` }
	for body, want := range map[string]string{
		`{"calls":[]}`: "422 VALIDATION_FAILED calls TOO_SHORT",
		`{}`:           "422 VALIDATION_FAILED calls REQUIRED",
		`{"calls":[` + strings.Repeat(create+",", batch.Most) + create + `]}`: "400 BATCH_TOO_LARGE",
		`{"calls":[` + strings.Repeat("1,", 5000) + `1],"nosuch":1}`:          "400 BATCH_TOO_LARGE",
		`{"calls":{}}`:                         "422 VALIDATION_FAILED calls INVALID_TYPE",
		`[]`:                                   "400 INVALID_REQUEST",
		with(`{"path":"/me"}`):                 "422 VALIDATION_FAILED calls[1].method REQUIRED",
		with(`{"method":"GET"}`):               "422 VALIDATION_FAILED calls[1].path REQUIRED",
		with(`{"method":"HEAD","path":"/me"}`): "422 VALIDATION_FAILED calls[1].method NOT_IN_ENUM",
		with(`{"method":"PUT","path":"/me"}`):  "422 VALIDATION_FAILED calls[1].method NOT_IN_ENUM",
		with(`{"method":"get","path":"/me"}`):  "422 VALIDATION_FAILED calls[1].method NOT_IN_ENUM",
		with(`{"method":"GET","path":"me"}`):   "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":""}`):     "422 VALIDATION_FAILED calls[1].path TOO_SHORT",
		with(`{"method":"GET","path":"https://kartei.example/v1/me"}`):                                                          "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/me#top"}`):                                                                               "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/me HTTP/1.1"}`):                                                                          "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/me\r\nHost: x"}`):                                                                        "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/contacts/%zz"}`):                                                                         "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/contacts/%"}`):                                                                           "422 VALIDATION_FAILED calls[1].path INVALID_FORMAT",
		with(`{"method":"GET","path":"/` + strings.Repeat("x", 8192) + `"}`):                                                    "422 VALIDATION_FAILED calls[1].path TOO_LONG",
		with(`{"method":"GET","path":"/me","headers":{"Authorization":"Bearer x"}}`):                                            "422 VALIDATION_FAILED calls[1].headers.Authorization UNKNOWN_FIELD",
		with(`{"method":"GET","path":"/me","headers":{"if-match":"*"}}`):                                                        "422 VALIDATION_FAILED calls[1].headers.if-match UNKNOWN_FIELD",
		with(`{"method":"GET","path":"/me","headers":{"Svc-Version":"2026-11-01"}}`):                                            "422 VALIDATION_FAILED calls[1].headers.Svc-Version UNKNOWN_FIELD",
		with(`{"method":"GET","path":"/me","headers":{"If-Match":["*"]}}`):                                                      "422 VALIDATION_FAILED calls[1].headers.If-Match INVALID_TYPE",
		with(`{"method":"GET","path":"/me","headers":{"Idempotency-Key":"a\r\nSvc-Version: x"}}`):                               "422 VALIDATION_FAILED calls[1].headers.Idempotency-Key INVALID_FORMAT",
		with(`{"method":"GET","path":"/me","headers":[]}`):                                                                      "422 VALIDATION_FAILED calls[1].headers INVALID_TYPE",
		with(`{"method":"GET","path":"/me","query":"a=1"}`):                                                                     "422 VALIDATION_FAILED calls[1].query UNKNOWN_FIELD",
		with(`{"id":"0","method":"GET","path":"/me"}`):                                                                          "422 VALIDATION_FAILED calls[1].id DUPLICATE",
		with(`{"id":"a","method":"GET","path":"/me"},{"id":"a","method":"GET","path":"/me"}`):                                   "422 VALIDATION_FAILED calls[2].id DUPLICATE",
		with(`{"id":"2","method":"GET","path":"/me"},{"method":"GET","path":"/me"}`):                                            "422 VALIDATION_FAILED calls[1].id DUPLICATE",
		with(`{"id":"","method":"GET","path":"/me"}`):                                                                           "422 VALIDATION_FAILED calls[1].id TOO_SHORT",
		with(`{"id":1,"method":"GET","path":"/me"}`):                                                                            "422 VALIDATION_FAILED calls[1].id INVALID_TYPE",
		with(`{"method":"POST","path":"/contacts","body":{"lastName":"a","lastName":"b"}}`):                                     "400 INVALID_REQUEST",
		with(`{"method":"POST","path":"/batch","body":{"calls":[` + create + `]}}`):                                             "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
		with(`{"method":"GET","path":"/batch"}`):                                                                                "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
		with(`{"method":"GET","path":"/batch?x=1"}`):                                                                            "422 BATCH_FAMILY_NOT_ALLOWED calls[1].path NOT_IN_ENUM",
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
	if n := c.Do("GET", "/contacts/count", nil).JSON()["count"]; n != 0.0 {
		t.Errorf("%v contacts are there", n)
	}
}
