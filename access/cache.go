package access

import (
	"context"
	"sync"
	"sync/atomic"

	"kartei/store/db"
)

// cache has the credentials that were read from the database since the last administrative act.
// An act replaces the whole cache. So a read that began before the act adds its result to the old
// cache, which is no longer used.
type cache[T any] struct {
	generation int64
	max        int
	mu         sync.RWMutex
	byName     map[string]T
}

func (c *cache[T]) get(name string) T {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[name]
}

// put adds a credential. If the cache is full, it first removes an arbitrary credential.
func (c *cache[T]) put(name string, credential T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.byName[name]; !known && len(c.byName) >= c.max {
		for other := range c.byName {
			delete(c.byName, other)
			break
		}
	}
	c.byName[name] = credential
}

func (c *cache[T]) size() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.byName)
}

// generationCache is a cache for one generation. A generation is the number of administrative
// acts so far.
type generationCache[T any] struct {
	generations generations
	count       string // statement that selects the number of acts
	max         int
	serving     atomic.Pointer[cache[T]]
}

// init creates an empty cache. count is the statement that selects the number of acts, and max is
// the maximum number of credentials.
func (c *generationCache[T]) init(d db.DB, count string, max int) {
	c.count, c.max = count, max
	c.generations.read = func(ctx context.Context) (number int64, err error) {
		err = d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, count).Scan(&number) })
		return number, err
	}
	c.serving.Store(c.empty(0))
}

func (c *generationCache[T]) empty(generation int64) *cache[T] {
	return &cache[T]{generation: generation, max: c.max, byName: make(map[string]T)}
}

// forget empties the cache.
func (c *generationCache[T]) forget() { c.serving.Store(c.empty(c.serving.Load().generation)) }

// current returns the cache. It returns a new empty cache if another process has changed
// credentials since the last call.
func (c *generationCache[T]) current(ctx context.Context) (*cache[T], error) {
	serving := c.serving.Load()
	generation, err := c.generations.now(ctx)
	if err != nil {
		return nil, err
	}
	if generation <= serving.generation {
		return serving, nil
	}
	fresh := c.empty(generation)
	if c.serving.CompareAndSwap(serving, fresh) {
		return fresh, nil
	}
	return c.serving.Load(), nil
}

// confirm fails with db.ErrStale if there was an act after the generation in known. With a tx,
// the transaction fails instead. See Directory.Confirm.
func (c *generationCache[T]) confirm(ctx context.Context, tx db.Tx, known int64) error {
	if tx != nil {
		return tx.Expect(ctx, c.count, known)
	}
	serving, err := c.current(ctx)
	if err != nil {
		return err
	}
	if serving.generation != known {
		return db.ErrStale
	}
	return nil
}
