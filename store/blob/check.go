package blob

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Rows is the view that the database has of files.
type Rows interface {
	// Wanted yields the bytes that must exist.
	Wanted(ctx context.Context) iter.Seq2[Reference, error]
	// Has reports whether the bytes of a name must, or may, be there.
	Has(ctx context.Context, name string) (bool, error)
	// Pending reports whether bytes without a row are about to get one, or
	// about to be removed.
	Pending(ctx context.Context, name string) (bool, error)
}

// Reference is the record of the database about bytes.
type Reference struct {
	Name   string
	Size   int64
	SHA256 string
}

// State is a kind of problem with bytes.
type State string

// The states.
const (
	Missing State = "missing" // a row refers to them, and they do not exist
	Damaged State = "damaged" // they differ from the stored ones
	Locked  State = "locked"  // sealed under a master key that is not available
	Orphan  State = "orphan"  // they exist, and no row refers to them
	Unread  State = "unread"  // the store is reachable, but did not return them
)

// Finding is one problem.
type Finding struct {
	State   State  `json:"state"`
	Name    string `json:"name"`
	Reason  string `json:"reason,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// Check compares a store with the rows. It may run while both are in use: each
// finding is verified again before it is reported.
type Check struct {
	Store Store
	Rows  Rows
	// Quick does not read the bytes. It finds damage only in the envelope, in
	// the size and in the hash that the store knows.
	Quick bool
	// Before excludes orphans that are younger.
	Before time.Time
	// Remove removes orphans.
	Remove bool
	// Found is called with each finding.
	Found func(Finding)

	unread int // in a row
}

// maxUnread is the number of files in a row that the store may fail to return.
// After that the store is considered broken. Each attempt takes up to minutes.
const maxUnread = 10

// CheckCounts counts the work of a Check.
type CheckCounts struct {
	Wanted int   `json:"wanted"` // rows
	Stored int   `json:"stored"` // names in the store
	Bytes  int64 `json:"bytes"`  // bytes read
}

// Run checks everything. It ends with the first error that does not concern a
// single file: the store is unreachable, or fails for one file after the other.
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

// look compares the bytes of one row.
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
	if still { // not deleted meanwhile
		c.Found(f)
	}
	return read, nil
}

// orphan reports stored bytes that nothing refers to.
func (c *Check) orphan(ctx context.Context, info Info) error {
	if !info.Modified.Before(c.Before) {
		return nil
	}
	// Nearly all bytes have a row, and that query is the cheapest, so it comes
	// first. It is repeated last, because pending bytes may have got a row in
	// between.
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
