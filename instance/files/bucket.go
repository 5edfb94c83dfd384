package files

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"kartei/store/blob"
)

// Guard returns a store whose calls fail with blob.ErrUnavailable while its Place is
// unknown. The place of a folder is always known.
func Guard(s blob.Store) blob.Store {
	if _, folder := s.(*blob.Local); folder {
		return s
	}
	return &bucket{Store: s}
}

// bucket is a bucket that is not used until Place.check has identified it. Until
// then, files that calls find, store or remove might belong to another
// database. Upload addresses are signed all the same, because signing needs no
// access to the bucket.
type bucket struct {
	blob.Store
	unknown atomic.Bool
}

func (b *bucket) check() error {
	if b.unknown.Load() {
		return fmt.Errorf("%w: it was not checked yet whether this is the right bucket", blob.ErrUnavailable)
	}
	return nil
}

func (b *bucket) Put(ctx context.Context, name string, r io.Reader, want blob.Expectation) (blob.Info, error) {
	if err := b.check(); err != nil {
		return blob.Info{}, err
	}
	return b.Store.Put(ctx, name, r, want)
}

func (b *bucket) Stat(ctx context.Context, name string) (blob.Info, error) {
	if err := b.check(); err != nil {
		return blob.Info{}, err
	}
	return b.Store.Stat(ctx, name)
}

func (b *bucket) Keep(ctx context.Context, from, to string) error {
	if err := b.check(); err != nil {
		return err
	}
	return b.Store.Keep(ctx, from, to)
}

func (b *bucket) Open(ctx context.Context, name string) (blob.Reader, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	return b.Store.Open(ctx, name)
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := b.check(); err != nil {
		return err
	}
	return b.Store.Delete(ctx, name)
}

// Sweep removes nothing while the place is unknown. It is repeated later.
func (b *bucket) Sweep(ctx context.Context, since time.Time) (int, error) {
	if b.unknown.Load() {
		return 0, nil
	}
	return b.Store.Sweep(ctx, since)
}
