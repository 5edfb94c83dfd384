package blob

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// markFile holds the mark of a folder or a bucket. It has the same name in
	// both, so that it is copied along with the files.
	markFile = "folder-id"
	// markLength is the length of rand.Text.
	markLength = 26
	// markPatience is the time that another process may take between creating
	// the mark and writing it. After that it is considered killed.
	markPatience = 3 * time.Second
)

// newMark returns the content of a new mark.
func newMark() string { return strings.ToLower(rand.Text())[:markLength] + "\n" }

// Mark reads the file of the mark, and creates it unless another process does.
func (l *Local) Mark(ctx context.Context, make bool) (string, error) {
	flags := os.O_CREATE | os.O_EXCL | os.O_WRONLY
	for until := time.Now().Add(markPatience); ; {
		b, err := l.root.ReadFile(markFile)
		switch {
		case err == nil && len(b) >= markLength:
			return string(b[:markLength]), nil
		case err == nil && time.Now().Before(until): // another process is writing it
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
			continue
		case err == nil:
			flags = os.O_WRONLY
		case !errors.Is(err, fs.ErrNotExist):
			return "", classify(err)
		}
		if !make {
			return "", nil
		}
		if err := l.mark(flags); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", classify(err)
		}
	}
}

// mark writes a new mark.
func (l *Local) mark(flags int) error {
	f, err := l.root.OpenFile(markFile, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(newMark())
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), l.sync("."))
}

// Mark reads the object of the mark, and creates it unless another process
// does.
func (s *S3) Mark(ctx context.Context, make bool) (string, error) {
	for range attempts {
		mark, err := s.mark(ctx)
		switch {
		case !errors.Is(err, ErrNotExist):
			return mark, err
		case !make:
			return "", nil
		}
		if err := s.makeMark(ctx); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%w: the bucket does not return an object that was stored", ErrUnavailable)
}

// mark reads the mark, and fails with ErrNotExist if there is none.
func (s *S3) mark(ctx context.Context) (string, error) {
	body, _, _, err := s.core.GetObject(ctx, s.bucket, s.prefix+markFile, minio.GetObjectOptions{})
	if err != nil {
		return "", s.explain(ctx, err, markFile)
	}
	defer body.Close()
	b := make([]byte, markLength)
	switch _, err := io.ReadFull(body, b); {
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		return "", fmt.Errorf("%w: %s", ErrDamaged, s.prefix+markFile)
	case err != nil:
		return "", s.explain(ctx, err, markFile)
	}
	return string(b), nil
}

// makeMark writes a new mark unless there is one.
func (s *S3) makeMark(ctx context.Context) error {
	mark, options := newMark(), minio.PutObjectOptions{ContentType: "text/plain", DisableMultipart: true}
	options.SetMatchETagExcept("*")
	_, err := s.core.Client.PutObject(ctx, s.bucket, s.prefix+markFile, strings.NewReader(mark), int64(len(mark)), options)
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusPreconditionFailed, http.StatusConflict: // another process was first, or is writing
		return nil
	}
	return s.explain(ctx, err, markFile)
}

// probed is the number of bytes that Ping writes: more than the remains of a
// full disk hold.
const probed = 64 << 10

// Ping fails if the folder is gone or not writable, and with ErrFull if its
// disk is full. It also fails if another folder has taken its place, because
// files stored in the old one would be lost.
func (l *Local) Ping(context.Context) error {
	there, err := os.Stat(l.root.Name())
	if err == nil {
		var mine os.FileInfo
		if mine, err = l.root.Stat("."); err == nil && !os.SameFile(mine, there) {
			err = errors.New("another folder has taken its place")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return cmp.Or(l.gone(), l.probe())
}

// probe writes a temporary file. It needs no sync: a full or read-only disk
// fails earlier.
func (l *Local) probe() error {
	name := path.Join(unfinished, strings.ToLower(rand.Text()))
	f, err := l.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return classify(err)
	}
	_, err = f.Write(make([]byte, probed))
	return classify(errors.Join(err, f.Close(), l.root.Remove(name)))
}
