package blob

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/tink-crypto/tink-go/v2/streamingaead/subtle"
	"pgregory.net/rapid"

	"kartei/kit/masterkey"
	"kartei/test/seed"
)

// tink returns the same stream encryption in the implementation of its authors.
func tink(t *testing.T, key []byte) *subtle.AESGCMHKDF {
	t.Helper()
	c, err := subtle.NewAESGCMHKDF(key, "SHA256", 32, segmentSize, streamStart)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTinkOpensWhatWeSeal(t *testing.T) {
	for _, size := range sizes {
		b, key := content(size), content(32)
		stream, head := newStream(key)
		s := newSealer(stream, head, bytes.NewReader(b))
		sealed, err := io.ReadAll(s)
		if err != nil || int64(len(sealed)) != storedSize(int64(size))-streamStart {
			t.Fatalf("%d bytes: %d sealed, %v", size, len(sealed), err)
		}
		s.close()
		r, err := tink(t, key).NewDecryptingReader(bytes.NewReader(sealed), []byte(purpose))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes: Tink reads %d others, %v", size, len(got), err)
		}
	}
}

func TestWeOpenWhatTinkSeals(t *testing.T) {
	for _, size := range sizes {
		b, key := content(size), content(32)
		file := bytes.NewBuffer(make([]byte, streamStart))
		w, err := tink(t, key).NewEncryptingWriter(file, []byte(purpose))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		o, err := openBytes(file.Bytes(), key)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes: %d others, %v", size, len(got), err)
		}
		o.Close()
	}
}

// inMemory returns a source with the bytes b.
func inMemory(b []byte) source { return file{bytes.NewReader(b), io.NopCloser(nil)} }

// openBytes returns a Reader of an encrypted file whose stream has this key.
func openBytes(file, key []byte) (Reader, error) {
	l, ok := layoutOf(int64(len(file)))
	if !ok {
		return nil, ErrDamaged
	}
	return unseal(&slotContent{key: [32]byte(key)}, file[streamStart:streamStart+streamHead], l, inMemory(file))
}

func TestLayout(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.Int64Range(0, 5*segmentSize), rapid.Int64Range(0, 1<<47)).Draw(t, "size")
		l, ok := layoutOf(storedSize(size))
		if !ok || l.size != size {
			t.Fatalf("%d plain bytes in %d: %+v, %v", size, storedSize(size), l, ok)
		}
		if size == 0 {
			return
		}
		at := rapid.Int64Range(0, size-1).Draw(t, "at")
		segment := l.segment(at)
		if start, end := l.plain(segment); at < start || at >= end || segment >= l.segments || end-start > restPlain {
			t.Fatalf("byte %d in segment %d from %d to %d", at, segment, start, end)
		}
	})
	for _, stored := range []int64{-1, 0, 1, streamStart, streamStart + streamHead, streamStart + streamHead + tagSize - 1,
		segmentSize + 1, segmentSize + tagSize, 2*segmentSize + tagSize, 1 << 62} {
		if l, ok := layoutOf(stored); ok {
			t.Errorf("%d bytes: %+v", stored, l)
		}
	}
}

// FuzzHostileFile opens hostile files, also after a valid envelope. The Reader may only return
// bytes that were encrypted with the key.
func FuzzHostileFile(f *testing.F) {
	keys, err := newKeys(masterkey.Ring{Current: key})
	if err != nil {
		f.Fatal(err)
	}
	b, e := content(firstPlain+100), newSlotContent()
	stream, head := newStream(e.key[:])
	s := newSealer(stream, head, bytes.NewReader(b))
	defer s.close()
	body, err := io.ReadAll(s)
	if err != nil {
		f.Fatal(err)
	}
	envelope := append(keys.seal(e, kept), make([]byte, slotSize)...)
	f.Add(append(bytes.Clone(envelope), body...))
	for what, changed := range tampered(append(bytes.Clone(envelope), body...)) {
		if len(what)%4 == 0 { // a part of the cases is enough for the corpus
			f.Add(changed)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, file := range [][]byte{file, append(bytes.Clone(envelope), file...)} {
			e, head, layout, err := readHead(bytes.NewReader(file), int64(len(file)), kept, keys)
			if err != nil {
				continue
			}
			r, err := unseal(e, head, layout, inMemory(file))
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
				continue
			}
			got, err := io.ReadAll(r)
			r.Close()
			if err == nil && !bytes.Equal(got, b) || !bytes.HasPrefix(b, got) {
				t.Fatalf("%d bytes were read that nobody has stored, %v", len(got), err)
			}
		}
	})
}
