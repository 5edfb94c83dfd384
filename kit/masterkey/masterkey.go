// Package masterkey owns the one secret that is not in the database, and the keys derived from it.
package masterkey

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Size is the length of the key in bytes.
const Size = 32

// Key is the master key. Its formatted text reveals nothing.
type Key struct{ bytes [Size]byte }

// New returns a key without a file, for instances that end with their process.
func New() *Key {
	k := new(Key)
	rand.Read(k.bytes[:]) // never fails (crypto/rand, since Go 1.24)
	return k
}

// ErrOpen is returned, wrapped, if others may read or replace a key.
var ErrOpen = errors.New("other users may read or replace the master key")

// Load reads the key at path. It returns ErrOpen if others may read or replace
// the file.
func Load(path string) (*Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("masterkey: %w", err)
	}
	defer f.Close()
	if err := private(f); err != nil {
		return nil, fmt.Errorf("masterkey: %w", err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("masterkey: %w", err)
	}
	if len(b) != Size {
		return nil, fmt.Errorf("masterkey: %s has %d bytes; accepted are exactly %d random bytes, for example from: head -c %d /dev/urandom", path, len(b), Size, Size)
	}
	return &Key{[Size]byte(b)}, nil
}

// LoadOrCreate reads the key at path. If there is none, it creates one that
// only the owner of the process can read, and created is true. If several
// processes start at the same time, one of them creates the key and all read
// it.
func LoadOrCreate(path string) (k *Key, created bool, err error) {
	if k, err = Load(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return k, false, err
	}
	made := New()
	switch err := write(path, made.bytes[:]); {
	case errors.Is(err, fs.ErrExist):
		k, err = Load(path)
		return k, false, err
	case err != nil:
		return nil, false, fmt.Errorf("masterkey: %w", err)
	}
	return made, true, nil
}

// write creates a file with the content b, as a whole or not at all. It fails
// if path exists.
func write(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".master-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path) // fails if path exists
}

// Derive returns 32 bytes for one purpose, by HKDF with SHA-256 (RFC 5869).
// Each purpose gets a key of its own, and none reveals anything about the
// master key.
func (k *Key) Derive(purpose string) []byte {
	b, err := hkdf.Key(sha256.New, k.bytes[:], nil, "kartei "+purpose, Size)
	if err != nil {
		panic(err) // only for lengths over 8160 bytes
	}
	return b
}

// String hides the key.
func (*Key) String() string { return "(hidden)" }

// GoString hides the key.
func (*Key) GoString() string { return "(hidden)" }
