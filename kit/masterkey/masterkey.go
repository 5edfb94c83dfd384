// Package masterkey owns the master key, which is the only secret outside the database, and keys derived from it.
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

// Size is the length of the master key in bytes.
const Size = 32

// Key is a master key. Package fmt prints it as (hidden).
type Key struct{ bytes [Size]byte }

// New returns a random key that is not stored. Instances that end with their process use it.
func New() *Key {
	k := new(Key)
	rand.Read(k.bytes[:]) // never returns an error (crypto/rand, since Go 1.24)
	return k
}

// ErrOpen is wrapped by the errors of Load if other users may read or replace the file of the key.
var ErrOpen = errors.New("other users may read or replace the master key")

// Load reads the key at path. The error wraps ErrOpen if other users may read or replace the file.
// It wraps fs.ErrNotExist if there is no file.
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

// LoadOrCreate reads the key at path. If there is no file, it creates a key in a file that only the
// user of the process can read, and created is true. If several processes start at the same time,
// one creates the file and all read the same key.
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

// write creates a file with the content b. The file is complete as soon as it exists at path. write
// returns an error if path exists.
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

// Derive returns a key of 32 bytes for one purpose, by HKDF with SHA-256 (RFC 5869). Keys for
// different purposes differ, and reveal nothing about the master key.
func (k *Key) Derive(purpose string) []byte {
	b, err := hkdf.Key(sha256.New, k.bytes[:], nil, "kartei "+purpose, Size)
	if err != nil {
		panic(err) // only for lengths above 8160 bytes
	}
	return b
}

// String returns "(hidden)", so that the key does not appear in logs.
func (*Key) String() string { return "(hidden)" }

// GoString returns "(hidden)", so that the key does not appear in logs.
func (*Key) GoString() string { return "(hidden)" }
