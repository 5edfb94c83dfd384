package blob

import (
	"crypto/sha256"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkTransfer measures sending 100 MiB over a loopback connection, into a store and from a
// store. It also measures copying and hashing a plain file, for comparison.
func BenchmarkTransfer(b *testing.B) {
	data := content(100 << 20)
	dir := b.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, data, 0o600); err != nil {
		b.Fatal(err)
	}
	run := func(name string, send func(net.Conn) error, receive func(net.Conn) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := transfer(send, receive); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	sendFile := func(c net.Conn) error {
		f, err := os.Open(source)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(c, struct{ io.Reader }{f})
		return err
	}
	run("CopyWithHash", sendFile, func(c net.Conn) error {
		f, err := os.Create(filepath.Join(dir, "copy"))
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := io.Copy(io.MultiWriter(f, sha256.New()), c); err != nil {
			return err
		}
		return f.Sync()
	})
	for kind, plain := range map[string]bool{"Encrypted": false, "Plain": true} {
		l := newLocal(b, filepath.Join(dir, kind), LocalOptions{Plain: plain})
		want := Expectation{int64(len(data)), sum(data)}
		if _, err := l.Put(ctx, kept, &io.LimitedReader{R: open(b, source), N: want.Size}, want); err != nil {
			b.Fatal(err)
		}
		run("Upload"+kind, sendFile, func(c net.Conn) error {
			_, err := l.Put(ctx, staged, c, want)
			return err
		})
		run("Download"+kind, func(c net.Conn) error {
			r, err := l.Open(ctx, kept)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{r})
			return err
		}, func(c net.Conn) error {
			_, err := io.Copy(sha256.New(), c)
			return err
		})
	}
}

func open(b *testing.B, path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

// transfer connects send and receive, and returns after both have ended.
func transfer(send, receive func(net.Conn) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	sent := make(chan error, 1)
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			err = send(c)
			c.Close()
		}
		sent <- err
	}()
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := receive(c); err != nil {
		return err
	}
	return <-sent
}
