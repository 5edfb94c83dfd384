package blob

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/kit/masterkey"
)

// files returns the contents of all files below a folder by their relative paths.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		relative, _ := filepath.Rel(dir, path)
		found[relative] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestLocalOnDisk(t *testing.T) {
	plain, encrypted := t.TempDir(), t.TempDir()
	b := bytes.Repeat([]byte("Sehr geehrte Frau Morgenstern, "), 10_000)
	put(t, newLocal(t, plain, LocalOptions{Plain: true}), staged, b)
	put(t, newLocal(t, encrypted, LocalOptions{}), staged, b)
	if found := files(t, plain); len(found) != 1 || !bytes.Equal(found[staged], b) {
		t.Errorf("plain: %d files", len(found))
	}
	found := files(t, encrypted)
	if len(found) != 1 || int64(len(found[staged+sealedSuffix])) != storedSize(int64(len(b))) {
		t.Fatalf("encrypted: %d files", len(found))
	}
	for _, word := range []string{"Morgenstern", "geehrte", staged} {
		if bytes.Contains(found[staged+sealedSuffix], []byte(word)) {
			t.Errorf("the encrypted file holds %q", word)
		}
	}
	filepath.WalkDir(encrypted, func(path string, d fs.DirEntry, err error) error {
		if info, err := d.Info(); path != encrypted && (err != nil || info.Mode().Perm()&0o077 != 0) {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	// Encrypting the same bytes again returns other bytes.
	put(t, newLocal(t, encrypted, LocalOptions{}), staged, b)
	if bytes.Equal(files(t, encrypted)[staged+sealedSuffix][2*slotSize:], found[staged+sealedSuffix][2*slotSize:]) {
		t.Error("two files of one content are alike")
	}
}

func TestSwitchingEncryption(t *testing.T) {
	dir, b := t.TempDir(), content(100_000)
	plain, encrypted := newLocal(t, dir, LocalOptions{Plain: true}), newLocal(t, dir, LocalOptions{})
	old := []string{"files/1/doc_a", "files/1/doc_b", "uploads/1/upl_c"}
	put(t, plain, old[0], b)
	put(t, encrypted, old[1], b)
	put(t, plain, old[2], b)
	for _, s := range []*Local{plain, encrypted} {
		for _, name := range old {
			if !bytes.Equal(get(t, s, name), b) {
				t.Errorf("%s: other bytes", name)
			}
		}
	}
	for i, want := range []bool{true, false, false} {
		if changed, err := encrypted.Rotate(ctx, old[i]); changed != want || err != nil {
			t.Errorf("%s: rotated %v, %v", old[i], changed, err)
		}
	}
	if err := encrypted.Keep(ctx, old[2], "files/1/doc_c"); err != nil {
		t.Fatal(err)
	}
	if changed, err := encrypted.Rotate(ctx, "files/1/doc_c"); !changed || err != nil {
		t.Errorf("rotated %v, %v", changed, err)
	}
	for name := range files(t, dir) {
		if !strings.HasSuffix(name, sealedSuffix) {
			t.Errorf("%s is not encrypted", name)
		}
	}
	for _, name := range []string{"files/1/doc_a", "files/1/doc_b", "files/1/doc_c"} {
		if !bytes.Equal(get(t, plain, name), b) {
			t.Errorf("%s: other bytes", name)
		}
	}
	// A file that is deleted while it is being encrypted stays deleted.
	const gone = "files/1/doc_gone"
	put(t, plain, gone, b)
	f, _, err := encrypted.open(gone, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := encrypted.Delete(ctx, gone); err != nil {
		t.Fatal(err)
	}
	if err := encrypted.encryptOne(ctx, f, gone); err != nil {
		t.Error(err)
	}
	isAbsent(t, encrypted, gone)
	// A name has only one file, with the bytes of the last Put.
	put(t, plain, old[0], b[:5])
	if got := list(t, encrypted, ""); len(got) != 3 || !bytes.Equal(get(t, encrypted, old[0]), b[:5]) {
		t.Error("there is", got)
	}
}

// TestRotate checks that the master key can be changed for files in every state that a crash can
// leave.
func TestRotate(t *testing.T) {
	dir, b := t.TempDir(), content(200_000)
	before, after := masterkey.New(), masterkey.New()
	old := newLocal(t, dir, LocalOptions{Keys: masterkey.Ring{Current: before}})
	put(t, old, staged, b)
	put(t, old, kept, b)
	put(t, old, "uploads/7/upl_2", b)
	if err := old.Keep(ctx, "uploads/7/upl_2", "files/7/doc_2"); err != nil {
		t.Fatal(err)
	}
	sealedFiles := files(t, dir)

	both := newLocal(t, dir, LocalOptions{Keys: masterkey.Ring{Current: after, Previous: []*masterkey.Key{before}}})
	for _, name := range []string{staged, kept, "files/7/doc_2"} {
		for i, want := range []bool{true, false} {
			if changed, err := both.Rotate(ctx, name); changed != want || err != nil {
				t.Fatalf("%s: time %d: %v, %v", name, i, changed, err)
			}
		}
	}
	only := newLocal(t, dir, LocalOptions{Keys: masterkey.Ring{Current: after}})
	for _, name := range []string{staged, kept, "files/7/doc_2"} {
		if !bytes.Equal(get(t, only, name), b) {
			t.Errorf("%s: other bytes", name)
		}
		if _, err := old.Open(ctx, name); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("%s: under the old key: %v", name, err)
		}
		if _, err := old.Rotate(ctx, name); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("%s: rotated back without the key: %v", name, err)
		}
		file := name + sealedSuffix
		if now := files(t, dir)[file]; !bytes.Equal(now[envelopeSize:], sealedFiles[file][envelopeSize:]) {
			t.Errorf("%s: more than the envelope was written", name)
		}
	}

	// A crash between the two writes leaves two keys. A crash during the first write leaves the old
	// slot intact. The next Rotate completes the change in both cases.
	path := filepath.Join(dir, kept+sealedSuffix)
	sound := files(t, dir)[kept+sealedSuffix]
	for what, envelope := range map[string][]byte{
		"both slots": append(bytes.Clone(sealedFiles[kept+sealedSuffix][:slotSize]), sound[slotSize:envelopeSize]...),
		"torn": append(bytes.Clone(sealedFiles[kept+sealedSuffix][:slotSize]),
			append(bytes.Clone(sound[slotSize:slotSize+100]), make([]byte, slotSize-100)...)...),
	} {
		if err := os.WriteFile(path, append(envelope, sound[envelopeSize:]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(get(t, both, kept), b) {
			t.Errorf("%s: other bytes", what)
		}
		if changed, err := both.Rotate(ctx, kept); !changed || err != nil {
			t.Errorf("%s: %v, %v", what, changed, err)
		}
		if !bytes.Equal(get(t, only, kept), b) {
			t.Errorf("%s: other bytes at the end", what)
		}
		if _, err := old.Open(ctx, kept); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("%s: under the old key: %v", what, err)
		}
	}
}

// TestKeepAfterCrash checks that a repeated Keep completes a Keep that a crash has interrupted.
func TestKeepAfterCrash(t *testing.T) {
	b := content(100_000)
	for what, crash := range map[string]func(*testing.T, *Local){
		"sealed for the new name, not renamed": func(t *testing.T, l *Local) {
			if _, err := l.reseal(staged, staged, kept); err != nil {
				t.Fatal(err)
			}
		},
		"put again after that, then renamed": func(t *testing.T, l *Local) {
			if _, err := l.reseal(staged, staged, kept); err != nil {
				t.Fatal(err)
			}
			put(t, l, staged, b)
			if err := l.move(staged, kept, true); err != nil {
				t.Fatal(err)
			}
		},
		"renamed and put again": func(t *testing.T, l *Local) {
			if err := l.Keep(ctx, staged, kept); err != nil {
				t.Fatal(err)
			}
			put(t, l, staged, content(5))
		},
	} {
		l := newLocal(t, t.TempDir(), LocalOptions{})
		put(t, l, staged, b)
		crash(t, l)
		if err := l.Keep(ctx, staged, kept); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		isAbsent(t, l, staged)
		if !bytes.Equal(get(t, l, kept), b) {
			t.Errorf("%s: other bytes", what)
		}
	}
}

// TestPutWhileDeleted checks that Put succeeds even if the file is deleted right after its rename.
func TestPutWhileDeleted(t *testing.T) {
	for _, plain := range []bool{false, true} {
		s := newLocal(t, t.TempDir(), LocalOptions{Plain: plain})
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					if err := s.Delete(ctx, staged); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
		for range 100 {
			if info, err := s.Put(ctx, staged, strings.NewReader("Guten Tag"), Expectation{Size: 9}); err != nil ||
				info.Modified.IsZero() {
				t.Errorf("%+v, %v", info, err)
				break
			}
		}
		close(stop)
		<-stopped
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	l := newLocal(t, dir, LocalOptions{})
	put(t, l, kept, content(10))
	now := time.Now()
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": time.Hour} {
		path := filepath.Join(dir, unfinished, name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if removed, err := l.Sweep(ctx, now.Add(-24*time.Hour)); removed != 1 || err != nil {
		t.Error(removed, err)
	}
	found := files(t, dir)
	if len(found) != 2 || found[filepath.Join(unfinished, "young")] == nil || found[kept+sealedSuffix] == nil {
		t.Errorf("there are %d files", len(found))
	}
}

// TestFailedCallsLeaveNothing checks that a failed Put leaves no file in the folder itself.
func TestFailedCallsLeaveNothing(t *testing.T) {
	for _, o := range []LocalOptions{{}, {Plain: true}} {
		dir := t.TempDir()
		l := newLocal(t, dir, o)
		if _, err := l.Put(ctx, staged, bytes.NewReader(content(200_000)),
			Expectation{Size: 200_001}); !errors.Is(err, ErrTooShort) {
			t.Fatal(err)
		}
		if found := files(t, dir); len(found) != 0 {
			t.Errorf("plain %v: %d files", o.Plain, len(found))
		}
	}
}

func TestToken(t *testing.T) {
	before, after := masterkey.New(), masterkey.New()
	l := newLocal(t, t.TempDir(), LocalOptions{Keys: masterkey.Ring{Current: before}})
	u := Upload{staged, 4711, "text/plain; charset=utf-8", sum(nil), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
	target, err := l.Target(ctx, u)
	if err != nil || target.Method != "PUT" || len(target.Headers) != 1 ||
		target.Headers["Content-Type"] != u.ContentType {
		t.Fatalf("%+v, %v", target, err)
	}
	token, ok := strings.CutPrefix(target.URL, "https://kartei.example.com/uploads/")
	if !ok || strings.ContainsAny(token, "/+=?") {
		t.Fatal(target.URL)
	}
	early := u.Expires.Add(-time.Second)
	if got, err := l.Verify(token, early); err != nil || got != u {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := l.Verify(token, u.Expires); !errors.Is(err, ErrExpired) {
		t.Error("at its end:", err)
	}
	b, _ := base64.RawURLEncoding.DecodeString(token)
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 1
		if got, err := l.Verify(base64.RawURLEncoding.EncodeToString(changed), early); !errors.Is(err, ErrToken) {
			t.Fatalf("byte %d changed: %+v, %v", i, got, err)
		}
	}
	for i := range len(token) {
		if _, err := l.Verify(token[:i], early); !errors.Is(err, ErrToken) {
			t.Fatalf("cut to %d: %v", i, err)
		}
	}
	for _, bad := range []string{
		token + "A", token + "=", " " + token, token + "\n", token[:9] + "\r\n" + token[9:],
		strings.Repeat("A", 5000), "ä",
	} {
		if _, err := l.Verify(bad, early); !errors.Is(err, ErrToken) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	other := newLocal(t, t.TempDir(), LocalOptions{Keys: masterkey.Ring{Current: after}})
	if _, err := other.Verify(token, early); !errors.Is(err, ErrToken) {
		t.Error("another instance:", err)
	}
	rotated := newLocal(t, t.TempDir(), LocalOptions{
		Keys: masterkey.Ring{Current: after, Previous: []*masterkey.Key{before}},
	})
	if got, err := rotated.Verify(token, early); err != nil || got != u {
		t.Errorf("after a change of the key: %+v, %v", got, err)
	}
	u.ContentType = strings.Repeat("x", maxToken)
	if _, err := l.Target(ctx, u); err == nil {
		t.Error("a token that Verify refuses was made")
	}
}

// tampered returns the changes that an attacker with write access can make to an encrypted file of
// several segments. A reader must detect each change and return no wrong byte.
func tampered(b []byte) map[string][]byte {
	edge := func(i int) int { return min(i*segmentSize, len(b)) }
	segments := (len(b) + segmentSize - 1) / segmentSize
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	cases := map[string][]byte{
		"emptied":             {},
		"a byte more":         join(b, []byte{0}),
		"a segment more":      join(b, b[edge(1):edge(2)]),
		"last segment twice":  join(b, b[edge(segments-1):]),
		"two exchanged":       join(b[:edge(1)], b[edge(2):edge(3)], b[edge(1):edge(2)], b[edge(3):]),
		"one left out":        join(b[:edge(1)], b[edge(2):]),
		"one repeated":        join(b[:edge(2)], b[edge(1):edge(2)], b[edge(2):]),
		"one in place of two": join(b[:edge(2)], b[edge(1):edge(2)], b[edge(3):]),
		"envelope only":       b[:envelopeSize],
		"head only":           b[:envelopeSize+streamHead],
		"zeros":               make([]byte, len(b)),
	}
	for _, n := range []int{1, tagSize, tagSize + 1, slotSize, envelopeSize, len(b) - edge(segments-1) - tagSize} {
		cases[fmt.Sprintf("%d bytes less", n)] = b[:len(b)-n]
	}
	for i := 1; i < segments; i++ {
		cases[fmt.Sprintf("cut after %d segments", i)] = b[:edge(i)]
	}
	flip := func(at int) {
		changed := bytes.Clone(b)
		changed[at] ^= 1
		cases[fmt.Sprintf("bit in byte %d", at)] = changed
	}
	for at := range slotSize { // only the slot in use
		flip(at)
	}
	for at := envelopeSize; at < envelopeSize+streamHead; at++ {
		flip(at)
	}
	for i := range segments {
		flip(min(edge(i)+envelopeSize+streamHead, len(b)-1))
		flip(edge(i+1) - 1)
	}
	return cases
}

func TestTampering(t *testing.T) {
	dir := t.TempDir()
	l := newLocal(t, dir, LocalOptions{})
	b := content(4*segmentSize + 1000)
	put(t, l, kept, b)
	path := filepath.Join(dir, kept+sealedSuffix)
	sound := files(t, dir)[kept+sealedSuffix]
	for what, changed := range tampered(sound) {
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		isFoundOut(t, l, what, b)
	}
	if err := os.WriteFile(path, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(get(t, l, kept), b) {
		t.Error("the sound file does not open any more")
	}
}

// isFoundOut checks that reading the changed file kept returns an error or right bytes. b has the
// right bytes, and what describes the change.
func isFoundOut(t *testing.T, l *Local, what string, b []byte) {
	t.Helper()
	if _, err := Read(ctx, l, kept); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnknownKey) {
		t.Errorf("%s: read: %v", what, err)
	}
	r, err := l.Open(ctx, kept)
	if err != nil {
		return
	}
	defer r.Close()
	if strings.HasPrefix(what, "cut") {
		t.Errorf("%s: that was not found out before it was read", what)
	}
	p := make([]byte, 5000)
	for at := int64(0); at < r.Size(); at += 5000 {
		if n, err := r.ReadAt(p, at); n > 0 && (at+int64(n) > int64(len(b)) || !bytes.Equal(p[:n], b[at:at+int64(n)])) {
			t.Fatalf("%s: wrong bytes at %d, %v", what, at, err)
		}
	}
}

// TestSwapping checks that exchanged files and mixed files are detected.
func TestSwapping(t *testing.T) {
	dir := t.TempDir()
	l := newLocal(t, dir, LocalOptions{})
	b := content(100_000)
	for _, other := range []string{
		"files/7/doc_other", "files/8/doc_01h455vb4pex5vsknk084sn02q",
		"uploads/7/doc_01h455vb4pex5vsknk084sn02q",
	} {
		put(t, l, kept, content(10))
		put(t, l, other, b)
		if err := os.Rename(filepath.Join(dir, other+sealedSuffix), filepath.Join(dir, kept+sealedSuffix)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Open(ctx, kept); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s in place of %s: %v", other, kept, err)
		}
		if _, err := l.Rotate(ctx, kept); err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		if _, err := l.Open(ctx, kept); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s in place of %s, and rotated: %v", other, kept, err)
		}
	}
	// Each of these files has the segments of one file after the key of another file.
	first, second := "files/7/doc_1", "files/7/doc_2"
	put(t, l, first, b)
	put(t, l, second, b)
	found := files(t, dir)
	for _, at := range []int{envelopeSize, envelopeSize + streamHead, segmentSize} {
		mixed := append(bytes.Clone(found[first+sealedSuffix][:at]), found[second+sealedSuffix][at:]...)
		if err := os.WriteFile(filepath.Join(dir, first+sealedSuffix), mixed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(ctx, l, first); !errors.Is(err, ErrDamaged) {
			t.Errorf("mixed at %d: %v", at, err)
		}
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	l := newLocal(t, dir, LocalOptions{Plain: true})
	put(t, l, "files/7/doc_x", nil)
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, kept)); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Open(ctx, kept); err == nil {
		r.Close()
		t.Error("a link out of the folder was followed")
	}
}
