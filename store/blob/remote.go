package blob

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"
)

// remote reads an object of a bucket. Each request reads a range to its end, so that the connection
// can be used again. For sequential reads, the ranges become larger and larger. If the response of
// a range breaks off, remote requests the rest. The client library does not: it repeats only
// requests that get no response.
type remote struct {
	s    *S3
	ctx  context.Context
	o    object
	name string

	// Only next uses the fields below.
	body  io.ReadCloser // of the current range, or nil
	at    int64         // offset of the next byte in body
	end   int64         // the end of the range, exclusive
	ahead int64         // size of the current range
}

func (s *S3) remote(ctx context.Context, o object, name string) *remote {
	return &remote{s: s, ctx: ctx, o: o, name: name}
}

// request returns the body of a range of the object. The range must not be empty.
func (r *remote) request(from, end int64) (io.ReadCloser, error) {
	var options minio.GetObjectOptions
	if err := errors.Join(options.SetMatchETag(r.o.ETag), options.SetRange(from, end-1)); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	body, info, _, err := r.s.core.GetObject(r.ctx, r.s.bucket, r.o.Key, options)
	if err != nil {
		return nil, r.s.explain(r.ctx, err, r.name)
	}
	if info.Size != end-from {
		return nil, errors.Join(fmt.Errorf("%w: %d bytes instead of %d", ErrUnavailable, info.Size, end-from), body.Close())
	}
	return body, nil
}

// ReadAt implements io.ReaderAt. It requests exactly this part.
func (r *remote) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, errOffset
	}
	end := min(offset+int64(len(p)), r.o.Size)
	for broken := 0; offset+int64(n) < end; {
		body, err := r.request(offset+int64(n), end)
		if err != nil {
			return n, err
		}
		m, err := io.ReadFull(body, p[n:end-offset])
		n += m
		body.Close()
		if err != nil {
			if broken++; broken == attempts || r.ctx.Err() != nil {
				return n, r.s.explain(r.ctx, err, r.name)
			}
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// next reads the bytes at an offset. It continues with the current range if this range has them
// next.
func (r *remote) next(p []byte, offset int64) (n int, err error) {
	if offset != r.at && r.body != nil {
		r.drop()
		r.ahead = 0
	}
	r.at = offset
	for broken := 0; n < len(p) && r.at < r.o.Size; {
		if r.body == nil {
			r.ahead = min(max(4*r.ahead, int64(len(p)-n)), window)
			r.end = min(r.at+r.ahead, r.o.Size)
			if r.body, err = r.request(r.at, r.end); err != nil {
				return n, err
			}
		}
		m, err := io.ReadFull(r.body, p[n:min(int64(len(p)), int64(n)+r.end-r.at)])
		n, r.at = n+m, r.at+int64(m)
		if err != nil {
			r.drop()
			if broken++; broken == attempts || r.ctx.Err() != nil {
				return n, r.s.explain(r.ctx, err, r.name)
			}
			continue
		}
		if r.at == r.end {
			r.drop()
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *remote) drop() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}

// Close closes the current response.
func (r *remote) Close() error {
	r.drop()
	return nil
}

// plainObject is the Reader of an object that is not encrypted.
type plainObject struct {
	*remote
	offset int64
	closed bool
}

// Size returns the size at the time of Open.
func (o *plainObject) Size() int64 { return o.o.Size }

func (o *plainObject) Read(p []byte) (int, error) {
	if o.closed {
		return 0, errClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := o.next(p, o.offset)
	o.offset += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (o *plainObject) Seek(offset int64, whence int) (int64, error) {
	at, err := seek(o.offset, o.o.Size, offset, whence)
	if err != nil {
		return at, err
	}
	o.offset = at
	return at, nil
}

// Close closes the current response.
func (o *plainObject) Close() error {
	o.closed = true
	return o.remote.Close()
}
