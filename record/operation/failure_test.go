package operation

import (
	"bytes"
	"slices"
	"testing"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// TestFailureIsKept checks that a stored fault has the same texts in both languages as the fault.
// The cause and the reason for the operator are not stored.
func TestFailureIsKept(t *testing.T) {
	for _, f := range []*fault.Fault{
		fault.New(fault.UploadRejected),
		{
			Code:   fault.UploadRejected,
			Detail: i18n.Format("The content of the file is not of the type %s.", `"Schadsoftware" „ü“`),
		},
		{Code: fault.Upstream, Cause: fault.New(fault.Internal), Reason: "who asked"},
		fault.Invalid(
			fault.Field{Name: "contactId", Code: fault.FieldNotFound},
			fault.Field{Name: "tags[3]", Code: fault.TooLong, Limit: 50},
			fault.Field{
				Name: "externalId", Code: fault.Duplicate,
				Text: i18n.Format("The record %s has this value already.", "con_1"),
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
		for _, l := range []i18n.Language{i18n.German, i18n.English} {
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
	if f, err := parse(`{"code":"UPSTREAM","detail":{"DE":"Später.","EN":"Later."}}`); err != nil ||
		f.Detail.In(i18n.German) != "Später." || f.Detail.In(i18n.English) != "Later." {
		t.Errorf("as stored: %+v, %v", f, err)
	}
	if f, err := parse(`{"code":"LATER","more":1,"fields":[{"name":"a","code":"NEW"}]}`); err != nil ||
		f.Code != "LATER" || !slices.Equal(f.Fields, []fault.Field{{Name: "a", Code: "NEW"}}) {
		t.Errorf("of a newer release: %+v, %v", f, err)
	}
}
