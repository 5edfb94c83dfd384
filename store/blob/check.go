package blob

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Rows is what the database says of files.
type Rows interface {
	// Wanted gives the bytes that must be there.
	Wanted(ctx context.Context) iter.Seq2[Wanted, error]
	// Has reports whether the bytes of a name must, or may, be there.
	Has(ctx context.Context, name string) (bool, error)
	// Pending reports whether bytes that no row has are about to get one, or to be
	// removed.
	Pending(ctx context.Context, name string) (bool, error)
}

// Wanted is what the database says of bytes.
type Wanted struct {
	Name   string
	Size   int64
	SHA256 string
}

// State says what is wrong with bytes.
type State string

// The states.
const (
	Missing State = "missing" // a row has them, and they are not there
	Damaged State = "damaged" // they are not what was stored
	Locked  State = "locked"  // sealed under a master key that is not at hand
	Orphan  State = "orphan"  // they are there, and no row has them
	Unread  State = "unread"  // the store is there, and did not give them
)

// Finding is one thing that is not as it should be.
type Finding struct {
	State   State  `json:"state"`
	Name    string `json:"name"`
	Reason  string `json:"reason,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// Check compares a store with the rows. It may run while both are used: what
// changes meanwhile is looked at again before it is told.
type Check struct {
	Store Store
	Rows  Rows
	// Quick does not read the bytes, and so finds damage only in what precedes
	// them, in their size and in what the store knows of their hash.
	Quick bool
	// Before leaves younger bytes out that no row has.
	Before time.Time
	// Remove removes orphans.
	Remove bool
	// Found is told of each finding.
	Found func(Finding)

	unread int // in a row
}

// maxUnread is how many files in a row a store may be unable to give before it
// is taken for one that does not work. Each takes up to minutes.
const maxUnread = 10

// Checked counts what was looked at.
type Checked struct {
	Wanted int   `json:"wanted"` // rows
	Stored int   `json:"stored"` // names in the store
	Bytes  int64 `json:"bytes"`  // that were read
}

// Run looks at everything and ends with the first error that says nothing of one
// file: where the store is away, say, or gives one file after the other not.
func (c *Check) Run(ctx context.Context) (done Checked, err error) {
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
func (c *Check) look(ctx context.Context, w Wanted) (read int64, err error) {
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
	if err == nil && still { // not deleted meanwhile
		c.Found(f)
	}
	return read, err
}

// orphan looks whether somebody needs what is stored.
func (c *Check) orphan(ctx context.Context, info Info) error {
	if !info.Modified.Before(c.Before) {
		return nil
	}
	// Nearly everything has its row, and asking for that is the cheapest. It is
	// asked for again at the end, since what was pending may have got it in between.
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
