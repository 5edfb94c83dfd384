package blob

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"kartei/kit/masterkey"
	"kartei/test/s3test"
)

func init() {
	stores["S3"] = func(t *testing.T) Store { return newBucket(t, Never) }
	stores["S3Encrypted"] = func(t *testing.T) Store { return newBucket(t, Always) }
}

var buckets int

// newBucket creates a bucket and returns a store in it.
func newBucket(t *testing.T, e Encryption) *S3 {
	t.Helper()
	g := s3test.Shared(t)
	buckets++
	s := openBucket(t, g.Location("bucket-"+strconv.Itoa(buckets)), Options{Encryption: e})
	if err := s.core.MakeBucket(ctx, s.bucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func openBucket(t *testing.T, location string, o Options) *S3 {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	if o.Keys.Current == nil {
		o.Keys = masterkey.Ring{Current: key}
	}
	s, err := Open(ctx, location, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*S3)
}

// send sends bytes to a target as a client does. It returns the status and the body of the
// response.
func send(t *testing.T, target Target, b []byte, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequest(target.Method, target.URL, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range target.Headers {
		r.Header.Set(name, value)
	}
	if change != nil {
		change(r)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestPresigned checks that the URL of a target accepts the declared bytes and no other request.
func TestPresigned(t *testing.T) {
	b := content(70_000)
	other := bytes.Clone(b)
	other[5] ^= 1
	s := newBucket(t, Never)
	declared := Upload{staged, int64(len(b)), "text/plain", sum(b), time.Now().Add(time.Hour)}
	target, err := s.Target(ctx, declared)
	if err != nil || target.Method != "PUT" || len(target.Headers) != 2 || target.Headers["Content-Type"] != "text/plain" {
		t.Fatalf("%+v, %v", target, err)
	}
	without := declared
	without.SHA256 = ""
	unhashed, err := s.Target(ctx, without)
	if err != nil || len(unhashed.Headers) != 1 {
		t.Fatalf("%+v, %v", unhashed, err)
	}
	for what, c := range map[string]struct {
		target Target
		body   []byte
		change func(*http.Request)
		status int
	}{
		"another body": {target, other, nil, 400},
		"longer":       {target, append(bytes.Clone(b), 1), nil, 403},
		"shorter":      {target, b[1:], nil, 403},
		"another type": {target, b, func(r *http.Request) { r.Header.Set("Content-Type", "text/html") }, 403},
		"no type":      {target, b, func(r *http.Request) { r.Header.Del("Content-Type") }, 403},
		"another checksum": {
			target, other,
			func(r *http.Request) { r.Header.Set(checksumHeader, "AAAA"+r.Header.Get(checksumHeader)[4:]) }, 403,
		},
		"no checksum": {target, other, func(r *http.Request) { r.Header.Del(checksumHeader) }, 403},
		"another name": {
			target, b, func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "upl_", "upl_x", 1) },
			403,
		},
		"longer, no hash": {unhashed, append(bytes.Clone(b), 1), nil, 403},
		"to be read":      {target, nil, func(r *http.Request) { r.Method = "GET" }, 403},
	} {
		if status, text := send(t, c.target, c.body, c.change); status != c.status {
			t.Errorf("%s: %d %s", what, status, text)
		}
		isAbsent(t, s, staged)
	}
	for _, target := range []Target{unhashed, target, target} { // may be repeated until the bytes are kept
		if status, text := send(t, target, b, nil); status != 200 {
			t.Fatalf("as declared: %d %s", status, text)
		}
	}
	if info, err := s.Stat(ctx, staged); err != nil || info.Size != int64(len(b)) || info.SHA256 != sum(b) {
		t.Errorf("%+v, %v", info, err)
	}
	if err := s.Keep(ctx, staged, kept); err != nil {
		t.Fatal(err)
	}
	if info, err := Read(ctx, s, kept); err != nil || info.SHA256 != sum(b) {
		t.Errorf("%+v, %v", info, err)
	}
	declared.Expires = time.Now().Add(-time.Second)
	if _, err := s.Target(ctx, declared); !errors.Is(err, ErrExpired) {
		t.Error("a target of the past:", err)
	}
}

// TestKeepEncrypts checks that Keep encrypts the bytes in the bucket.
func TestKeepEncrypts(t *testing.T) {
	s := newBucket(t, Always)
	b := bytes.Repeat([]byte("Sehr geehrte Frau Morgenstern, "), 10_000)
	put(t, s, staged, b)
	if err := s.Keep(ctx, staged, kept); err != nil {
		t.Fatal(err)
	}
	found := files(t, filepath.Join(s3test.Shared(t).Dir, s.bucket, "kartei"))
	if len(found) != 1 || int64(len(found[kept+sealedSuffix])) != storedSize(int64(len(b))) ||
		bytes.Contains(found[kept+sealedSuffix], []byte("Morgenstern")) {
		t.Errorf("there are %d objects", len(found))
	}
	if info, err := s.Stat(ctx, kept); err != nil || info.SHA256 != sum(b) {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestRotateBucket(t *testing.T) {
	b := content(300_000)
	plain := newBucket(t, Never)
	put(t, plain, "files/1/doc_plain", b)
	put(t, plain, staged, b)
	before, after := masterkey.New(), masterkey.New()
	location := s3test.Shared(t).Location(plain.bucket)
	old := openBucket(t, location, Options{Encryption: Always, Keys: masterkey.Ring{Current: before}})
	put(t, old, kept, b)
	both := openBucket(t, location, Options{
		Encryption: Always,
		Keys:       masterkey.Ring{Current: after, Previous: []*masterkey.Key{before}},
	})
	for name, want := range map[string]bool{kept: true, "files/1/doc_plain": true, staged: false} {
		for i, want := range []bool{want, false} {
			if changed, err := both.Rotate(ctx, name); changed != want || err != nil {
				t.Errorf("%s: time %d: %v, %v", name, i, changed, err)
			}
		}
	}
	only := openBucket(t, location, Options{Keys: masterkey.Ring{Current: after}})
	for _, name := range []string{kept, "files/1/doc_plain", staged} {
		if info, err := Read(ctx, only, name); err != nil || info.SHA256 != sum(b) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if _, err := old.Open(ctx, kept); !errors.Is(err, ErrUnknownKey) {
		t.Error("under the old key:", err)
	}
	if got := list(t, only, ""); len(got) != 3 {
		t.Error("there is", got)
	}
}

// TestRotateDoesNotBringBack checks that Rotate does not store an object again that was deleted
// meanwhile.
func TestRotateDoesNotBringBack(t *testing.T) {
	before := masterkey.New()
	old := newBucket(t, Always)
	old.keys, _ = newKeys(masterkey.Ring{Current: before})
	put(t, old, kept, content(100_000))
	s := openBucket(t, s3test.Shared(t).Location(old.bucket), Options{
		Encryption: Always,
		Keys:       masterkey.Ring{Current: key, Previous: []*masterkey.Key{before}},
	})
	o, err := s.look(ctx, kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, kept); err != nil {
		t.Fatal(err)
	}
	if _, err := s.rotateKey(ctx, o, kept); err == nil {
		t.Error("what is gone was rotated")
	}
	isAbsent(t, s, kept)
}

// TestRotateWhileDeleted checks that an object stays deleted if it is encrypted between the two
// requests of Delete.
func TestRotateWhileDeleted(t *testing.T) {
	plain := newBucket(t, Never)
	put(t, plain, kept, content(100_000))
	g := s3test.Shared(t)
	rotating := openBucket(t, g.Location(plain.bucket), Options{Encryption: Always})
	var removed atomic.Int32
	front := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			if removed.Add(1) == 2 {
				if _, err := rotating.Rotate(ctx, kept); err != nil {
					t.Error(err)
				}
			}
		}
		forward(t, w, r)
	})
	deleting := openBucket(t, s3test.Location(front, plain.bucket), Options{Encryption: Always})
	if err := deleting.Delete(ctx, kept); err != nil || removed.Load() != 2 {
		t.Fatal(removed.Load(), err)
	}
	isAbsent(t, plain, kept)
}

// forward passes a request to the shared bucket server.
func forward(t *testing.T, w http.ResponseWriter, r *http.Request) {
	behind, err := url.Parse(s3test.Shared(t).URL)
	if err != nil {
		t.Error(err)
	}
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(behind)
		p.Out.Host = p.In.Host // the signature includes the host
	}}).ServeHTTP(w, r)
}

// TestSweepBucket checks that Sweep removes Kartei's own unfinished uploads from a bucket, and no
// uploads of other programs.
func TestSweepBucket(t *testing.T) {
	for what, prefix := range map[string]string{"with a prefix": "kartei/", "without": ""} {
		t.Run(what, func(t *testing.T) {
			s := newBucket(t, Never)
			s.prefix = prefix
			keys := []string{
				s.key(staged), s.key(kept), s.key(kept) + sealedSuffix, s.key("elsewhere/backup.tar"),
				s.key("files/of-others.sealed"), "backup",
			}
			for _, key := range keys {
				if _, err := s.core.NewMultipartUpload(ctx, s.bucket, key, minio.PutObjectOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if removed, err := s.Sweep(ctx, time.Now().Add(-time.Hour)); removed != 0 || err != nil {
				t.Errorf("of an hour ago: %d, %v", removed, err)
			}
			if removed, err := s.Sweep(ctx, time.Now().Add(time.Hour)); removed != 3 || err != nil {
				t.Errorf("%d, %v", removed, err)
			}
			var left []string
			for u := range s.core.Client.ListIncompleteUploads(ctx, s.bucket, "", true) {
				if u.Err != nil {
					t.Fatal(u.Err)
				}
				left = append(left, u.Key)
			}
			want := slices.Clone(keys[3:])
			slices.Sort(want)
			if slices.Sort(left); !slices.Equal(left, want) {
				t.Errorf("left are %q", left)
			}
		})
	}
}

func TestReplacedWhileRead(t *testing.T) {
	s := newBucket(t, Never)
	put(t, s, staged, content(300_000))
	r, err := s.Open(ctx, staged)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	put(t, s, staged, content(300_001))
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%d bytes of two contents were read, %v", n, err)
	}
}

// everything calls all methods that make requests to the bucket, and returns their errors.
func everything(s *S3) map[string]error {
	_, stated := s.Stat(ctx, kept)
	_, opened := s.Open(ctx, kept)
	_, failed := s.Put(ctx, staged, strings.NewReader("x"), Expectation{1, ""})
	_, rotated := s.Rotate(ctx, kept)
	_, swept := s.Sweep(ctx, time.Now())
	errs := map[string]error{
		"Stat": stated, "Open": opened, "Put": failed, "Rotate": rotated, "Sweep": swept,
		"Keep": s.Keep(ctx, staged, kept), "Delete": s.Delete(ctx, kept), "List": nil, "Ping": s.Ping(ctx),
	}
	for _, err := range s.List(ctx, "") {
		errs["List"] = err
	}
	return errs
}

// TestBucketFails checks that all methods return ErrUnavailable for a bucket that is missing or
// fails, and for refused credentials. No method may report missing bytes.
func TestBucketFails(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	g := s3test.Shared(t)
	failing := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client has disconnected
		<-r.Context().Done()
	})
	for what, c := range map[string]struct{ endpoint, secret string }{
		"no bucket":         {g.URL, s3test.SecretKey},
		"wrong credentials": {g.URL, "wrong"},
		"away":              {"http://" + s3test.Nobody(t), s3test.SecretKey},
		"500":               {failing, s3test.SecretKey},
		"slow":              {slow, s3test.SecretKey},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
			l, err := ParseLocation("s3://no-such-bucket?path-style=true&endpoint=" + c.endpoint)
			if err != nil {
				t.Fatal(err)
			}
			s, err := newS3(l, Options{Keys: masterkey.Ring{Current: key}}, 100*time.Millisecond, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for method, err := range everything(s) {
				if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotExist) {
					t.Errorf("%s: %v", method, err)
				}
			}
		})
	}
}

// TestBucketIsAskedAgain checks that a failed request to the bucket is repeated.
func TestBucketIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Length", "5")
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	})
	s := openBucket(t, "s3://office?path-style=true&endpoint="+url, Options{})
	if info, err := s.Stat(ctx, kept); err != nil || info.Size != 5 || asked.Load() != 2 {
		t.Errorf("asked %d times: %+v, %v", asked.Load(), info, err)
	}
}

// serve starts a server with this handler and returns its URL. The server ends with the test.
func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: answer}
	done := make(chan struct{})
	go func() {
		server.Serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

func TestParseLocation(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for text, want := range map[string]Location{
		"file:/srv/files": {Dir: "/srv/files"},
		"file:files":      {Dir: "files"},
		"s3://office":     {Bucket: "office", Host: "s3.amazonaws.com", Region: "us-east-1"},
		"s3://office/a/b/?region=eu-central-1": {
			Bucket: "office", Prefix: "a/b/", Host: "s3.amazonaws.com", Region: "eu-central-1",
		},
		"s3://office?endpoint=http://127.0.0.1:9000&path-style=true": {
			Bucket: "office", Host: "127.0.0.1:9000", Insecure: true, PathStyle: true, Region: "us-east-1",
		},
	} {
		if got, err := ParseLocation(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "file:", "files", "http://geheim", "s3:", "s3://", "s3://user:geheim@office", "s3://office?secret=geheim",
		"s3://office?endpoint=geheim",
		"s3://office?endpoint=ftp://geheim", "s3://office?endpoint=http://geheim/path", "s3://office?path-style=geheim",
		"s3://office?region=a&region=geheim", "s3://office?region=",
		"s3://office#geheim", "s3://office?a;geheim", "s3://office?endpoint=https://u:geheim@x", "geheim://\x00",
	} {
		if l, err := ParseLocation(text); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

// TestPresignedByTheClock checks that the lifetime of a target follows the clock of the instance.
func TestPresignedByTheClock(t *testing.T) {
	now := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	s := openBucket(t, "s3://office?endpoint=http://127.0.0.1:1", Options{Now: func() time.Time { return now }})
	target, err := s.Target(ctx, Upload{Name: staged, Size: 1, ContentType: "text/plain", Expires: now.Add(time.Hour)})
	if err != nil || !strings.Contains(target.URL, "X-Amz-Expires=3600&") {
		t.Errorf("%+v, %v", target, err)
	}
	if _, err := s.Target(ctx, Upload{
		Name: staged, Size: 1, ContentType: "text/plain", Expires: now.Add(-time.Second),
	}); !errors.Is(err, ErrExpired) {
		t.Error(err)
	}
}

// TestLargestInABucket checks the limit of 5 GiB for one request, with the overhead of encryption.
func TestLargestInABucket(t *testing.T) {
	l := Location{Bucket: "office", Host: "127.0.0.1:1"}
	sealable := int64(sort.Search(maxObject, func(size int) bool { return storedSize(int64(size)) > maxObject })) - 1
	for _, c := range []struct {
		size  int64
		e     Encryption
		taken bool
	}{
		{0, Auto, true}, {maxObject, Auto, true}, {maxObject + 1, Auto, false}, {1<<63 - 1, Always, false},
		{maxObject, Always, false}, {sealable, Always, true}, {sealable + 1, Always, false},
	} {
		s, err := NewS3(l, Options{Keys: masterkey.Ring{Current: key}, Encryption: c.e, MaxSize: c.size})
		if (err == nil) != c.taken {
			t.Errorf("%d bytes, %s: %v", c.size, c.e, err)
		}
		if err == nil {
			s.Close()
		}
	}
}
