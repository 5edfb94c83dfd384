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
	// markFile is the file with the mark of a folder or bucket. It has the same name in both, so a
	// copy of the files includes the mark.
	markFile = "folder-id"
	// markLength is the length of a mark in bytes, which rand.Text returns.
	markLength = 26
	// markPatience is the maximum time between the creation of the file and the writing of the mark
	// by another process. After this time, that process is considered killed.
	markPatience = 3 * time.Second
)

// newMark returns the content of the file with a new mark.
func newMark() string { return strings.ToLower(rand.Text())[:markLength] + "\n" }

// Mark implements Store. It reads the file with the mark, and creates the file if there is none.
func (l *Local) Mark(ctx context.Context, make bool) (string, error) {
	flags := os.O_CREATE | os.O_EXCL | os.O_WRONLY
	for until := time.Now().Add(markPatience); ; {
		b, err := l.root.ReadFile(markFile)
		switch {
		case err == nil && len(b) >= markLength:
			return string(b[:markLength]), nil
		case err == nil && time.Now().Before(until): // another process is writing the mark
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

// mark writes a new mark to the file, which is opened with flags.
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

// Mark implements Store. It reads the object with the mark, and creates the object if there is
// none.
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

// mark returns the mark in the bucket. It returns ErrNotExist if there is none.
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

// makeMark stores a new mark, unless the bucket has one.
func (s *S3) makeMark(ctx context.Context) error {
	mark, options := newMark(), minio.PutObjectOptions{ContentType: "text/plain", DisableMultipart: true}
	options.SetMatchETagExcept("*")
	_, err := s.core.Client.PutObject(ctx, s.bucket, s.prefix+markFile, strings.NewReader(mark), int64(len(mark)), options)
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusPreconditionFailed, http.StatusConflict: // another process has stored a mark, or is storing it
		return nil
	}
	return s.explain(ctx, err, markFile)
}

// probed is the number of bytes that Ping writes. A full disk has less room left.
const probed = 64 << 10

// Ping implements Store. It returns an error if the folder is missing or not writable, and ErrFull
// if the disk is full. It also returns an error if another folder is now at the same path, because
// new files would be stored in the old folder.
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

// probe writes and removes a temporary file. It needs no sync, because a full or read-only disk
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
