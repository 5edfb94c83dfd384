package blob

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

const (
	// markFile tells folders apart; it goes with the files when they are copied.
	markFile = "folder-id"
	// markLength is that of rand.Text.
	markLength = 26
	// markPatience is how long somebody who marks a folder may take between making
	// the file and writing it; then it was killed there.
	markPatience = 3 * time.Second
)

// Mark returns what tells the folder from every other one; empty where it has
// no mark. With make it is given one then: of several processes that do so at
// once all get the same.
func (l *Local) Mark(ctx context.Context, make bool) (string, error) {
	flags := os.O_CREATE | os.O_EXCL | os.O_WRONLY
	for until := time.Now().Add(markPatience); ; {
		b, err := l.root.ReadFile(markFile)
		switch {
		case err == nil && len(b) >= markLength:
			return string(b[:markLength]), nil
		case err == nil && time.Now().Before(until): // somebody is writing it
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
	_, err = f.WriteString(strings.ToLower(rand.Text())[:markLength] + "\n")
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), l.sync("."))
}

// probed is how many bytes Ping writes: more than is left in corners of a full
// disk.
const probed = 64 << 10

// Ping fails where the folder is gone or cannot be written to, where its disk is
// full (ErrFull), and where another folder stands in its place: what is then
// stored would be found by nobody.
func (l *Local) Ping(context.Context) error {
	there, err := os.Stat(l.root.Name())
	if err == nil {
		var mine os.FileInfo
		if mine, err = l.root.Stat("."); err == nil && !os.SameFile(mine, there) {
			err = errors.New("another folder stands in its place")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return cmp.Or(l.gone(), l.probe())
}

// probe writes a file that is not kept. It is not synced: a disk that is full or
// read-only says so before.
func (l *Local) probe() error {
	name := path.Join(unfinished, strings.ToLower(rand.Text()))
	f, err := l.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return classify(err)
	}
	_, err = f.Write(make([]byte, probed))
	return classify(errors.Join(err, f.Close(), l.root.Remove(name)))
}
