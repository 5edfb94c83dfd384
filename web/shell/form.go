package shell

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"kartei/kit/fault"
)

// Form is a submitted form.
type Form struct {
	// Token is the token of the form: see formTokens.
	Token string
	// Values are the other fields.
	url.Values
	// Was holds the values that the person saw, of the fields named was.NAME.
	Was Values
	// Revision is the revision of the record that the person saw, or zero.
	Revision int64
	// File is the file of the form, or nil.
	File *SentFile
}

// maxForm bounds the bytes of a form. The longest member of a record is a note of
// 10,000 characters, which a form sends twice: as it was, and as it is.
const maxForm = 512 << 10

// The fields that every form may have.
const (
	// Not "form": a field of that name would hide the property form of its form, which
	// htmx reads.
	TokenField    = "form-token"
	RevisionField = "revision"
	WasPrefix     = "was."
	// BackField is the page to show after the change.
	BackField = "back"
)

// The fields of a form that waits for the sign-in. They travel through its pages.
const (
	resumeAction = "resume-action"
	resumeToken  = "resume-token"
	resumeField  = "resume."
)

// The fields in which a script answers with a passkey.
const (
	TicketField   = "passkey-ticket"
	ResponseField = "passkey-response"
)

// readForm reads the body of a POST. If files are taken, a form may have one at its
// end, which is not read yet.
func readForm(w http.ResponseWriter, r *http.Request, files bool) (*Form, error) {
	kind, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == "multipart/form-data" && files:
		return readFileForm(w, r, parameters["boundary"])
	case kind != "application/x-www-form-urlencoded":
		return nil, fault.New(fault.UnsupportedMediaType)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return nil, fault.New(fault.PayloadTooLarge)
		}
		return nil, &fault.Fault{Code: fault.InvalidRequest, Cause: err}
	}
	return newForm(r.PostForm), nil
}

// newForm returns the form with the sent fields.
func newForm(sent url.Values) *Form {
	f := &Form{Token: sent.Get(TokenField), Values: url.Values{}, Was: Values{}}
	f.Revision, _ = strconv.ParseInt(sent.Get(RevisionField), 10, 64)
	for name, list := range sent {
		if before, was := strings.CutPrefix(name, WasPrefix); was {
			f.Was[before] = Normal(list[0])
		} else if name != TokenField && name != RevisionField {
			f.Values[name] = list
		}
	}
	return f
}

// Text returns the text of a field: without white space around it, and with \n at
// the end of lines.
func (f *Form) Text(name string) string { return Normal(f.Get(name)) }

// Normal returns a text as the API stores it. Browsers send \r\n.
func Normal(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}

// Members returns the values of the named members that the form has.
func (f *Form) Members(names []string) Values {
	v := Values{}
	for _, name := range names {
		if list, sent := f.Values[name]; sent {
			v[name] = Normal(strings.Join(list, "\n"))
		}
	}
	return v
}

// Values are the members of a record as a form shows them: a path such as
// address.city, and its text. A member that is null or not set is empty. Lists
// have a line for each entry.
type Values map[string]string

// RevisionOf returns the revision of a record.
func RevisionOf(record Values) int64 {
	n, _ := strconv.ParseInt(cmp.Or(record["revision"], "0"), 10, 64)
	return n
}

// Changed returns what was typed in a field, and keeps it. It is nil if the field is as it was.
func (v *Request) Changed(typed Values, name string) *string {
	if typed[name] = v.Sent.Text(name); typed[name] == v.Sent.Was[name] {
		return nil
	}
	return new(typed[name])
}
