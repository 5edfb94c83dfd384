package records

import (
	"fmt"
	"net/http"
	"strconv"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/shell"
)

// attempts is the maximum number of times that a form is merged and sent, if other people change
// the record in between.
const attempts = 3

// saveResult is the result of Save.
type saveResult struct {
	// Record is the record as it is stored now.
	Record shell.Values
	// Changed are the members that this form changed. Before has their former values.
	Changed []string
	Before  shell.Values
	// Theirs are the members that other people changed after the form was rendered.
	Theirs []string
	// By is the names of these people.
	By string
	// Merge is set if there are conflicts. Then nothing was stored.
	Merge *shell.MergeResult
}

// Save stores the typed values. was has the values that the person saw at a revision. A form
// without a revision counts as revision 1. If the record has another revision by now, Save merges
// both changes: see merge.
func Save(v *shell.Request, f *Family, id string, was, typed shell.Values, revision int64) (saveResult, error) {
	var out saveResult
	for attempt := range attempts {
		out.Before, out.Changed = was, shell.Changed(was, typed)
		if len(out.Changed) == 0 {
			var err error
			out.Record, err = Get(v, f, id)
			return out, err
		}
		a := v.Send(f.Acts.update, shell.Arguments{ID: id, Body: typed.Patch(out.Changed), Match: max(revision, 1), Once: attemptKey(v.Sent.Token, attempt)})
		switch {
		case a.Is(fault.PreconditionFailed):
		case a.Fault != nil:
			return out, a.Fault
		case a.Status == http.StatusNoContent: // the person may write the record but not read it
			return out, nil
		default:
			var err error
			out.Record, err = shell.Flatten(a.Body)
			return out, err
		}
		stored, err := Get(v, f, id)
		if err != nil {
			return out, err
		}
		m := shell.Merge(was, typed, stored)
		out.Theirs = m.Theirs
		if revision, err = strconv.ParseInt(stored["revision"], 10, 64); err != nil {
			return out, fmt.Errorf("records: revision %q: %w", stored["revision"], err)
		}
		if len(m.Conflicts) > 0 {
			out.Record, out.Merge = stored, &m
			return out, nil
		}
		was, typed = stored, m.Values
	}
	return out, &fault.Fault{Code: fault.Overloaded, Detail: busyRecord}
}

var busyRecord = i18n.Text("This entry is being changed by several people. Please send the form again.")

// attemptKey returns the idempotency key of an attempt. Each attempt has its own key, because its
// content differs.
func attemptKey(token string, attempt int) string {
	if attempt == 0 {
		return token
	}
	return token + "." + strconv.Itoa(attempt)
}
