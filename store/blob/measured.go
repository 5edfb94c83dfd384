package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// measuringReader counts and hashes the bytes that it reads. It returns an error if they differ
// from want, or if the context has ended.
type measuringReader struct {
	ctx  context.Context
	from io.Reader
	want Expectation
	hash hash.Hash
	size int64
	err  error
}

func newMeasuringReader(ctx context.Context, from io.Reader, want Expectation) *measuringReader {
	return &measuringReader{ctx: ctx, from: from, want: want, hash: sha256.New()}
}

func (m *measuringReader) Read(p []byte) (int, error) {
	if m.err == nil {
		m.err = m.ctx.Err()
	}
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.from.Read(p)
	m.hash.Write(p[:n])
	m.size += int64(n)
	switch {
	case m.want.Size != AnySize && m.size > m.want.Size:
		m.err = ErrTooLong // the rest is not read
		return 0, m.err
	case err == io.EOF:
		m.err = m.end()
	case err != nil:
		m.err = &SourceError{err}
	}
	return n, m.err
}

// end returns io.EOF if all bytes are as expected, and otherwise an error.
func (m *measuringReader) end() error {
	switch {
	case m.want.Size != AnySize && m.size < m.want.Size:
		return ErrTooShort
	case m.want.SHA256 != "" && m.sum() != m.want.SHA256:
		return ErrChecksum
	}
	return io.EOF
}

func (m *measuringReader) sum() string { return hex.EncodeToString(m.hash.Sum(nil)) }
