package blob

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/crypto/chacha20poly1305"

	"kartei/kit/masterkey"
)

var (
	errOffset = errors.New("blob: a negative offset")
	errClosed = fmt.Errorf("blob: %w", fs.ErrClosed)
)

// An encrypted file begins with its envelope: two slots of one disk sector
// each. A slot holds the key of the file's stream. The key is random and unique
// to this file. It is sealed with XChaCha20-Poly1305 under a key derived from
// the master key. The file's name is the associated data, so a file that was
// moved to the place of another one does not open.
//
// One slot is in use, the other is free. To seal the file under another master
// key, or for another name, the free slot is written and synced. Then the other
// slot is cleared. So the cost does not depend on the size of the file, and at
// every moment one slot opens. A power failure during a write to one sector
// leaves its neighbours intact. SQLite relies on the same property
// (https://www.sqlite.org/psow.html).
const (
	slotSize     = 512
	envelopeSize = 2 * slotSize

	slotMagic  = "kartei01"
	keyIDSize  = 8
	slotHead   = len(slotMagic) + keyIDSize + chacha20poly1305.NonceSizeX
	slotSecret = slotSize - slotHead - chacha20poly1305.Overhead // plain size
)

// slotContent is the content of a slot.
type slotContent struct {
	key    [32]byte // of the stream
	sha256 string   // of the plain bytes; empty if unknown
}

// newSlotContent generates the key of a new file.
func newSlotContent() *slotContent {
	e := new(slotContent)
	rand.Read(e.key[:])
	return e
}

// keyID identifies a key and reveals nothing about it.
type keyID [keyIDSize]byte

// keys seal and open slots: the first one seals, and each may open.
type keys []slotKey

type slotKey struct {
	id   keyID
	aead cipher.AEAD
}

func newKeys(ring masterkey.Ring) (keys, error) {
	var all keys
	for _, k := range ring.All() {
		aead, err := chacha20poly1305.NewX(k.Derive("blobs"))
		if err != nil {
			return nil, err
		}
		all = append(all, slotKey{keyID(k.Derive("name of the key for blobs")), aead})
	}
	return all, nil
}

// seal returns a slot for a name under the current key.
func (k keys) seal(e *slotContent, name string) []byte {
	slot := make([]byte, slotHead, slotSize)
	copy(slot, slotMagic)
	copy(slot[len(slotMagic):], k[0].id[:])
	nonce := slot[len(slotMagic)+keyIDSize:]
	rand.Read(nonce)

	secret := make([]byte, slotSecret)
	copy(secret, e.key[:])
	if sum, err := hex.DecodeString(e.sha256); err == nil && len(sum) == 32 {
		secret[32] = 1
		copy(secret[33:], sum)
	}
	return k[0].aead.Seal(slot, nonce, secret, []byte(slotMagic+name))
}

// open returns the content of a slot of the file with this name. It fails with
// ErrDamaged if the slot was sealed for another name, and with ErrUnknownKey if
// the key is not known.
func (k keys) open(slot []byte, name string) (*slotContent, error) {
	if !bytes.HasPrefix(slot, []byte(slotMagic)) {
		return nil, ErrDamaged
	}
	id := keyID(slot[len(slotMagic):])
	for _, key := range k {
		if key.id != id {
			continue
		}
		secret, err := key.aead.Open(nil, slot[slotHead-chacha20poly1305.NonceSizeX:slotHead], slot[slotHead:],
			[]byte(slotMagic+name))
		if err != nil {
			return nil, fmt.Errorf("%w: its key cannot be opened for this name", ErrDamaged)
		}
		e := &slotContent{key: [32]byte(secret)}
		if secret[32] == 1 {
			e.sha256 = hex.EncodeToString(secret[33:65])
		}
		return e, nil
	}
	return nil, ErrUnknownKey
}

// openEnvelope returns the content of the envelope of the file with this name,
// and the slot in use.
func (k keys) openEnvelope(envelope []byte, name string) (e *slotContent, slot int, err error) {
	for i := range 2 {
		found, failed := k.open(envelope[i*slotSize:(i+1)*slotSize], name)
		if failed == nil {
			return found, i, nil
		}
		if err == nil || errors.Is(failed, ErrUnknownKey) { // the more precise error
			err = failed
		}
	}
	return nil, 0, err
}

// current reports whether all used slots of the envelope are sealed under the
// current key.
func (k keys) current(envelope []byte) bool {
	for i := range 2 {
		slot := envelope[i*slotSize : (i+1)*slotSize]
		if !free(slot) && !bytes.HasPrefix(slot, append([]byte(slotMagic), k[0].id[:]...)) {
			return false
		}
	}
	return true
}

// free reports whether a slot is empty.
func free(slot []byte) bool { return len(bytes.Trim(slot, "\x00")) == 0 }
