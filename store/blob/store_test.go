package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"kartei/kit/masterkey"
	"kartei/test/leaktest"
	"kartei/test/s3test"
	"kartei/test/seed"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http logs errors about interrupted requests
	status := m.Run()
	s3test.Stop()
	if status == 0 {
		if err := leaktest.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// stores has all kinds of stores. Each must pass all tests that use each.
var stores = map[string]func(*testing.T) Store{
	"LocalPlain":     func(t *testing.T) Store { return newLocal(t, t.TempDir(), LocalOptions{Plain: true}) },
	"LocalEncrypted": func(t *testing.T) Store { return newLocal(t, t.TempDir(), LocalOptions{}) },
}

// key is the master key of all tests that do not change the key.
var key = masterkey.New()

func newLocal(t testing.TB, dir string, o LocalOptions) *Local {
	t.Helper()
	if o.Keys.Current == nil {
		o.Keys.Current = key
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://kartei.example.com"
	}
	l, err := NewLocal(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// each runs a test for each kind of store.
func each(t *testing.T, test func(*testing.T, Store)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

const (
	staged = "uploads/7/upl_01h455vb4pex5vsknk084sn02q"
	kept   = "files/7/doc_01h455vb4pex5vsknk084sn02q"
)

var ctx = context.Background()

// content returns size bytes that differ by position. The same size returns the same bytes, so
// tests can compare them.
func content(size int) []byte {
	b := make([]byte, size)
	source := rand.NewChaCha8([32]byte{1, byte(size)})
	source.Read(b)
	return b
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func put(t *testing.T, s Store, name string, b []byte) Info {
	t.Helper()
	info, err := s.Put(ctx, name, bytes.NewReader(b), Expectation{int64(len(b)), sum(b)})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func get(t *testing.T, s Store, name string) []byte {
	t.Helper()
	r, err := s.Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// list returns the sorted names that begin with prefix.
func list(t *testing.T, s Store, prefix string) []string {
	t.Helper()
	found := []string{}
	for info, err := range s.List(ctx, prefix) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, info.Name)
	}
	slices.Sort(found)
	return found
}

func isAbsent(t *testing.T, s Store, name string) {
	t.Helper()
	if _, err := s.Stat(ctx, name); !errors.Is(err, ErrNotExist) {
		t.Errorf("Stat of %s: %v", name, err)
	}
	if _, err := s.Open(ctx, name); !errors.Is(err, ErrNotExist) {
		t.Errorf("Open of %s: %v", name, err)
	}
}

// sizes are the sizes at which an off-by-one error could occur.
var sizes = []int{
	0, 1, 4095, firstPlain - 1, firstPlain, firstPlain + 1,
	segmentSize - 1, segmentSize, segmentSize + 1,
	firstPlain + restPlain - 1, firstPlain + restPlain, firstPlain + restPlain + 1,
	firstPlain + 3*restPlain, 1<<20 + 17,
}

func TestPutAndRead(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		for _, size := range sizes {
			b := content(size)
			info := put(t, s, staged, b)
			if info.Name != staged || info.Size != int64(size) || info.SHA256 != sum(b) ||
				time.Since(info.Modified).Abs() > time.Hour {
				t.Fatalf("%d bytes: Put tells %+v", size, info)
			}
			found, err := s.Stat(ctx, staged)
			if err != nil || found.Size != int64(size) || found.SHA256 != "" && found.SHA256 != sum(b) {
				t.Fatalf("%d bytes: Stat tells %+v, %v", size, found, err)
			}
			if got := get(t, s, staged); !bytes.Equal(got, b) {
				t.Fatalf("%d bytes: %d others were read", size, len(got))
			}
			if read, err := Read(ctx, s, staged); err != nil || read.SHA256 != sum(b) || read.Size != int64(size) {
				t.Fatalf("%d bytes: Read tells %+v, %v", size, read, err)
			}
			for info, err := range s.List(ctx, "uploads/7/") {
				if err != nil || info.Name != staged || info.Size != int64(size) {
					t.Fatalf("%d bytes: List tells %+v, %v", size, info, err)
				}
			}
		}
	})
}

func TestMissingNames(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		isAbsent(t, s, kept)
		if err := s.Delete(ctx, kept); err != nil {
			t.Error("deleting nothing:", err)
		}
		if err := s.Keep(ctx, staged, kept); !errors.Is(err, ErrNotExist) {
			t.Error("keeping nothing:", err)
		}
		if changed, err := s.Rotate(ctx, kept); changed || err != nil {
			t.Error("rotating nothing:", changed, err)
		}
		if got := list(t, s, ""); len(got) != 0 {
			t.Error("there is", got)
		}
	})
}

func TestNamesAreNoPaths(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		for _, name := range []string{
			"", "files", "files/7", "files/7/", "/files/7/doc_a", "files/7/../8/doc_a", "files/../../etc/passwd",
			"files/7/doc_a/b",
			"files/7/doc_a.sealed", "files/7/.hidden", "files/7/DOC", "other/7/doc_a", "files/x/doc_a", "unfinished/7/a",
			"files/7/doc a",
			"files/7/doc_a\n", "files/7/dóc", "files/7/a\x00b", "files\\7\\a", "files/7/" + strings.Repeat("a", 101),
		} {
			_, failed := s.Put(ctx, name, strings.NewReader("x"), Expectation{Size: 1})
			_, opened := s.Open(ctx, name)
			_, stated := s.Stat(ctx, name)
			_, rotated := s.Rotate(ctx, name)
			_, aimed := s.Target(ctx, Upload{Name: name, Expires: time.Now().Add(time.Hour)})
			for what, err := range map[string]error{
				"Put": failed, "Open": opened, "Stat": stated, "Rotate": rotated, "Target": aimed,
				"Delete": s.Delete(ctx, name), "Keep": s.Keep(ctx, name, kept), "Keep to": s.Keep(ctx, staged, name),
			} {
				if err == nil || !strings.Contains(err.Error(), "is not a name") {
					t.Errorf("%s of %q: %v", what, name, err)
				}
			}
		}
	})
}

var errBroken = errors.New("the line broke")

// TestPutRefuses checks that bytes that differ from the declaration are not stored. They must not
// replace existing bytes.
func TestPutRefuses(t *testing.T) {
	b := content(200_000)
	other := bytes.Clone(b)
	other[150_000] ^= 1
	cases := map[string]struct {
		from func() io.Reader
		want Expectation
		is   error
	}{
		"one byte less": {
			func() io.Reader { return bytes.NewReader(b[:len(b)-1]) },
			Expectation{int64(len(b)), sum(b)},
			ErrTooShort,
		},
		"nothing": {
			func() io.Reader { return strings.NewReader("") },
			Expectation{int64(len(b)), ""},
			ErrTooShort,
		},
		"one byte more": {
			func() io.Reader { return io.MultiReader(bytes.NewReader(b), strings.NewReader("x")) },
			Expectation{int64(len(b)), sum(b)},
			ErrTooLong,
		},
		"more than nothing": {func() io.Reader { return strings.NewReader("x") }, Expectation{0, ""}, ErrTooLong},
		"endless":           {func() io.Reader { return endless{} }, Expectation{int64(len(b)), ""}, ErrTooLong},
		"one bit": {
			func() io.Reader { return bytes.NewReader(other) },
			Expectation{int64(len(b)), sum(b)},
			ErrChecksum,
		},
		"any size": {func() io.Reader { return bytes.NewReader(other) }, Expectation{AnySize, sum(b)}, ErrChecksum},
		"cut at the start": {
			func() io.Reader { return iotest.ErrReader(errBroken) },
			Expectation{int64(len(b)), sum(b)},
			errBroken,
		},
		"cut in the middle": {
			func() io.Reader { return io.MultiReader(bytes.NewReader(b[:100_000]), iotest.ErrReader(errBroken)) },
			Expectation{int64(len(b)), sum(b)},
			errBroken,
		},
		"cut after the last": {
			func() io.Reader { return io.MultiReader(bytes.NewReader(b), iotest.ErrReader(errBroken)) },
			Expectation{int64(len(b)), sum(b)},
			errBroken,
		},
	}
	each(t, func(t *testing.T, s Store) {
		for name, c := range cases {
			info, err := s.Put(ctx, staged, c.from(), c.want)
			if !errors.Is(err, c.is) || info != (Info{}) {
				t.Errorf("%s: %+v, %v", name, info, err)
			}
			if source := new(SourceError); errors.As(err, &source) != (c.is == errBroken) {
				t.Errorf("%s: whose fault was it? %v", name, err)
			}
			isAbsent(t, s, staged)
		}
		before := content(5000)
		put(t, s, staged, before)
		if _, err := s.Put(ctx, staged, bytes.NewReader(other),
			Expectation{int64(len(b)), sum(b)}); !errors.Is(err, ErrChecksum) {
			t.Error(err)
		}
		if !bytes.Equal(get(t, s, staged), before) {
			t.Error("what was refused has changed what was there")
		}
		if got := list(t, s, ""); !slices.Equal(got, []string{staged}) {
			t.Error("there is", got)
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestPutEndsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		ctx, cancel := context.WithCancel(ctx)
		from := io.MultiReader(bytes.NewReader(content(100_000)), call(func() { cancel() }), endless{})
		if _, err := s.Put(ctx, staged, from, Expectation{Size: AnySize}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		isAbsent(t, s, staged)
	})
}

// call is an empty reader that calls the function when it is read.
type call func()

func (c call) Read([]byte) (int, error) { c(); return 0, io.EOF }

func TestPutInSmallPieces(t *testing.T) {
	b := content(200_000)
	each(t, func(t *testing.T, s Store) {
		for name, from := range map[string]io.Reader{
			"half":  iotest.HalfReader(bytes.NewReader(b)),
			"early": iotest.DataErrReader(bytes.NewReader(b)),
			"bytes": iotest.OneByteReader(bytes.NewReader(b)),
		} {
			if _, err := s.Put(ctx, staged, from, Expectation{int64(len(b)), sum(b)}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !bytes.Equal(get(t, s, staged), b) {
				t.Errorf("%s: other bytes", name)
			}
		}
	})
}

// TestPutTogether checks that each read returns one of two contents completely, while both are put
// under the same name.
func TestPutTogether(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		contents := [][]byte{content(70_000), content(150_000)}
		if _, bucket := s.(*S3); bucket {
			// The bucket server of the tests looks up the length and the ETag of an object before
			// it opens the file (versitygw 1.8.0). So both may be of the object before.
			contents[1] = content(70_000)
			slices.Reverse(contents[1])
		}
		put(t, s, staged, contents[0])
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 5 {
					b := contents[i%2]
					if _, err := s.Put(ctx, staged, bytes.NewReader(b), Expectation{int64(len(b)), sum(b)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range 20 {
			r, err := s.Open(ctx, staged)
			if err != nil {
				t.Fatal(err)
			}
			read, err := io.ReadAll(r)
			r.Close()
			if errors.Is(err, errReplaced) { // a bucket does not keep the old object for readers
				continue
			}
			if err != nil || !bytes.Equal(read, contents[0]) && !bytes.Equal(read, contents[1]) {
				t.Fatalf("something in between was read: %d bytes, %v", len(read), err)
			}
		}
		wg.Wait()
	})
}

func TestKeep(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		b := content(100_000)
		put(t, s, staged, b)
		for i := range 3 { // the second and third Keep have nothing to do
			if err := s.Keep(ctx, staged, kept); err != nil {
				t.Fatal(i, err)
			}
			isAbsent(t, s, staged)
			if !bytes.Equal(get(t, s, kept), b) {
				t.Fatal(i, "other bytes")
			}
		}
		if info, err := s.Stat(ctx, kept); err != nil || info.Size != int64(len(b)) ||
			info.SHA256 != "" && info.SHA256 != sum(b) {
			t.Errorf("%+v, %v", info, err)
		}
		// Bytes that are sent again do not replace the bytes of the document.
		put(t, s, staged, content(3))
		if err := s.Keep(ctx, staged, kept); err != nil {
			t.Fatal(err)
		}
		isAbsent(t, s, staged)
		if !bytes.Equal(get(t, s, kept), b) {
			t.Error("kept bytes were changed")
		}
		if err := s.Delete(ctx, kept); err != nil {
			t.Fatal(err)
		}
		isAbsent(t, s, kept)
	})
}

func TestKeepTogether(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		b := content(100_000)
		put(t, s, staged, b)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := s.Keep(ctx, staged, kept); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		isAbsent(t, s, staged)
		if !bytes.Equal(get(t, s, kept), b) {
			t.Error("other bytes")
		}
	})
}

func TestList(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		var all []string
		for organization := range 3 {
			for i := range 4 {
				for _, kind := range []string{"uploads/%d/upl_%d", "files/%d/doc_%d"} {
					name := fmt.Sprintf(kind, organization, i)
					all = append(all, name)
					put(t, s, name, content(i))
				}
			}
		}
		for _, prefix := range []string{
			"", "uploads/", "files/", "files/1/", "files/1", "files/2/doc_3", "fi", "files/9/", "else/",
		} {
			want := slices.DeleteFunc(slices.Sorted(slices.Values(all)),
				func(name string) bool { return !strings.HasPrefix(name, prefix) })
			if got := list(t, s, prefix); !slices.Equal(got, want) {
				t.Errorf("%q: there is %v, want %v", prefix, got, want)
			}
		}
		seen := 0
		for range s.List(ctx, "") {
			if seen++; seen == 3 {
				break
			}
		}
		if seen != 3 {
			t.Error(seen)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		var last error
		for _, last = range s.List(ended, "") {
		}
		if !errors.Is(last, context.Canceled) {
			t.Error("an ended context:", last)
		}
	})
}

func TestOpenReadersOutliveDeletion(t *testing.T) {
	b := content(200_000)
	for _, kind := range []string{"LocalPlain", "LocalEncrypted"} {
		s := stores[kind](t)
		put(t, s, kept, b)
		r, err := s.Open(ctx, kept)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := s.Delete(ctx, kept); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes, %v", kind, len(got), err)
		}
	}
}

// TestReadAnywhere checks that reads and seeks at random offsets return the same bytes as a
// bytes.Reader.
func TestReadAnywhere(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		readers := map[int]Reader{}
		for _, size := range sizes {
			name := fmt.Sprintf("files/1/doc_%d", size)
			put(t, s, name, content(size))
			r, err := s.Open(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if r.Size() != int64(size) {
				t.Fatalf("%d bytes: size %d", size, r.Size())
			}
			readers[size] = r
		}
		seed.Check(t, func(t *rapid.T) {
			size := rapid.SampledFrom(sizes).Draw(t, "size")
			r, model := readers[size], bytes.NewReader(content(size))
			r.Seek(0, io.SeekStart)
			edges := slices.DeleteFunc([]int{0, firstPlain, firstPlain + restPlain, size}, func(n int) bool { return n > size })
			for range rapid.IntRange(1, 6).Draw(t, "steps") {
				offset := int64(rapid.SampledFrom(edges).Draw(t, "edge") + rapid.IntRange(-3, 3).Draw(t, "by"))
				if rapid.Bool().Draw(t, "anywhere") {
					offset = int64(rapid.IntRange(-1, size+1).Draw(t, "offset"))
				}
				p := make([]byte, rapid.SampledFrom([]int{0, 1, 2, 100, 70_000, size}).Draw(t, "length"))
				q := make([]byte, len(p))
				switch rapid.IntRange(0, 2).Draw(t, "what") {
				case 0:
					n, err := r.ReadAt(p, offset)
					m, expected := model.ReadAt(q, offset)
					if len(p) == 0 { // io.ReaderAt does not say whether this returns io.EOF
						expected = err
					}
					if n != m || !bytes.Equal(p[:n], q[:m]) || (err == nil) != (expected == nil) ||
						(err == io.EOF) != (expected == io.EOF) {
						t.Fatalf("ReadAt %d from %d of %d: %d %v, want %d %v", len(p), offset, size, n, err, m, expected)
					}
				case 1:
					whence := rapid.IntRange(0, 2).Draw(t, "whence")
					at, err := r.Seek(offset, whence)
					expected, failed := model.Seek(offset, whence)
					if (err == nil) != (failed == nil) || err == nil && at != expected {
						t.Fatalf("Seek %d %d of %d: %d %v, want %d %v", offset, whence, size, at, err, expected, failed)
					}
				case 2:
					n, err := io.ReadFull(r, p)
					m, expected := io.ReadFull(model, q)
					if n != m || !bytes.Equal(p[:n], q[:m]) || err != expected {
						t.Fatalf("Read %d of %d: %d %v, want %d %v", len(p), size, n, err, m, expected)
					}
				}
			}
		})
	})
}

func TestReadAtTogether(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		b := content(300_000)
		put(t, s, kept, b)
		r, err := s.Open(ctx, kept)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				p := make([]byte, 50_000)
				if n, err := r.ReadAt(p, int64(i*30_000)); err != nil || !bytes.Equal(p[:n], b[i*30_000:i*30_000+n]) {
					t.Error(n, err)
				}
			})
		}
		wg.Wait()
	})
}
