package limit

import (
	"context"
	"hash/maphash"
	"sync"
)

// memory holds the accounts of one process.
type memory struct {
	table  *table
	seed   maphash.Seed
	shards [shards]shard
	// urgent wakes the saver before its next round.
	urgent chan struct{}
}

// shards is the number of parts of the memory, each with a lock. A few hundred connections seldom
// need the same lock at the same time. With more parts, an idle process would use more memory.
const shards = 64

// sweepFrom is the number of accounts in a shard that starts the first sweep.
const sweepFrom = 256

type shard struct {
	mu       sync.Mutex
	accounts map[subject]*account
	sweepAt  int
	_        [40]byte // fills the cache line, so that two shards never share a line
}

func newMemory(t *table) *memory {
	m := &memory{table: t, seed: maphash.MakeSeed(), urgent: make(chan struct{}, 1)}
	m.clear()
	return m
}

func (m *memory) clear() {
	for i := range m.shards {
		sh := &m.shards[i]
		sh.mu.Lock()
		sh.accounts, sh.sweepAt = map[subject]*account{}, sweepFrom
		sh.mu.Unlock()
	}
}

// shard returns the shard that has the account of s. It does not lock the shard.
func (m *memory) shard(s *subject) *shard {
	h := maphash.String(m.seed, s.id) + uint64(s.organization)*0x9e3779b97f4a7c15
	return &m.shards[h>>32%shards]
}

func (m *memory) find(s *subject) *account {
	sh := m.shard(s)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.accounts[*s]
}

// add returns the account of s in memory. If there is none, it adds the account read. If read is
// nil, it adds a new account.
func (m *memory) add(s *subject, now int64, read *account) *account {
	sh := m.shard(s)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if a := sh.accounts[*s]; a != nil {
		return a
	}
	if len(sh.accounts) >= sh.sweepAt {
		m.sweep(sh, now)
	}
	if read == nil {
		read = m.table.newAccount(s.level, now)
	}
	sh.accounts[*s] = read
	return read
}

// sweep drops the accounts that equal new accounts. The next sweep comes when the shard has twice
// as many accounts, so each insertion pays a bounded share of the cost. Memory holds at most twice
// the subjects that are active within their longest window.
func (m *memory) sweep(sh *shard, now int64) {
	for s, a := range sh.accounts {
		if !a.mu.TryLock() {
			continue
		}
		if m.table.rests(s.level, a, now) {
			a.gone = true
			delete(sh.accounts, s)
		}
		a.mu.Unlock()
	}
	sh.sweepAt = max(sweepFrom, 2*len(sh.accounts))
}

// reader reads accounts that are not in memory. It stores them in into, and leaves nil for an
// account that the database does not have.
type reader func(ctx context.Context, who *[levels]subject, into *accounts) error

// lock returns the accounts of a charge and locks them. It reads accounts that are not in memory.
// If read is nil, it adds new accounts instead.
func (m *memory) lock(ctx context.Context, c *Charge, now int64, read reader) (a accounts, err error) {
	who := subjects(c)
	for {
		complete := true
		for l := range who {
			a[l] = m.find(&who[l])
			complete = complete && a[l] != nil
		}
		if !complete {
			var stored accounts
			if read != nil {
				recalled, found := who, new(accounts) // a copy, because only variables of this rare case may escape to the heap
				if err := read(ctx, &recalled, found); err != nil {
					return a, err
				}
				stored = *found
			}
			for l := range who {
				a[l] = m.add(&who[l], now, stored[l])
			}
		}
		swept := false
		for l := range a {
			a[l].mu.Lock()
			swept = swept || a[l].gone
		}
		if !swept {
			return a, nil
		}
		a.unlock()
	}
}

func (a *accounts) unlock() {
	for l := range a {
		a[l].mu.Unlock()
	}
}

// hurry wakes the saver if the account of the key has much unsaved usage.
func (m *memory) hurry(a *accounts) {
	if a[byKey].unsaved < urgent {
		return
	}
	select {
	case m.urgent <- struct{}{}:
	default:
	}
}

// all calls f with every account. Each account is locked during its call.
func (m *memory) all(f func(s subject, a *account)) {
	for i := range m.shards {
		sh := &m.shards[i]
		sh.mu.Lock()
		list := make(map[subject]*account, len(sh.accounts))
		for s, a := range sh.accounts {
			list[s] = a
		}
		sh.mu.Unlock()
		for s, a := range list {
			a.mu.Lock()
			f(s, a)
			a.mu.Unlock()
		}
	}
}
