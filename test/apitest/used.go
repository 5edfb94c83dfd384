package apitest

import (
	"context"

	"kartei/store/db"
	"kartei/usage"
)

// Used stores the counts of calls, each as if it were written in its hour.
func (o *Office) Used(calls ...usage.Call) {
	o.Helper()
	c := usage.NewCounter()
	for i := range calls {
		at := calls[i].At
		c.Count(&calls[i])
		if i+1 < len(calls) && calls[i+1].At == at {
			continue
		}
		pending := c.Pending(at)
		if err := o.DB.Write(context.Background(), func(tx db.Tx) error {
			pending.Queue(tx)
			return nil
		}); err != nil {
			o.Fatal(err)
		}
		c.Written(pending, at, true)
	}
}
