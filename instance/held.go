package instance

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"kartei/store/blob"
)

// heldBucket is a bucket that is not used until checkPlace has identified it. Until
// then, files that calls find, store or remove might belong to another
// database. Upload addresses are signed all the same, because signing needs no
// access to the bucket.
type heldBucket struct {
	blob.Store
	unknown atomic.Bool
}

func (h *heldBucket) check() error {
	if h.unknown.Load() {
		return fmt.Errorf("%w: it was not checked yet whether this is the right bucket", blob.ErrUnavailable)
	}
	return nil
}

func (h *heldBucket) Put(ctx context.Context, name string, r io.Reader, want blob.Expectation) (blob.Info, error) {
	if err := h.check(); err != nil {
		return blob.Info{}, err
	}
	return h.Store.Put(ctx, name, r, want)
}

func (h *heldBucket) Stat(ctx context.Context, name string) (blob.Info, error) {
	if err := h.check(); err != nil {
		return blob.Info{}, err
	}
	return h.Store.Stat(ctx, name)
}

func (h *heldBucket) Keep(ctx context.Context, from, to string) error {
	if err := h.check(); err != nil {
		return err
	}
	return h.Store.Keep(ctx, from, to)
}

func (h *heldBucket) Open(ctx context.Context, name string) (blob.Reader, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	return h.Store.Open(ctx, name)
}

func (h *heldBucket) Delete(ctx context.Context, name string) error {
	if err := h.check(); err != nil {
		return err
	}
	return h.Store.Delete(ctx, name)
}

// Sweep removes nothing until then. It is repeated later.
func (h *heldBucket) Sweep(ctx context.Context, since time.Time) (int, error) {
	if h.unknown.Load() {
		return 0, nil
	}
	return h.Store.Sweep(ctx, since)
}
