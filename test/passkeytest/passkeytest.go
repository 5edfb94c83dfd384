// Package passkeytest owns a virtual device for passkeys, whose responses have the form that browsers send.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// Device has at most one passkey for one origin.
type Device struct {
	testing.TB
	// Origin is the origin of the page, and Host its host name.
	Origin, Host string
	// Unverified omits the verification of the user, such as a fingerprint.
	Unverified bool
	// Countless keeps the signature counter at zero, as devices do that share their passkeys.
	Countless  bool
	key        *ecdsa.PrivateKey
	id, handle []byte
	count      uint32
}

// New returns a device without a passkey.
func New(t testing.TB, origin, host string) *Device {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 32)
	rand.Read(id)
	return &Device{TB: t, Origin: origin, Host: host, key: key, id: id}
}

var url64 = base64.RawURLEncoding

// These constants are the flags in the authenticator data (WebAuthn, section 6.1).
const (
	present  = 1
	verified = 4
	attested = 64
)

func (d *Device) data(flags byte, more []byte) []byte {
	if !d.Unverified {
		flags |= verified
	}
	sum := sha256.Sum256([]byte(d.Host))
	b := append(sum[:], flags|present)
	b = binary.BigEndian.AppendUint32(b, d.count)
	return append(b, more...)
}

func (d *Device) client(kind, challenge string) []byte {
	b, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": d.Origin, "crossOrigin": false})
	if err != nil {
		d.Fatal(err)
	}
	return b
}

func (d *Device) answer(response map[string]string) json.RawMessage {
	b, err := json.Marshal(map[string]any{
		"id": url64.EncodeToString(d.id), "rawId": url64.EncodeToString(d.id), "type": "public-key", "response": response,
		"clientExtensionResults": map[string]any{},
	})
	if err != nil {
		d.Fatal(err)
	}
	return b
}

// Create returns the response of navigator.credentials.create to these options.
func (d *Device) Create(options json.RawMessage) json.RawMessage {
	d.Helper()
	var o struct {
		Challenge string
		User      struct{ ID string }
	}
	if err := json.Unmarshal(options, &o); err != nil {
		d.Fatal(err)
	}
	d.handle, _ = url64.DecodeString(o.User.ID)
	public, err := d.key.PublicKey.Bytes() // the byte 4, x and y
	if err != nil {
		d.Fatal(err)
	}
	cose := append([]byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20}, public[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 0x20), public[33:]...)
	credential := append(make([]byte, 16), 0, byte(len(d.id)))
	data := d.data(attested, append(append(credential, d.id...), cose...))
	object := append([]byte{0xa3, 0x63}, "fmt"...)
	object = append(append(object, 0x64), "none"...)
	object = append(append(append(object, 0x67), "attStmt"...), 0xa0)
	object = append(append(append(object, 0x68), "authData"...), 0x59, byte(len(data)>>8), byte(len(data)))
	return d.answer(map[string]string{
		"clientDataJSON":    url64.EncodeToString(d.client("webauthn.create", o.Challenge)),
		"attestationObject": url64.EncodeToString(append(object, data...)),
	})
}

// Get returns the response of navigator.credentials.get to these options.
func (d *Device) Get(options json.RawMessage) json.RawMessage {
	d.Helper()
	var o struct{ Challenge string }
	if err := json.Unmarshal(options, &o); err != nil {
		d.Fatal(err)
	}
	if !d.Countless {
		d.count++
	}
	client, data := d.client("webauthn.get", o.Challenge), d.data(0, nil)
	hash := sha256.Sum256(client)
	sum := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, sum[:])
	if err != nil {
		d.Fatal(err)
	}
	return d.answer(map[string]string{
		"clientDataJSON": url64.EncodeToString(client), "authenticatorData": url64.EncodeToString(data),
		"signature": url64.EncodeToString(signature), "userHandle": url64.EncodeToString(d.handle),
	})
}
