package schema_test

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"kartei/api"
	"kartei/api/op"
	"kartei/api/openapi"
	"kartei/api/release"
	"kartei/api/schema"
	"kartei/integration/batch"
	"kartei/kit/fault"
	"kartei/record/contact"
	"kartei/record/upload"

	"github.com/go-json-experiment/json/jsontext"
)

func FuzzBodyRules(f *testing.F) {
	document, _ := openapi.Document(release.Versions[len(release.Versions)-1].Name) // the newest
	r, err := schema.Compile(document, func(string, string) string { return "" })
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"", "{}", "[]", "null", `{"firstName":"Anna"}`, `{"firstName":"a","firstName":"b"}`,
		`{"email":"a@b.example","tags":["a",""]}`,
		`{"address":{"country":"DE"}}`, `{"firstName":1e999}`, `{"firstName":-0}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`,
		`{"a":[[[[[[]]]]]]}`,
		`{"":{"":[{"":0}]}}`, `{"tags[0]":1,"tags":[1]}`, "\ufeff{}", `{} {}`,
		`{"fileName":"a/b","contentType":1,"size":1.0}`, `{"uploadId":5,"name":"a/b"}`, `{"url":"http://x","name":null}`,
		`{"status":"completed","x":1}`,
		`{"calls":[{"id":"1","method":"GET","path":"/%zz"},5,{"id":"1","method":5,"path":"/batch"},null]}`,
	} {
		f.Add([]byte(seed))
	}
	services := op.Services{}.With(
		upload.Service.Is(upload.Files{
			MaxSize: 100, Declared: func(kind string) (string, bool) { return kind, kind == "text/plain" },
		}),
		batch.Allowed.Is(func(_, path string) bool { return path != "/batch" }))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for i := range api.Operations {
			row := &api.Operations[i]
			if !row.HasBody() {
				continue
			}
			target := reflect.New(row.Body()).Interface()
			err := r.Body(row.ID, raw, target, services)
			if err == nil {
				if !jsontext.Value(raw).IsValid() || !utf8.Valid(raw) {
					t.Fatalf("%q is accepted", raw)
				}
				if patch, is := target.(*op.Patch[contact.Fields]); is && patch.Apply(new(contact.Fields)) != nil {
					t.Fatalf("%q passes the rules and cannot be applied", raw)
				}
				continue
			}
			answer := fault.From(err)
			if answer.Code == fault.BatchTooLarge {
				continue
			}
			if answer.Code != fault.InvalidRequest && answer.Code != fault.ValidationFailed {
				t.Fatalf("%q: %v", raw, err)
			}
			if answer.Code == fault.ValidationFailed && len(answer.Fields) == 0 {
				t.Fatalf("%q: nothing is named", raw)
			}
			if body := answer.AppendProblem(nil, fault.Problem{Instance: "/v1/contacts"}); !jsontext.Value(body).IsValid() {
				t.Fatalf("%q is answered with %q", raw, body)
			}
		}
	})
}
