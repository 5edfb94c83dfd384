package files

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"kartei/store/blob"
)

// Guard returns a store whose calls fail with blob.ErrUnavailable until its Place has been checked.
// A local folder needs no guard, since its place is checked at the start.
func Guard(s blob.Store) blob.Store {
	if _, folder := s.(*blob.Local); folder {
		return s
	}
	return &bucket{Store: s}
}

// bucket is a bucket that must not be used until Place.Check has identified it. Before that, its
// files may belong to another database. Upload URLs are signed nevertheless, because signing needs
// no access to the bucket.
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

// Sweep removes nothing while the place is unknown. The next call tries again.
func (b *bucket) Sweep(ctx context.Context, since time.Time) (int, error) {
	if b.unknown.Load() {
		return 0, nil
	}
	return b.Store.Sweep(ctx, since)
}
