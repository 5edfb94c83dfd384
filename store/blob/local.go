package blob

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"kartei/kit/masterkey"
)

// Local is a Store in a folder. The path of a file is its name. If the file is encrypted,
// sealedSuffix follows. Names have no dot, so an encrypted file cannot be mistaken for another
// name.
type Local struct {
	root    *os.Root
	keys    keys
	tokens  [][]byte // keys that sign tokens, the current key first
	encrypt bool
	baseURL string
}

// LocalOptions are the settings of a Local.
type LocalOptions struct {
	Keys masterkey.Ring
	// Plain says that new files are not encrypted. Encrypted files remain readable.
	Plain bool
	// BaseURL is the URL of the instance without a path. Clients send files to
	// <BaseURL>/uploads/<token>.
	BaseURL string
}

const (
	sealedSuffix = ".sealed"
	// unfinished is the folder of files that are being written. It is inside the store's folder, so
	// that a finished file can be moved by a rename.
	unfinished = "unfinished"
)

// NewLocal opens the folder dir as a store. It creates the folder if it does not exist.
func NewLocal(dir string, o LocalOptions) (*Local, error) {
	keys, err := newKeys(o.Keys)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, classify(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, classify(err)
	}
	l := &Local{root: root, keys: keys, encrypt: !o.Plain, baseURL: o.BaseURL}
	for _, k := range o.Keys.All() {
		l.tokens = append(l.tokens, k.Derive("upload tokens"))
	}
	if err := l.mkdir(unfinished); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), root.Close())
	}
	return l, nil
}

// Close closes the folder. Readers stay open.
func (l *Local) Close() error { return l.root.Close() }

// Put implements Store. It writes to a temporary file, and renames the file when all bytes are on
// the disk.
func (l *Local) Put(ctx context.Context, name string, r io.Reader, want Expectation) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	m := newMeasuringReader(ctx, r, want)
	target := name
	if l.encrypt {
		target += sealedSuffix
	}
	var info fs.FileInfo // read before the rename, because another call may then keep or delete the file
	err := l.write(target, func(f *os.File) (err error) {
		if err = l.fill(f, name, m); err != nil {
			return err
		}
		info, err = f.Stat()
		return err
	})
	if err != nil {
		return Info{}, err
	}
	if err := l.remove(l.otherForm(target)); err != nil {
		return Info{}, err
	}
	return Info{name, m.size, m.sum(), info.ModTime()}, nil
}

// fill writes the bytes of m to a new file, encrypted if the settings say so.
func (l *Local) fill(f *os.File, name string, m *measuringReader) error {
	if !l.encrypt {
		buffer := buffers.Get().(*[segmentSize]byte)
		defer giveBack(buffer)
		_, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{m}, buffer[:])
		return err
	}
	e := newSlotContent()
	stream, head := newStream(e.key[:])
	s := newSealer(stream, head, m)
	defer s.close()
	if _, err := f.Write(make([]byte, envelopeSize)); err != nil {
		return err
	}
	if _, err := s.WriteTo(f); err != nil {
		return err
	}
	e.sha256 = m.sum()
	_, err := f.WriteAt(l.keys.seal(e, name), 0)
	return err
}

// write creates a temporary file, calls fill for it and renames the file to target. On any error it
// removes the file.
func (l *Local) write(target string, fill func(*os.File) error) (err error) {
	temporary := path.Join(unfinished, strings.ToLower(rand.Text()))
	f, err := l.root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return cmp.Or(l.gone(), classify(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(classify(err), l.remove(temporary))
		}
	}()
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return l.rename(temporary, target)
}

// rename renames a file. It returns when the rename is safe from a crash of the machine.
func (l *Local) rename(from, to string) error {
	if err := l.mkdir(path.Dir(to)); err != nil {
		return err
	}
	if err := l.root.Rename(from, to); err != nil {
		return err
	}
	return l.sync(path.Dir(to))
}

// mkdir creates a folder and its parents. It returns when they are safe from a crash of the
// machine.
func (l *Local) mkdir(dir string) error {
	if dir == "." {
		return nil
	}
	err := l.root.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if err = l.mkdir(path.Dir(dir)); err == nil {
			err = l.root.Mkdir(dir, 0o700)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return classify(err)
	}
	return l.sync(path.Dir(dir))
}

// sync syncs a folder, so that new, renamed and removed entries are safe from a crash of the
// machine.
func (l *Local) sync(dir string) error {
	f, err := l.root.Open(dir)
	if err != nil {
		return classify(err)
	}
	return classify(errors.Join(f.Sync(), f.Close()))
}

// remove removes a file, also after a crash of the machine. It does nothing if there is none.
func (l *Local) remove(file string) error {
	err := l.root.Remove(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return classify(err)
	}
	return l.sync(path.Dir(file))
}

// otherForm returns the path of the plain file for the path of an encrypted file, and vice versa.
func (l *Local) otherForm(file string) string {
	if name, ok := strings.CutSuffix(file, sealedSuffix); ok {
		return name
	}
	return file + sealedSuffix
}

// open opens the file of a name. It returns ErrNotExist if there is none.
func (l *Local) open(name string, flag int) (f *os.File, encrypted bool, err error) {
	if err := checkName(name); err != nil {
		return nil, false, err
	}
	for _, file := range []string{name + sealedSuffix, name} {
		f, err = l.root.OpenFile(file, flag, 0)
		if err == nil {
			return f, file != name, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, false, classify(err)
		}
	}
	return nil, false, cmp.Or(l.gone(), fmt.Errorf("%w: %s", ErrNotExist, name))
}

// gone returns ErrUnavailable if the whole folder is missing. Otherwise each file would be reported
// as missing.
func (l *Local) gone() error {
	if _, err := l.root.Stat(unfinished); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Stat implements Store. It returns the hash only of an encrypted file.
func (l *Local) Stat(_ context.Context, name string) (Info, error) {
	f, encrypted, err := l.open(name, os.O_RDONLY)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Info{}, classify(err)
	}
	found := Info{Name: name, Size: info.Size(), Modified: info.ModTime()}
	if encrypted {
		e, _, layout, err := l.head(f, name)
		if err != nil {
			return Info{}, err
		}
		found.Size, found.SHA256 = layout.size, e.sha256
	}
	return found, nil
}

// head reads the part of an encrypted file before its segments.
func (l *Local) head(f *os.File, name string) (*slotContent, []byte, layout, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, layout{}, classify(err)
	}
	return readHead(f, info.Size(), name, l.keys)
}

// readHead reads the part of an encrypted file before its segments. stored is the size of the file.
// It returns the content of the envelope, the header of the stream and the layout.
func readHead(f io.ReaderAt, stored int64, name string, k keys) (*slotContent, []byte, layout, error) {
	found, ok := layoutOf(stored)
	if !ok {
		return nil, nil, layout{}, fmt.Errorf("%w: %s has an impossible size", ErrDamaged, name)
	}
	head := make([]byte, streamStart+streamHead)
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return nil, nil, layout{}, classify(err)
	}
	e, _, err := k.openEnvelope(head[:envelopeSize], name)
	if err != nil {
		return nil, nil, layout{}, fmt.Errorf("%s: %w", name, err)
	}
	return e, head[streamStart:], found, nil
}

// Open implements Store. It decrypts the last segment of an encrypted file, to detect that the file
// was truncated.
func (l *Local) Open(_ context.Context, name string) (Reader, error) {
	f, encrypted, err := l.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	var r Reader
	if encrypted {
		r, err = l.unseal(f, name)
	} else {
		r, err = newPlainFile(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (l *Local) unseal(f *os.File, name string) (Reader, error) {
	e, head, layout, err := l.head(f, name)
	if err != nil {
		return nil, err
	}
	return unseal(e, head, layout, file{f, f})
}

// unseal returns a Reader of the segments of an encrypted file. The other parameters are the
// results of readHead.
func unseal(e *slotContent, head []byte, l layout, f source) (Reader, error) {
	s, err := openStream(e.key[:], head)
	if err != nil {
		return nil, err
	}
	return newPlainReader(s, l, f)
}

// plainFile is the Reader of a file that is not encrypted.
type plainFile struct {
	*os.File
	size int64
}

func newPlainFile(f *os.File) (*plainFile, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, classify(err)
	}
	return &plainFile{f, info.Size()}, nil
}

// Size returns the size at the time of Open. Files never grow.
func (f *plainFile) Size() int64 { return f.size }

// Keep implements Store. It renames the file. Before this, it encrypts the key of an encrypted file
// for the new name too. So the file is readable after a crash at any time.
func (l *Local) Keep(_ context.Context, from, to string) error {
	if err := errors.Join(checkName(from), checkName(to)); err != nil {
		return err
	}
	there, err := l.settle(from, to)
	if err != nil {
		return err
	}
	if there { // the bytes of a document never change, so bytes that were sent again are dropped
		return l.Delete(context.Background(), from)
	}
	encrypted, err := l.reseal(from, from, to)
	if err == nil {
		err = l.move(from, to, encrypted)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s", ErrNotExist, from)
	}
	if err != nil && !errors.Is(err, ErrNotExist) {
		return classify(err)
	}
	// Another call may have renamed the file at the same time. Or the client sent the bytes again
	// after the key was encrypted for the new name.
	there, failed := l.settle(from, to)
	if there || failed != nil {
		err = failed
	}
	return err
}

// move renames the file of an upload session to the name of a document.
func (l *Local) move(from, to string, encrypted bool) error {
	if encrypted {
		from, to = from+sealedSuffix, to+sealedSuffix
	}
	if err := l.rename(from, to); err != nil {
		return err
	}
	return l.sync(path.Dir(from))
}

// settle makes the file of a document readable under its name `to`, and reports whether the file
// exists. from is the name in the upload session.
func (l *Local) settle(from, to string) (there bool, err error) {
	_, err = l.reseal(to, from, to)
	if errors.Is(err, ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// reseal makes the encrypted file of a name also readable under the name `to`, if it is readable
// under `from`.
func (l *Local) reseal(name, from, to string) (encrypted bool, err error) {
	f, encrypted, err := l.open(name, os.O_RDWR)
	if err != nil || !encrypted {
		return false, errors.Join(err, closeFile(f))
	}
	err = l.change(f, func(envelope []byte) error {
		_, _, err := l.keys.openEnvelope(envelope, to)
		if !errors.Is(err, ErrDamaged) {
			return err
		}
		e, slot, err := l.keys.openEnvelope(envelope, from)
		if err != nil {
			return err
		}
		return writeSlot(f, 1-slot, l.keys.seal(e, to))
	})
	return true, errors.Join(err, f.Close())
}

// change calls do with the envelope of a file while it holds a lock on the file.
func (l *Local) change(f *os.File, do func(envelope []byte) error) error {
	if err := lockFile(f); err != nil {
		return classify(err)
	}
	envelope := make([]byte, envelopeSize)
	if _, err := f.ReadAt(envelope, 0); err != nil {
		return classify(err)
	}
	return do(envelope)
}

// writeSlot writes one slot of an envelope and waits until the disk has stored it.
func writeSlot(f *os.File, slot int, b []byte) error {
	_, err := f.WriteAt(b, int64(slot*slotSize))
	if err != nil {
		return classify(err)
	}
	err = f.Sync()
	return classify(err)
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// Delete implements Store.
func (l *Local) Delete(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	// The plain file must be removed first: see encryptOne.
	return errors.Join(l.remove(name), l.remove(name+sealedSuffix))
}

// Rotate implements Store. It encrypts only the key of an encrypted file again, in place. It
// rewrites a plain file of a document. It leaves a plain file of an upload session as it is,
// because such files are removed soon.
func (l *Local) Rotate(ctx context.Context, name string) (changed bool, err error) {
	f, encrypted, err := l.open(name, os.O_RDWR)
	if errors.Is(err, ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if encrypted {
		changed, err = l.rotateKey(f, name)
		if errors.Is(err, ErrDamaged) && !l.isStill(f, name) {
			return false, nil // renamed meanwhile
		}
		return changed, err
	}
	if !l.encrypt || !strings.HasPrefix(name, Kept) {
		return false, nil
	}
	return true, l.encryptOne(ctx, f, name)
}

// rotateKey encrypts the key of a file under the current master key, and clears the slot under
// another key.
func (l *Local) rotateKey(f *os.File, name string) (changed bool, err error) {
	err = l.change(f, func(envelope []byte) error {
		if l.keys.current(envelope) {
			return nil
		}
		e, slot, err := l.keys.openEnvelope(envelope, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		changed = true
		if err := writeSlot(f, 1-slot, l.keys.seal(e, name)); err != nil {
			return err
		}
		return writeSlot(f, slot, make([]byte, slotSize))
	})
	return changed, err
}

// isStill reports whether the open file is still the encrypted file of a name.
func (l *Local) isStill(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	other, err := l.root.Stat(name + sealedSuffix)
	return err == nil && os.SameFile(mine, other)
}

// encryptOne replaces a plain file by an encrypted copy. If the plain file is gone once the copy is
// written, another call has deleted it meanwhile. encryptOne then removes the copy too.
func (l *Local) encryptOne(ctx context.Context, f *os.File, name string) error {
	m := newMeasuringReader(ctx, f, Expectation{Size: AnySize})
	if err := l.write(name+sealedSuffix, func(to *os.File) error { return l.fill(to, name, m) }); err != nil {
		return err
	}
	err := l.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return l.remove(name + sealedSuffix)
	}
	return errors.Join(classify(err), l.sync(path.Dir(name)))
}

// List implements Store. It walks the folders.
func (l *Local) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for _, top := range []string{"uploads", "files"} {
			if err := l.list(ctx, top, prefix, yield); err != nil {
				if !errors.Is(err, errEnough) {
					yield(Info{}, err)
				}
				return
			}
		}
	}
}

// errEnough ends a walk when its caller has stopped.
var errEnough = errors.New("blob: enough")

// list yields the files in a folder and its subfolders. It reads the folder in pages, because it
// may have millions of entries.
func (l *Local) list(ctx context.Context, dir, prefix string, yield func(Info, error) bool) error {
	if n := min(len(dir)+1, len(prefix)); (dir + "/")[:n] != prefix[:n] {
		return nil
	}
	f, err := l.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return classify(err)
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(256)
		if err != nil && err != io.EOF {
			return classify(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, entry := range entries {
			if err := l.listed(ctx, path.Join(dir, entry.Name()), entry, prefix, yield); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// listed yields the file of one entry of a folder. For a subfolder it yields all its files.
func (l *Local) listed(
	ctx context.Context, file string, entry fs.DirEntry, prefix string, yield func(Info, error) bool,
) error {
	if entry.IsDir() {
		return l.list(ctx, file, prefix, yield)
	}
	name := strings.TrimSuffix(file, sealedSuffix)
	if !names.MatchString(name) || !strings.HasPrefix(name, prefix) {
		return nil // not a file of the store
	}
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return classify(err)
	}
	found := Info{Name: name, Size: info.Size(), Modified: info.ModTime()}
	if file != name {
		stored, _ := layoutOf(info.Size()) // 0 for a damaged file
		found.Size = stored.size
	}
	if !yield(found, nil) {
		return errEnough
	}
	return nil
}

// Sweep implements Store. It removes unfinished files.
func (l *Local) Sweep(ctx context.Context, since time.Time) (removed int, err error) {
	f, err := l.root.Open(unfinished)
	if err != nil {
		return 0, classify(err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return 0, classify(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.ModTime().After(since) {
			continue // removed meanwhile, or still being written
		}
		if err := errors.Join(ctx.Err(), l.remove(path.Join(unfinished, entry.Name()))); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// classify wraps errors of the disk with ErrFull or ErrUnavailable. It returns other errors
// unchanged.
func classify(err error) error {
	switch {
	case errors.Is(err, ErrFull), errors.Is(err, ErrUnavailable): // classified already
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ESTALE),
		errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
