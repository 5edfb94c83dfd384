package blob

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Rows has the queries of Check and Copy about the rows of the database that refer to stored bytes.
type Rows interface {
	// Wanted yields the bytes that must exist.
	Wanted(ctx context.Context) iter.Seq2[Reference, error]
	// Has reports whether a row refers to the bytes of a name, so that they must or may exist.
	Has(ctx context.Context, name string) (bool, error)
	// Pending reports whether bytes without a row will soon get a row or be removed.
	Pending(ctx context.Context, name string) (bool, error)
}

// Reference is a row of the database that refers to stored bytes.
type Reference struct {
	Name   string
	Size   int64
	SHA256 string
}

// State is a kind of problem with stored bytes.
type State string

// The kinds of problems.
const (
	Missing State = "missing" // a row refers to the bytes, and they do not exist
	Damaged State = "damaged" // the bytes were changed
	Locked  State = "locked"  // encrypted under a master key that is not available
	Orphan  State = "orphan"  // the bytes exist, and no row refers to them
	Unread  State = "unread"  // the store works, but did not return the bytes
)

// Finding is one problem with stored bytes.
type Finding struct {
	State   State  `json:"state"`
	Name    string `json:"name"`
	Reason  string `json:"reason,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// Check compares a store with the rows of the database. It may run while both are in use, because
// it verifies each problem again before it reports the problem.
type Check struct {
	Store Store
	Rows  Rows
	// Quick says that the bytes are not read. Only damage in the envelope, in the size and in the
	// stored hash is then found.
	Quick bool
	// Before is the time before which bytes without a row count as orphans.
	Before time.Time
	// Remove says that orphans are removed.
	Remove bool
	// Found is called for each problem.
	Found func(Finding)

	unread int // number of files in a row that the store did not return
}

// maxUnread is the maximum number of files in a row that the store may fail to return. After that,
// Run ends, because each attempt may take minutes.
const maxUnread = 10

// CheckCounts has the numbers of rows, names and bytes that a Check has read.
type CheckCounts struct {
	Wanted int   `json:"wanted"` // rows
	Stored int   `json:"stored"` // names in the store
	Bytes  int64 `json:"bytes"`  // bytes read
}

// Run compares all rows and all stored bytes. It ends with the first error that does not concern a
// single file. This is the case if the store cannot be reached, or fails for maxUnread files in a
// row.
func (c *Check) Run(ctx context.Context) (done CheckCounts, err error) {
	for w, err := range c.Rows.Wanted(ctx) {
		if err != nil {
			return done, err
		}
		done.Wanted++
		read, err := c.look(ctx, w)
		if err != nil {
			return done, err
		}
		done.Bytes += read
	}
	for info, err := range c.Store.List(ctx, "") {
		if err != nil {
			return done, err
		}
		done.Stored++
		if err := c.orphan(ctx, info); err != nil {
			return done, err
		}
	}
	return done, nil
}

// look checks the bytes to which one row refers. It returns the number of bytes that it has read.
func (c *Check) look(ctx context.Context, w Reference) (read int64, err error) {
	var info Info
	if c.Quick {
		info, err = c.Store.Stat(ctx, w.Name)
	} else if info, err = Read(ctx, c.Store, w.Name); err == nil {
		read = info.Size
	}
	if !errors.Is(err, ErrUnavailable) {
		c.unread = 0
	}
	f := Finding{Name: w.Name}
	switch {
	case errors.Is(err, ErrNotExist):
		f.State = Missing
	case errors.Is(err, ErrDamaged):
		f.State, f.Reason = Damaged, err.Error()
	case errors.Is(err, ErrUnknownKey):
		f.State = Locked
	case errors.Is(err, ErrUnavailable) && c.unread < maxUnread && c.Store.Ping(ctx) == nil:
		c.unread++
		c.Found(Finding{State: Unread, Name: w.Name, Reason: err.Error()})
		return 0, nil
	case err != nil:
		return read, err
	case info.Size != w.Size:
		f.State, f.Reason = Damaged, fmt.Sprintf("%d bytes instead of %d", info.Size, w.Size)
	case info.SHA256 != "" && info.SHA256 != w.SHA256:
		f.State, f.Reason = Damaged, "another SHA-256"
	default:
		return read, nil
	}
	still, err := c.Rows.Has(ctx, w.Name)
	if err != nil {
		return read, err
	}
	if still { // the row was not deleted meanwhile
		c.Found(f)
	}
	return read, nil
}

// orphan reports stored bytes to which no row refers.
func (c *Check) orphan(ctx context.Context, info Info) error {
	if !info.Modified.Before(c.Before) {
		return nil
	}
	// Nearly all bytes have a row, and this query is the cheapest, so it is the first. It is
	// repeated as the last, because pending bytes may have got a row meanwhile.
	for _, needed := range []func(context.Context, string) (bool, error){c.Rows.Has, c.Rows.Pending, c.Rows.Has} {
		if yes, err := needed(ctx, info.Name); yes || err != nil {
			return err
		}
	}
	if _, err := c.Store.Stat(ctx, info.Name); errors.Is(err, ErrNotExist) {
		return nil // removed meanwhile
	}
	f := Finding{State: Orphan, Name: info.Name, Removed: c.Remove}
	if c.Remove {
		if err := c.Store.Delete(ctx, info.Name); err != nil {
			return err
		}
	}
	c.Found(f)
	return nil
}
