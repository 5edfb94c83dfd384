package document

import (
	"context"
	"time"

	"kartei/api/op"
	"kartei/record/operation"

	"github.com/go-json-experiment/json"
)

// Underway is an operation of the caller that creates a document, or that failed.
type Underway struct {
	operation.Operation
	// Name is the name of the future document. For a failed operation, it is the intended name.
	Name string `json:"name"`
}

// UnderwayList is the response of ListUnderway.
type UnderwayList struct {
	Data []Underway `json:"data"`
}

// Records returns 0, because the caller has sent all files of the list.
func (UnderwayList) Records() int { return 0 }

const (
	// refusedFor is the time during which the list has a failed operation.
	refusedFor = time.Hour
	// maxUnderway is the maximum number of operations in the list.
	maxUnderway = 20
)

// ListUnderway is the operation that returns the caller's files that are being checked and read.
// It also returns files that were refused in the last hour. The newest comes first.
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
