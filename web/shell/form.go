package shell

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kartei/kit/fault"
)

// Form is a submitted form.
type Form struct {
	// Token is the form's token: see formTokens.
	Token string
	// Values has the other fields.
	url.Values
	// Was has the values that the person saw, by the name of the field. The form sends them in
	// fields named was.NAME.
	Was Values
	// Revision is the revision of the record that the person saw. It is zero if the form has none.
	Revision int64
	// File is the file in the form, or nil.
	File *SentFile
}

// maxForm is the maximum size of a form in bytes. A form sends each member twice: the former value and
// the new value, and a conflict three times. A note of 10,000 characters and full lists of emails,
// numbers and addresses take 620 KB then, if each character takes nine bytes.
const maxForm = 1 << 20

// These fields can be in every form.
const (
	// TokenField contains the token of the form. Its name is not "form", because a field of that
	// name would hide the property form of other fields, which htmx reads.
	TokenField    = "form-token"
	RevisionField = "revision"
	WasPrefix     = "was."
	// BackField contains the path of the page to show after the change.
	BackField = "back"
)

// These fields contain a form that waits until the person has signed in. Each page of the sign-in
// sends them on to the next page.
const (
	resumeAction = "resume-action"
	resumeToken  = "resume-token"
	resumeField  = "resume."
)

// A script puts the response of a passkey into these fields.
const (
	TicketField   = "passkey-ticket"
	ResponseField = "passkey-response"
)

// readForm reads the body of a POST request. If files is true, the form may end with a file. The
// bytes of the file are not read yet. Its errors are of the type *fault.Fault.
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
	return newForm(r.PostForm)
}

// newForm returns the form with the sent fields. It fails with INVALID_REQUEST if a value is not UTF-8,
// as the API does.
func newForm(sent url.Values) (*Form, error) {
	for _, list := range sent {
		if slices.ContainsFunc(list, func(text string) bool { return !utf8.ValidString(text) }) {
			return nil, &fault.Fault{Code: fault.InvalidRequest, Detail: "The body of the request is not valid UTF-8."}
		}
	}
	f := &Form{Token: sent.Get(TokenField), Values: url.Values{}, Was: Values{}}
	f.Revision, _ = strconv.ParseInt(sent.Get(RevisionField), 10, 64)
	for name, list := range sent {
		if before, was := strings.CutPrefix(name, WasPrefix); was {
			f.Was[before] = Normal(list[0])
		} else if name != TokenField && name != RevisionField {
			f.Values[name] = list
		}
	}
	return f, nil
}

// Text returns the value of a field. The value has no white space around it, and its line breaks
// are \n.
func (f *Form) Text(name string) string { return Normal(f.Get(name)) }

// Normal returns a text in the form in which the API stores texts: trimmed, and with \n for the
// \r\n of browsers.
func Normal(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}

// Members returns the values of the named members. Members that the form does not have are left
// out.
func (f *Form) Members(names []string) Values {
	v := Values{}
	for _, name := range names {
		if list, sent := f.Values[name]; sent {
			v[name] = Normal(strings.Join(list, "\n"))
		} else if list, sent := f.entries(name); sent {
			v[name] = list
		}
	}
	return v
}

// entries returns the list that the fields MEMBER.PART of a form have. A form has one field of each
// part for each entry. sent is false if the form has no such fields.
func (f *Form) entries(member string) (list string, sent bool) {
	var all []Values
	for _, part := range entryParts[member] {
		texts := f.Values[member+"."+part]
		sent = sent || len(texts) > 0
		for i, text := range texts {
			if len(all) == i {
				all = append(all, Values{})
			}
			all[i][part] = Normal(text)
		}
	}
	return EntryList(member, all), sent
}

// Values has the members of a record in the form in which a page shows them. The key is a path such
// as address.city. The value is empty for null or a missing member. A list of texts has one line for each
// text. A list of objects is its JSON: see Entries.
type Values map[string]string

// RevisionOf returns the revision of a record. It is zero if the record has none.
func RevisionOf(record Values) int64 {
	n, _ := strconv.ParseInt(cmp.Or(record["revision"], "0"), 10, 64)
	return n
}

// Changed returns the value that the person typed into a field, and stores it in typed. It returns
// nil if the value did not change.
func (v *Request) Changed(typed Values, name string) *string {
	if typed[name] = v.Sent.Text(name); typed[name] == v.Sent.Was[name] {
		return nil
	}
	return new(typed[name])
}
