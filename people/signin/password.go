// Package signin owns what proves a person: passwords, codes, passkeys, tickets, and the bounds of guesses.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"kartei/access"
)

// params are the costs of Argon2id.
type params struct {
	memory  uint32 // in KiB
	time    uint32
	threads uint8
}

var (
	// current are the costs of new passwords: the OWASP minimum of 2026, 19 MiB and
	// two passes. A hash takes 40 to 90 ms.
	current = params{memory: 19 * 1024, time: 2, threads: 1}
	// least are the smallest costs that Argon2id allows.
	least = params{memory: 8, time: 1, threads: 1}
)

const (
	saltSize = 16
	keySize  = 32
	// placesEach is the number of places that a class has for each processor. At most two
	// seconds pass until a turn.
	placesEach = 8
	// placesOfOne is the number of places that one session, link or device has.
	placesOfOne = 2
	// maxMemory and maxTime bound what a stored hash may ask for.
	maxMemory = 256 * 1024
	maxTime   = 16
)

// ErrBusy says that too many passwords are being checked.
var ErrBusy = errors.New("signin: too many passwords are being checked")

// Hasher hashes passwords. It uses each processor for one password at a time, so
// that many sign-ins neither take all memory nor hold up the calls of others for
// long. Strangers have half of the processors, and their own places in the queue.
type Hasher struct {
	slots, strangers chan struct{}
	costs            params // of new passwords
	decoy            string

	mu     sync.Mutex
	places int // of each class
	taken  map[class]int
	of     map[claim]int
}

// class is who wants a password to be hashed. Each class has its own places, so that no
// class waits because another one has none left.
type class int

const (
	stranger class = iota
	knownNetwork
	known // a device, a session, or whoever has a mailed link
)

// claim is somebody with places of a class. Who guesses from one network, or sends the
// same link many times, does not take all of them.
type claim struct {
	class class
	who   string
}

// limit returns how many places a claim has.
func (h *Hasher) limit(c claim) int {
	if c.class == known && c.who != "" {
		return placesOfOne
	}
	return h.places / 2
}

// Turn is a place in the queue of a Hasher. Whoever has none is refused before anything
// is written.
type Turn struct {
	hasher *Hasher
	claim  claim
}

// Reserve returns a place for an attempt, or ErrBusy. It must be ended.
func (h *Hasher) Reserve(o Origin) (*Turn, error) { return h.reserve(o.claim()) }

// claim returns whose places an attempt takes.
func (o Origin) claim() claim {
	switch {
	case o.mark() != "":
		return claim{known, o.mark()}
	case o.Known:
		return claim{knownNetwork, o.network()}
	}
	return claim{stranger, access.Site(o.Address).String()}
}

func (h *Hasher) reserve(c claim) (*Turn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken[c.class] >= h.places || h.of[c] >= h.limit(c) {
		return nil, ErrBusy
	}
	h.taken[c.class]++
	h.of[c]++
	return &Turn{h, c}, nil
}

// End gives the place back.
func (t *Turn) End() {
	t.hasher.mu.Lock()
	defer t.hasher.mu.Unlock()
	t.hasher.taken[t.claim.class]--
	if t.hasher.of[t.claim]--; t.hasher.of[t.claim] == 0 {
		delete(t.hasher.of, t.claim)
	}
}

// NewHasher returns a Hasher.
func NewHasher() *Hasher { return newHasher(current) }

// NewTestHasher returns a Hasher for tests in which the costs of a password play no part. A
// hash takes some microseconds, and protects nothing.
func NewTestHasher() *Hasher { return newHasher(least) }

func newHasher(costs params) *Hasher {
	n := runtime.GOMAXPROCS(0)
	h := &Hasher{
		costs: costs,
		slots: make(chan struct{}, n), strangers: make(chan struct{}, max(n/2, 1)),
		places: n * placesEach, taken: map[class]int{}, of: map[claim]int{},
	}
	h.decoy = encode(costs, random(saltSize), random(keySize)) // nobody knows its password
	return h
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// Hash is Turn.Hash for a program that hashes a password of its own.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	t, err := h.reserve(claim{class: known})
	if err != nil {
		return "", err
	}
	defer t.End()
	return t.Hash(ctx, password)
}

// Hash returns a password in the PHC string format.
func (t *Turn) Hash(ctx context.Context, password string) (string, error) {
	salt := random(saltSize)
	costs := t.hasher.costs
	key, err := t.key(ctx, password, salt, costs)
	return encode(costs, salt, key), err
}

// Verify reports whether a password is the stored one, and whether it should be
// hashed anew, because the costs have changed. Without a stored password it takes
// as long and is false.
func (t *Turn) Verify(ctx context.Context, stored, password string) (same, outdated bool, err error) {
	exists := stored != ""
	if !exists {
		stored = t.hasher.decoy
	}
	p, salt, want, err := decode(stored)
	if err != nil {
		return false, false, err
	}
	key, err := t.key(ctx, password, salt, p)
	if err != nil {
		return false, false, err
	}
	same = subtle.ConstantTimeCompare(key, want) == 1 && exists
	return same, p != t.hasher.costs, nil
}

// key computes Argon2id as soon as a processor is free.
func (t *Turn) key(ctx context.Context, password string, salt []byte, p params) ([]byte, error) {
	done, err := t.processor(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return argon2.IDKey([]byte(norm.NFC.String(password)), salt, p.time, p.memory, p.threads, keySize), nil
}

// processor waits for a processor, and returns what gives it back.
func (t *Turn) processor(ctx context.Context) (done func(), err error) {
	needs := []chan struct{}{t.hasher.slots}
	if t.claim.class == stranger {
		needs = []chan struct{}{t.hasher.strangers, t.hasher.slots}
	}
	done = func() {}
	for _, need := range needs {
		select {
		case need <- struct{}{}:
			before := done
			done = func() { <-need; before() }
		case <-ctx.Done():
			done()
			return nil, ctx.Err()
		}
	}
	return done, nil
}

var phc = base64.RawStdEncoding

func encode(p params, salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.time, p.threads,
		phc.EncodeToString(salt), phc.EncodeToString(key))
}

func decode(stored string) (p params, salt, key []byte, err error) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, nil, errors.New("signin: the stored password is not Argon2id in the PHC string format")
	}
	if salt, key, err = decodeParts(&p, parts); err != nil {
		return p, nil, nil, fmt.Errorf("signin: the stored password: %w", err)
	}
	return p, salt, key, nil
}

// decodeParts sets the parameters of a hash, and returns its salt and key.
func decodeParts(p *params, parts []string) (salt, key []byte, err error) {
	if _, err = fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.time, &p.threads); err != nil {
		return nil, nil, err
	}
	if p.memory > maxMemory || p.time == 0 || p.time > maxTime || p.threads == 0 {
		return nil, nil, errors.New("out of bounds")
	}
	if salt, err = phc.DecodeString(parts[4]); err != nil {
		return nil, nil, err
	}
	if key, err = phc.DecodeString(parts[5]); err != nil {
		return nil, nil, err
	}
	if len(key) != keySize {
		return nil, nil, errors.New("wrong size")
	}
	return salt, key, nil
}
