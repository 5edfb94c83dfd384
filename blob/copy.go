package blob

import (
	"context"
	"errors"
	"strings"
)

// Copied counts what Copy did.
type Copied struct {
	// Copied were copied, Bytes in all; Same were there already.
	Copied int   `json:"copied"`
	Bytes  int64 `json:"bytes"`
	Same   int   `json:"same"`
	// Unreadable counts those that are damaged or sealed under an unknown key, and
	// so were left out; Errors says why of the first few.
	Unreadable int      `json:"unreadable"`
	Errors     []string `json:"errors"`
}

// maxCopyErrors bounds what a Copy tells of.
const maxCopyErrors = 20

// Copy brings everything in one store into another, in which it is sealed anew
// as that store does. Kept bytes never change, so those that are there in their
// size are left alone, and sealed under the master key in force: that before it
// may be destroyed once the store that is copied needs it no more. Staged bytes are copied first: what is kept meanwhile is
// found under its new name. What is removed meanwhile may be missing.
func Copy(ctx context.Context, from, to Store) (Copied, error) {
	done := Copied{Errors: []string{}}
	for _, prefix := range []string{"uploads/", "files/"} {
		for info, err := range from.List(ctx, prefix) {
			if err != nil {
				return done, err
			}
			err := done.add(ctx, from, to, info.Name)
			switch {
			case errors.Is(err, ErrNotExist):
			case errors.Is(err, ErrDamaged), errors.Is(err, ErrUnknownKey):
				if done.Unreadable++; len(done.Errors) < maxCopyErrors {
					done.Errors = append(done.Errors, err.Error())
				}
			case err != nil:
				return done, err
			}
		}
	}
	return done, nil
}

// add copies the bytes of one name.
func (c *Copied) add(ctx context.Context, from, to Store, name string) error {
	info, err := from.Stat(ctx, name)
	if err != nil {
		return err
	}
	if there, err := to.Stat(ctx, name); err == nil && there.Size == info.Size && strings.HasPrefix(name, "files/") {
		_, err := to.Rotate(ctx, name)
		if err == nil {
			c.Same++
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnknownKey) { // else it is of no use
			return err
		}
	}
	r, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err = to.Put(ctx, name, r, Expected{Size: r.Size(), SHA256: info.SHA256})
	if errors.Is(err, ErrChecksum) || errors.Is(err, ErrTooShort) {
		err = errors.Join(ErrDamaged, err)
	}
	if err == nil {
		c.Copied++
		c.Bytes += info.Size
	}
	return err
}
