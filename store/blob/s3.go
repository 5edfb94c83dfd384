package blob

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 is a Store in a bucket. The key of an object is its name after the location's prefix. Clients
// send files directly to the bucket, so Kartei does not encrypt the bytes of upload sessions. The
// bytes of documents may be encrypted. The key of an encrypted object ends with sealedSuffix.
type S3 struct {
	core      minio.Core
	transport *http.Transport
	bucket    string
	prefix    string
	keys      keys
	encrypt   bool
	now       func() time.Time
}

const (
	// patience is the time without any sent or received byte after which a call ends with
	// ErrUnavailable.
	patience = 30 * time.Second
	// attempts is the maximum number of attempts of a request, and of reading an interrupted range.
	attempts = 3
	// window is the maximum size of one request when an object is read in
	// sequence. An upload of unknown size uses it as its part size.
	window = 16 << 20
	// maxObject is the maximum size that a bucket accepts in one request to store or copy an object
	// (Amazon S3 API reference, PutObject and CopyObject).
	maxObject = 5 << 30
)

// NewS3 returns a Store in a bucket. It makes no request. Credentials come from the usual places of
// the AWS tools: the environment, ~/.aws/credentials or the role of the machine. It returns an
// error if o.MaxSize is above the limit of a bucket.
func NewS3(l Location, o Options) (*S3, error) { return newS3(l, o, patience, attempts) }

func newS3(l Location, o Options, patience time.Duration, attempts int) (*S3, error) {
	keys, err := newKeys(o.Keys)
	if err != nil {
		return nil, err
	}
	if o.MaxSize > maxObject || o.Encryption == Always && storedSize(o.MaxSize) > maxObject {
		return nil, fmt.Errorf("blob: --max-file-size is %d bytes, but a bucket accepts at most 5 GiB in one request, and a little less if Kartei encrypts; use a lower --max-file-size", o.MaxSize)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &impatient{c, patience}, nil
		},
		TLSHandshakeTimeout: patience,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // the length of a decompressed body is unknown
	}
	lookup := minio.BucketLookupAuto
	if l.PathStyle {
		lookup = minio.BucketLookupPath
	}
	client, err := minio.New(l.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: !l.Insecure, Region: l.Region, BucketLookup: lookup, Transport: transport, MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return &S3{
		core: minio.Core{Client: client}, transport: transport, bucket: l.Bucket, prefix: l.Prefix,
		keys: keys, encrypt: o.Encryption == Always, now: o.Now,
	}, nil
}

// impatient is a connection whose reads and writes fail after a time without progress.
type impatient struct {
	net.Conn
	patience time.Duration
}

func (c *impatient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write writes p. It also extends the deadline of the read that waits for the response.
func (c *impatient) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close closes the idle connections.
func (s *S3) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// key returns the key of the plain object of a name.
func (s *S3) key(name string) string { return s.prefix + name }

// isKept reports whether a name is for the bytes of a document. Clients can only write the bytes of
// upload sessions.
func isKept(name string) bool { return strings.HasPrefix(name, Kept) }

// forms returns the possible keys of a name, the most likely first.
func (s *S3) forms(name string) []string {
	switch plain := s.key(name); {
	case !isKept(name):
		return []string{plain}
	case s.encrypt:
		return []string{plain + sealedSuffix, plain}
	default:
		return []string{plain, plain + sealedSuffix}
	}
}

// Target implements Store. It returns a presigned PUT request, so the bucket refuses bytes that
// differ from the declaration. The signature includes Content-Length. The header is not in the
// result, because clients send it anyway.
func (s *S3) Target(ctx context.Context, u Upload) (Target, error) {
	if err := checkName(u.Name); err != nil {
		return Target{}, err
	}
	valid := u.Expires.Sub(s.now()).Truncate(time.Second)
	if valid <= 0 {
		return Target{}, ErrExpired
	}
	headers := map[string]string{"Content-Type": u.ContentType}
	if u.SHA256 != "" {
		sum, err := hex.DecodeString(u.SHA256)
		if err != nil {
			return Target{}, fmt.Errorf("blob: %w", err)
		}
		headers[checksumHeader] = base64.StdEncoding.EncodeToString(sum)
	}
	signed := http.Header{"Content-Length": {strconv.FormatInt(u.Size, 10)}}
	for name, value := range headers {
		signed.Set(name, value)
	}
	url, err := s.core.PresignHeader(ctx, http.MethodPut, s.bucket, s.key(u.Name), valid, nil, signed)
	if err != nil {
		return Target{}, s.explain(ctx, err, u.Name)
	}
	return Target{http.MethodPut, url.String(), headers}, nil
}

const checksumHeader = "X-Amz-Checksum-Sha256"

// Put implements Store. It sends the bytes in one request. It sends the last byte after all bytes
// were verified, so the bucket stores no wrong bytes.
func (s *S3) Put(ctx context.Context, name string, r io.Reader, want Expectation) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	m := newMeasuringReader(ctx, r, want)
	if err := s.put(ctx, name, m, "", want); err != nil {
		return Info{}, err
	}
	if err := s.removeOtherForm(ctx, name); err != nil {
		return Info{}, err
	}
	return Info{name, m.size, m.sum(), s.now()}, nil
}

// put stores the bytes of m. If match is not empty, it only replaces an object with this ETag.
func (s *S3) put(ctx context.Context, name string, m *measuringReader, match string, want Expectation) error {
	key, options := s.forms(name)[0], minio.PutObjectOptions{ContentType: "application/octet-stream"}
	if match != "" {
		options.SetMatchETag(match)
	}
	body, size := io.Reader(&holdbackReader{bufio.NewReaderSize(m, segmentSize)}), want.Size
	if strings.HasSuffix(key, sealedSuffix) {
		e := newSlotContent()
		e.sha256 = want.SHA256
		stream, head := newStream(e.key[:])
		sealing := newSealer(stream, head, m)
		defer sealing.close()
		envelope := append(s.keys.seal(e, name), make([]byte, slotSize)...)
		body = io.MultiReader(bytes.NewReader(envelope), sealing)
		if size != AnySize {
			size = storedSize(size)
		}
	} else if want.SHA256 != "" {
		sum, err := hex.DecodeString(want.SHA256)
		if err != nil {
			return fmt.Errorf("blob: %w", err)
		}
		options.UserMetadata = map[string]string{checksumHeader: base64.StdEncoding.EncodeToString(sum)}
	}
	if size == 0 { // a body of length 0 is not read, so too many bytes would not be noticed
		if _, err := io.Copy(io.Discard, m); err != nil {
			return err
		}
	}
	options.DisableMultipart = size != AnySize
	options.PartSize = window // applies if the size is unknown; the memory holds one part
	_, err := s.core.Client.PutObject(ctx, s.bucket, key, struct{ io.Reader }{body}, size, options)
	if m.err != nil && m.err != io.EOF {
		return m.err
	}
	if err != nil {
		return s.explain(ctx, err, name)
	}
	if m.err == nil { // the size of the encrypted bytes follows from the bytes that were read
		err = errors.New("blob: the bucket stored a part of a file as a whole one")
	}
	return s.explain(ctx, err, name)
}

// holdbackReader returns the last byte only after its source has ended without an error.
type holdbackReader struct{ from *bufio.Reader }

func (h *holdbackReader) Read(p []byte) (int, error) {
	_, err := h.from.Peek(2)
	if err != nil && err != io.EOF {
		return 0, err
	}
	n := h.from.Buffered()
	if err == nil {
		n--
	}
	if n == 0 {
		return 0, io.EOF
	}
	return h.from.Read(p[:min(n, len(p))])
}

// removeOtherForm removes the object of a name that was stored with the other value of the setting
// Encryption.
func (s *S3) removeOtherForm(ctx context.Context, name string) error {
	if !isKept(name) {
		return nil
	}
	return s.remove(ctx, s.forms(name)[1], name)
}

func (s *S3) remove(ctx context.Context, key, name string) error {
	err := s.explain(ctx, s.core.Client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{}), name)
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	return err
}

// object describes an object in the bucket.
type object struct {
	minio.ObjectInfo
	sealed bool
}

// look returns the object of a name. It returns ErrNotExist if there is none.
func (s *S3) look(ctx context.Context, name string) (object, error) {
	if err := checkName(name); err != nil {
		return object{}, err
	}
	for _, key := range s.forms(name) {
		info, err := s.core.Client.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{Checksum: true})
		if err == nil {
			return object{info, strings.HasSuffix(key, sealedSuffix)}, nil
		}
		if err = s.explain(ctx, err, name); !errors.Is(err, ErrNotExist) {
			return object{}, err
		}
	}
	// The response to HEAD has no body, so it is the same if the bucket itself is missing. The
	// response to GET says which is missing.
	body, _, _, err := s.core.GetObject(ctx, s.bucket, s.key(name), minio.GetObjectOptions{})
	if err != nil {
		return object{}, s.explain(ctx, err, name)
	}
	body.Close() // the object was created meanwhile
	err = minio.ErrorResponse{Code: minio.NoSuchKey, StatusCode: http.StatusNotFound}
	return object{}, s.explain(ctx, err, name)
}

// info returns the Info of an object. It reads the head of an encrypted object.
func (s *S3) info(ctx context.Context, o object, name string) (Info, error) {
	found := Info{Name: name, Size: o.Size, Modified: o.LastModified}
	if !o.sealed {
		if sum, err := base64.StdEncoding.DecodeString(o.ChecksumSHA256); err == nil && len(sum) == 32 {
			found.SHA256 = hex.EncodeToString(sum)
		}
		return found, nil
	}
	e, _, layout, err := readHead(s.remote(ctx, o, name), o.Size, name, s.keys)
	if err != nil {
		return Info{}, err
	}
	found.Size, found.SHA256 = layout.size, e.sha256
	return found, nil
}

// Stat implements Store. For an encrypted object it also reads the head.
func (s *S3) Stat(ctx context.Context, name string) (Info, error) {
	o, err := s.look(ctx, name)
	if err != nil {
		return Info{}, err
	}
	return s.info(ctx, o, name)
}

// Open implements Store. The Reader reads the current version of the object. If the object is
// replaced later, reading returns ErrUnavailable.
func (s *S3) Open(ctx context.Context, name string) (Reader, error) {
	o, err := s.look(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, o, name)
}

func (s *S3) open(ctx context.Context, o object, name string) (Reader, error) {
	r := s.remote(ctx, o, name)
	if !o.sealed {
		return &plainObject{remote: r}, nil
	}
	e, head, layout, err := readHead(r, o.Size, name, s.keys)
	if err != nil {
		return nil, err
	}
	return unseal(e, head, layout, r)
}

// Keep implements Store. It copies the object within the bucket. If the settings demand encryption,
// it reads and encrypts the object instead. Then it removes the object of the upload session.
func (s *S3) Keep(ctx context.Context, from, to string) error {
	if err := errors.Join(checkName(from), checkName(to)); err != nil {
		return err
	}
	_, err := s.look(ctx, to)
	if errors.Is(err, ErrNotExist) {
		err = s.copy(ctx, from, to)
	}
	if errors.Is(err, ErrNotExist) { // another process may have kept the bytes
		_, err = s.look(ctx, to)
	}
	if err != nil {
		return err
	}
	return s.remove(ctx, s.key(from), from)
}

// copy copies the bytes of an upload session to the name of a document. It starts again if the
// bytes are replaced meanwhile.
func (s *S3) copy(ctx context.Context, from, to string) error {
	for attempt := 1; ; attempt++ {
		o, err := s.look(ctx, from)
		if err != nil {
			return err
		}
		if s.encrypt {
			err = s.copySealed(ctx, o, from, to)
		} else {
			_, err = s.core.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: s.bucket, Object: s.key(to)},
				minio.CopySrcOptions{Bucket: s.bucket, Object: s.key(from), MatchETag: o.ETag})
			err = s.explain(ctx, err, from)
		}
		if !errors.Is(err, errReplaced) || attempt == attempts {
			return err
		}
	}
}

func (s *S3) copySealed(ctx context.Context, o object, from, to string) error {
	r, err := s.open(ctx, o, from)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := s.info(ctx, o, from)
	if err != nil {
		return err
	}
	want := Expectation{info.Size, info.SHA256}
	err = s.put(ctx, to, newMeasuringReader(ctx, r, want), "", want)
	if source := new(SourceError); errors.As(err, &source) {
		return source.Err
	}
	return err
}

// Delete implements Store.
func (s *S3) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	// The plain object must be removed first. If encryptOne finds no plain object after it has
	// stored the encrypted object, it removes the encrypted object. So a deleted object does not
	// return, even if Delete is interrupted.
	if err := s.remove(ctx, s.key(name), name); err != nil || !isKept(name) {
		return err
	}
	return s.remove(ctx, s.key(name)+sealedSuffix, name)
}

// List implements Store. It requests a thousand objects at a time.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for o := range s.core.Client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{
			Prefix: s.prefix + prefix, Recursive: true,
		}) {
			if o.Err != nil {
				yield(Info{}, s.explain(ctx, o.Err, prefix))
				return
			}
			plain, sealed := strings.CutSuffix(strings.TrimPrefix(o.Key, s.prefix), sealedSuffix)
			if checkName(plain) != nil {
				continue // not an object of the store
			}
			if sealed {
				l, _ := layoutOf(o.Size) // 0 for a damaged object
				o.Size = l.size
			}
			if !yield(Info{Name: plain, Size: o.Size, Modified: o.LastModified}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Info{}, err)
		}
	}
}

// Ping implements Store. It checks that the bucket exists and that the credentials allow access.
func (s *S3) Ping(ctx context.Context) error {
	there, err := s.core.BucketExists(ctx, s.bucket)
	if err == nil && !there {
		err = errors.New("there is no such bucket")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Sweep implements Store. It aborts multipart uploads that began before since and have not ended.
func (s *S3) Sweep(ctx context.Context, since time.Time) (removed int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	for u := range s.core.Client.ListIncompleteUploads(ctx, s.bucket, s.prefix, true) {
		if u.Err != nil {
			return removed, s.explain(ctx, u.Err, s.prefix)
		}
		plain, _ := strings.CutSuffix(strings.TrimPrefix(u.Key, s.prefix), sealedSuffix)
		if checkName(plain) != nil || u.Initiated.After(since) {
			continue // not an object of the store, or still being sent
		}
		if err := s.core.AbortMultipartUpload(ctx, s.bucket, u.Key, u.UploadID); err != nil {
			return removed, s.explain(ctx, err, u.Key)
		}
		removed++
	}
	return removed, ctx.Err()
}

// Rotate implements Store. It replaces an encrypted object by an object with another envelope,
// because a bucket cannot change a part of an object. The content is not decrypted.
func (s *S3) Rotate(ctx context.Context, name string) (changed bool, err error) {
	o, err := s.look(ctx, name)
	switch {
	case errors.Is(err, ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case o.sealed:
		changed, err = s.rotateKey(ctx, o, name)
	case s.encrypt && isKept(name):
		changed, err = true, s.encryptOne(ctx, o, name)
	}
	if errors.Is(err, errReplaced) || errors.Is(err, ErrNotExist) { // deleted or replaced meanwhile
		return false, nil
	}
	return changed, err
}

func (s *S3) rotateKey(ctx context.Context, o object, name string) (changed bool, err error) {
	r := s.remote(ctx, o, name)
	defer r.drop()
	envelope := make([]byte, envelopeSize)
	if n, err := r.ReadAt(envelope, 0); err != nil && err != io.EOF {
		return false, err
	} else if n < envelopeSize {
		return false, fmt.Errorf("%w: %s is truncated", ErrDamaged, name)
	}
	if s.keys.current(envelope) {
		return false, nil
	}
	e, _, err := s.keys.openEnvelope(envelope, name)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	options := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true}
	options.SetMatchETag(o.ETag) // a deleted object must not return
	body := io.MultiReader(bytes.NewReader(s.keys.seal(e, name)), bytes.NewReader(make([]byte, slotSize)),
		&onward{r, envelopeSize})
	_, err = s.core.Client.PutObject(ctx, s.bucket, o.Key, body, o.Size, options)
	return true, s.explain(ctx, err, name)
}

// onward is a sequential io.Reader of an object from an offset on.
type onward struct {
	from *remote
	at   int64
}

func (o *onward) Read(p []byte) (int, error) {
	n, err := o.from.next(p, o.at)
	o.at += int64(n)
	return n, err
}

// encryptOne replaces a plain object by an encrypted copy. If the plain object
// is gone once the copy is written, another call has deleted it meanwhile.
// encryptOne then deletes the copy too.
func (s *S3) encryptOne(ctx context.Context, o object, name string) error {
	if err := s.copySealed(ctx, o, name, name); err != nil {
		return err
	}
	_, err := s.core.Client.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{})
	if err = s.explain(ctx, err, name); errors.Is(err, ErrNotExist) {
		return s.Delete(ctx, name)
	}
	if err != nil {
		return err
	}
	return s.remove(ctx, s.key(name), name)
}

// errReplaced means that the object was replaced since the call has found it.
var errReplaced = fmt.Errorf("%w: the bytes were replaced meanwhile", ErrUnavailable)

// explain wraps the errors of the bucket with the errors that callers distinguish. A missing bucket
// and refused credentials become ErrUnavailable, because the caller cannot solve these problems.
// All unknown errors become ErrUnavailable too.
func (s *S3) explain(ctx context.Context, err error, name string) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	answer := minio.ToErrorResponse(err)
	switch {
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrDamaged): // mapped already
		return err
	case answer.Code == minio.NoSuchKey:
		return fmt.Errorf("%w: %s", ErrNotExist, name)
	case answer.StatusCode == http.StatusPreconditionFailed:
		return errReplaced
	case answer.StatusCode == http.StatusInsufficientStorage, answer.Code == "QuotaExceeded":
		return fmt.Errorf("%w: %w", ErrFull, err)
	case os.IsTimeout(err):
		return fmt.Errorf("%w within %s: %w", ErrUnavailable, patience, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
