// Package signin owns what proves a person: passwords, codes, passkeys and tickets, and the limits on guesses.
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

// params are the cost parameters of Argon2id.
type params struct {
	memory  uint32 // in KiB
	time    uint32
	threads uint8
}

var (
	// current are the costs of new passwords. They are the OWASP minimum of 2026: 19 MiB and two
	// passes. A hash takes 40 to 90 ms.
	current = params{memory: 19 * 1024, time: 2, threads: 1}
	// least are the smallest costs that Argon2id permits.
	least = params{memory: 8, time: 1, threads: 1}
)

const (
	saltSize = 16
	keySize  = 32
	// placesEach is the number of places of a class for each processor. With it, a turn waits at
	// most two seconds.
	placesEach = 8
	// placesOfOne is the maximum number of places of one session, link or device.
	placesOfOne = 2
	// maxMemory and maxTime are the maximum costs of a stored hash.
	maxMemory = 256 * 1024
	maxTime   = 16
)

// ErrBusy is the error if too many passwords are being checked.
var ErrBusy = errors.New("signin: too many passwords are being checked")

// Hasher hashes passwords. It uses each processor for at most one password at a time. So many
// sign-ins do not use up the memory and do not delay other calls for long. Strangers may use half
// of the processors, and have their own places in the queue.
type Hasher struct {
	slots, strangers chan struct{}
	costs            params // the costs of new passwords
	decoy            string

	mu     sync.Mutex
	places int // the number of places of each class
	taken  map[class]int
	of     map[claim]int
}

// class is a class of clients. Each class has its own places, so that no class waits for places of
// another class.
type class int

const (
	stranger class = iota
	knownNetwork
	known // a client with a known device, a session or a mailed link
)

// claim is a client and its class. The number of its places is bounded. So a client that guesses
// from one network, or sends the same link many times, does not take all places.
type claim struct {
	class class
	who   string
}

// limit returns the maximum number of places of a claim.
func (h *Hasher) limit(c claim) int {
	if c.class == known && c.who != "" {
		return placesOfOne
	}
	return h.places / 2
}

// Turn is a place in the queue of a Hasher. A call that gets no place is refused before it writes
// anything.
type Turn struct {
	hasher *Hasher
	claim  claim
}

// Reserve returns a place for an attempt. It fails with ErrBusy if there is none. The caller must
// call End.
func (h *Hasher) Reserve(o Origin) (*Turn, error) { return h.reserve(o.claim()) }

// claim returns the claim for the places of an attempt.
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

// End frees the place.
func (t *Turn) End() {
	t.hasher.mu.Lock()
	defer t.hasher.mu.Unlock()
	t.hasher.taken[t.claim.class]--
	if t.hasher.of[t.claim]--; t.hasher.of[t.claim] == 0 {
		delete(t.hasher.of, t.claim)
	}
}

// NewHasher returns a Hasher with the costs for new passwords.
func NewHasher() *Hasher { return newHasher(current) }

// NewTestHasher returns a Hasher for tests that do not depend on the costs of a password. A hash
// takes some microseconds, and protects nothing.
func NewTestHasher() *Hasher { return newHasher(least) }

func newHasher(costs params) *Hasher {
	n := runtime.GOMAXPROCS(0)
	h := &Hasher{
		costs: costs,
		slots: make(chan struct{}, n), strangers: make(chan struct{}, max(n/2, 1)),
		places: n * placesEach, taken: map[class]int{}, of: map[claim]int{},
	}
	h.decoy = encode(costs, random(saltSize), random(keySize)) // nobody knows a password with this hash
	return h
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// Hash reserves a place and hashes a password. It is for programs that hash their own passwords.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	t, err := h.reserve(claim{class: known})
	if err != nil {
		return "", err
	}
	defer t.End()
	return t.Hash(ctx, password)
}

// Hash returns the hash of a password in the PHC string format. It fails if ctx ends.
func (t *Turn) Hash(ctx context.Context, password string) (string, error) {
	salt := random(saltSize)
	costs := t.hasher.costs
	key, err := t.key(ctx, password, salt, costs)
	return encode(costs, salt, key), err
}

// Verify checks a password against a stored hash. same says that they match. outdated says that the
// caller should store a new hash, because the costs have changed. If stored is empty, same is
// false, and Verify takes the same time.
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

// key computes Argon2id once a processor is free. It fails if ctx ends.
func (t *Turn) key(ctx context.Context, password string, salt []byte, p params) ([]byte, error) {
	done, err := t.processor(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return argon2.IDKey([]byte(norm.NFC.String(password)), salt, p.time, p.memory, p.threads, keySize), nil
}

// processor waits for a free processor. The caller must call done afterwards. processor fails if
// ctx ends.
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
