package blob

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// CopyCounts has the results of Copy.
type CopyCounts struct {
	// Copied is the number of copied files, and Bytes their total size. Same is the number of files
	// that existed already.
	Copied int   `json:"copied"`
	Bytes  int64 `json:"bytes"`
	Same   int   `json:"same"`
	// Unreadable is the number of files that were skipped because they are damaged or their key is
	// unknown. Missing is the number of files to which a row refers and that neither store has.
	// Errors has the first errors about such files.
	Unreadable int      `json:"unreadable"`
	Missing    int      `json:"missing"`
	Errors     []string `json:"errors"`
}

// maxCopyErrors is the maximum length of CopyCounts.Errors.
const maxCopyErrors = 20

// Copy copies all bytes of one store to another store, which encrypts them by its own settings. The
// bytes of a document never change. If they exist in the other store in the same size, Copy only
// encrypts them under its current master key. The previous master key may be destroyed once the
// source store no longer needs it.
//
// Copy copies the bytes of upload sessions first. Bytes that become a document meanwhile are then
// copied under their new name. Files that are removed during the copy may be missing. At the end,
// Copy counts the missing files of all rows, unless rows is nil.
func Copy(ctx context.Context, from, to Store, rows Rows) (done CopyCounts, err error) {
	done.Errors = []string{}
	if err := done.all(ctx, from, to); err != nil || rows == nil {
		return done, err
	}
	for w, err := range rows.Wanted(ctx) {
		if err != nil {
			return done, err
		}
		if err = done.seek(ctx, from, to, rows, w.Name); err != nil {
			return done, err
		}
	}
	return done, nil
}

// all copies the files of a store.
func (c *CopyCounts) all(ctx context.Context, from, to Store) error {
	for _, prefix := range []string{Staged, Kept} {
		for info, err := range from.List(ctx, prefix) {
			if err != nil {
				return err
			}
			err := c.add(ctx, from, to, info.Name)
			switch {
			case errors.Is(err, ErrNotExist):
			case errors.Is(err, ErrDamaged), errors.Is(err, ErrUnknownKey):
				c.Unreadable++
				c.tell(err)
			case err != nil:
				return err
			}
		}
	}
	return nil
}

func (c *CopyCounts) tell(err error) {
	if len(c.Errors) < maxCopyErrors {
		c.Errors = append(c.Errors, err.Error())
	}
}

// seek counts bytes to which a row refers and that neither store has. If only the source has the
// bytes, they are unreadable or were stored during the copy.
func (c *CopyCounts) seek(ctx context.Context, from, to Store, rows Rows, name string) error {
	for _, s := range []Store{to, from} {
		if _, err := s.Stat(ctx, name); !errors.Is(err, ErrNotExist) {
			if errors.Is(err, ErrDamaged) || errors.Is(err, ErrUnknownKey) { // already counted
				err = nil
			}
			return err
		}
	}
	still, err := rows.Has(ctx, name)
	if err != nil {
		return err
	}
	if still { // the row was not deleted meanwhile
		c.Missing++
		c.tell(fmt.Errorf("%w: %s", ErrNotExist, name))
	}
	return nil
}

// add copies the bytes of one name.
func (c *CopyCounts) add(ctx context.Context, from, to Store, name string) error {
	info, err := from.Stat(ctx, name)
	if err != nil {
		return err
	}
	if there, err := to.Stat(ctx, name); err == nil && there.Size == info.Size && strings.HasPrefix(name, Kept) {
		_, err := to.Rotate(ctx, name)
		if err == nil {
			c.Same++
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnknownKey) { // a damaged copy is replaced
			return err
		}
	}
	r, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err = to.Put(ctx, name, r, Expectation{Size: r.Size(), SHA256: info.SHA256})
	if errors.Is(err, ErrChecksum) || errors.Is(err, ErrTooShort) {
		err = errors.Join(ErrDamaged, err)
	}
	if err != nil {
		return err
	}
	c.Copied++
	c.Bytes += info.Size
	return nil
}
