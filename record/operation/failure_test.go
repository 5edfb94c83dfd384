package operation

import (
	"bytes"
	"slices"
	"testing"

	"kartei/kit/fault"
)

// A stored fault has the same text in both languages as the fault itself. The
// part for the operator is not stored.
func TestFailureIsKept(t *testing.T) {
	for _, f := range []*fault.Fault{
		fault.New(fault.UploadRejected),
		{
			Code:   fault.UploadRejected,
			Detail: &fault.Text{DE: "Die Datei enthält „Schadsoftware“.", EN: `The file holds "malware".`},
		},
		{Code: fault.Upstream, Cause: fault.New(fault.Internal), Reason: "who asked"},
		fault.Invalid(
			fault.Field{Name: "contactId", Code: fault.FieldNotFound},
			fault.Field{Name: "tags[3]", Code: fault.TooLong, Limit: 50},
			fault.Field{
				Name: "externalId", Code: fault.Duplicate,
				Text: &fault.Text{DE: "Den hat schon ein anderer.", EN: "Another has it."},
			},
		),
	} {
		text, err := encode(f)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		kept, err := parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, l := range []fault.Language{fault.German, fault.English} {
			of := fault.Problem{
				TypeBase: "https://kartei.example", Instance: "/v1/operations/opr_x", RequestID: "req_x",
				Language: l,
			}
			if was, is := f.AppendProblem(nil, of), kept.AppendProblem(nil, of); !bytes.Equal(was, is) {
				t.Errorf("%s becomes\n%s", was, is)
			}
		}
		if kept.Cause != nil || kept.Reason != "" {
			t.Errorf("%s: kept: %+v", text, kept)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"code":5}`} {
		if f, err := parse(text); err == nil {
			t.Errorf("%q is %+v", text, f)
		}
	}
	if f, err := parse(`{"code":"LATER","more":1,"fields":[{"name":"a","code":"NEW"}]}`); err != nil ||
		f.Code != "LATER" || !slices.Equal(f.Fields, []fault.Field{{Name: "a", Code: "NEW"}}) {
		t.Errorf("of a newer release: %+v, %v", f, err)
	}
}
