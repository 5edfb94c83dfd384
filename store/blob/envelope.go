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

// An encrypted file begins with an envelope: two slots of one disk sector each. A slot contains the
// key of the file's stream. This key is random and unique to the file. It is encrypted by
// XChaCha20-Poly1305 under a key derived from the master key. The name of the file is the
// associated data, so a file in the place of another file cannot be opened.
//
// One slot is in use, and the other slot is free. To encrypt the key again, under another master
// key or for another name, the free slot is written and synced. Then the old slot is cleared. The
// cost does not depend on the size of the file, and a valid slot exists at any time. A power
// failure during a write to one sector does not damage its neighbours. SQLite relies on the same
// property (https://www.sqlite.org/psow.html).
const (
	slotSize     = 512
	envelopeSize = 2 * slotSize

	slotMagic  = "kartei01"
	keyIDSize  = 8
	slotHead   = len(slotMagic) + keyIDSize + chacha20poly1305.NonceSizeX
	slotSecret = slotSize - slotHead - chacha20poly1305.Overhead // size of the plain content
)

// slotContent is the decrypted content of a slot.
type slotContent struct {
	key    [32]byte // of the stream
	sha256 string   // of the plain bytes; empty if unknown
}

// newSlotContent returns the content for a new file, with a random key.
func newSlotContent() *slotContent {
	e := new(slotContent)
	rand.Read(e.key[:])
	return e
}

// keyID identifies a key without revealing anything about it.
type keyID [keyIDSize]byte

// keys encrypt and decrypt slots. The first key encrypts, and all keys decrypt.
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

// seal returns a slot with this content for a name, encrypted under the current key.
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

// open decrypts a slot of the file with this name. It returns ErrDamaged if the slot was encrypted
// for another name, and ErrUnknownKey if its key is unknown.
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

// openEnvelope returns the content of the envelope of the file with this name, and the index of the
// slot in use. The errors are as for open.
func (k keys) openEnvelope(envelope []byte, name string) (e *slotContent, slot int, err error) {
	for i := range 2 {
		found, failed := k.open(envelope[i*slotSize:(i+1)*slotSize], name)
		if failed == nil {
			return found, i, nil
		}
		if err == nil || errors.Is(failed, ErrUnknownKey) { // ErrUnknownKey says more than ErrDamaged
			err = failed
		}
	}
	return nil, 0, err
}

// current reports whether all slots in use are encrypted under the current key.
func (k keys) current(envelope []byte) bool {
	for i := range 2 {
		slot := envelope[i*slotSize : (i+1)*slotSize]
		if !free(slot) && !bytes.HasPrefix(slot, append([]byte(slotMagic), k[0].id[:]...)) {
			return false
		}
	}
	return true
}

// free reports whether a slot has only zeros.
func free(slot []byte) bool { return len(bytes.Trim(slot, "\x00")) == 0 }
