package document

import (
	"context"
	"time"

	"kartei/api/op"
	"kartei/record/operation"

	"github.com/go-json-experiment/json"
)

// Underway is a file of the caller that becomes a document, or that was refused.
type Underway struct {
	operation.Operation
	// Name is the one that the document has or would have had.
	Name string `json:"name"`
}

// UnderwayList is the answer of ListUnderway.
type UnderwayList struct {
	Data []Underway `json:"data"`
}

// Records returns 0: the caller has sent all of it.
func (UnderwayList) Records() int { return 0 }

const (
	// refusedFor is how long pages show a person that a file was refused.
	refusedFor = time.Hour
	// maxUnderway is what a page shows at once.
	maxUnderway = 20
)

// ListUnderway returns the caller's files that are being checked and read, and those
// that were refused in the last hour. The newest comes first.
var ListUnderway = op.New("documents.underway", op.Read, listUnderway, op.By(op.Member))

func listUnderway(ctx context.Context, c *op.Call, _ op.None) (UnderwayList, error) {
	out := UnderwayList{Data: []Underway{}}
	list, err := operation.ListUnderway(ctx, c, "documents.create", c.Now.Add(-refusedFor), maxUnderway)
	if err != nil {
		return out, err
	}
	for _, o := range list {
		u := Underway{Operation: o.Operation, Name: o.Input}
		if o.Status != operation.Failed {
			var m makeInput
			if err := json.Unmarshal([]byte(o.Input), &m); err != nil {
				return out, err
			}
			u.Name = m.Fields.Name
		}
		out.Data = append(out.Data, u)
	}
	return out, nil
}
