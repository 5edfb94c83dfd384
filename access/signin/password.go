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

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// params are the costs of Argon2id.
type params struct {
	memory  uint32 // in KiB
	time    uint32
	threads uint8
}

// current are the costs of new passwords: the OWASP minimum of 2026, 19 MiB and
// two passes. A hash takes 40 to 90 ms.
var current = params{memory: 19 * 1024, time: 2, threads: 1}

const (
	saltSize = 16
	keySize  = 32
	// waiting bounds the hashes that wait for a processor. At most a second
	// passes until their turn.
	waiting = 16
	// maxMemory and maxTime bound what a stored hash may ask for.
	maxMemory = 256 * 1024
	maxTime   = 16
)

// ErrBusy says that too many passwords are being checked.
var ErrBusy = errors.New("signin: too many passwords are being checked")

// Hasher hashes passwords. It uses each processor for one password at a time, so
// that many sign-ins neither take all memory nor hold up the calls of others for
// long.
type Hasher struct {
	slots, queue chan struct{}
	decoy        string
}

// NewHasher returns a Hasher.
func NewHasher() *Hasher {
	n := runtime.GOMAXPROCS(0)
	h := &Hasher{slots: make(chan struct{}, n), queue: make(chan struct{}, n*(1+waiting))}
	h.decoy = encode(current, random(saltSize), random(keySize)) // nobody knows its password
	return h
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// Hash returns a password in the PHC string format.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := random(saltSize)
	key, err := h.key(ctx, password, salt, current)
	return encode(current, salt, key), err
}

// Verify reports whether a password is the stored one, and whether it should be
// hashed anew, because the costs have changed. Without a stored password it takes
// as long and is false.
func (h *Hasher) Verify(ctx context.Context, stored, password string) (same, outdated bool, err error) {
	known := stored != ""
	if !known {
		stored = h.decoy
	}
	p, salt, want, err := decode(stored)
	if err != nil {
		return false, false, err
	}
	key, err := h.key(ctx, password, salt, p)
	if err != nil {
		return false, false, err
	}
	same = subtle.ConstantTimeCompare(key, want) == 1 && known
	return same, p != current, nil
}

// key computes Argon2id as soon as a processor is free. With too many ahead of it
// the error is ErrBusy.
func (h *Hasher) key(ctx context.Context, password string, salt []byte, p params) ([]byte, error) {
	select {
	case h.queue <- struct{}{}:
		defer func() { <-h.queue }()
	default:
		return nil, ErrBusy
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(norm.NFC.String(password)), salt, p.time, p.memory, p.threads, keySize), nil
}

var phc = base64.RawStdEncoding

func encode(p params, salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.time, p.threads, phc.EncodeToString(salt), phc.EncodeToString(key))
}

func decode(stored string) (p params, salt, key []byte, err error) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, nil, errors.New("signin: the stored password is not Argon2id in the PHC string format")
	}
	_, err = fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.time, &p.threads)
	if err == nil && (p.memory > maxMemory || p.time == 0 || p.time > maxTime || p.threads == 0) {
		err = errors.New("out of bounds")
	}
	if err == nil {
		salt, err = phc.DecodeString(parts[4])
	}
	if err == nil {
		key, err = phc.DecodeString(parts[5])
	}
	if err == nil && len(key) != keySize {
		err = errors.New("wrong size")
	}
	if err != nil {
		return p, nil, nil, fmt.Errorf("signin: the stored password: %w", err)
	}
	return p, salt, key, nil
}
