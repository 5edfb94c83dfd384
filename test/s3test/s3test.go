// Package s3test owns the S3 server of tests: a real one, which checks signatures and checksums.
package s3test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sys/unix"

	"kartei/test/child"
)

// These constants are the credentials of the server.
const (
	AccessKey = "kartei-test"
	SecretKey = "not-a-secret-for-tests"
)

// Gateway is a running versitygw. Each bucket is a folder below Dir.
type Gateway struct {
	URL string
	Dir string

	stop func()
}

// one has the server that all tests of this program share.
var one struct {
	sync.Once
	*Gateway
	err error
}

// errMissing says that versitygw is not installed.
var errMissing = errors.New("versitygw is not installed: run ci/setup.sh versitygw")

// errEnded says that versitygw ended at its start, because another process had taken its port.
var errEnded = errors.New("versitygw ended")

// Shared returns the server that all tests of this program share. The credentials stay in the
// environment until the test ends. If versitygw is not installed, Shared skips the test, or fails
// it if CI is true.
func Shared(t testing.TB) *Gateway {
	t.Helper()
	one.Do(func() {
		for range 5 {
			if one.Gateway, one.err = start(); !errors.Is(one.err, errEnded) {
				break
			}
		}
	})
	if errors.Is(one.err, errMissing) && os.Getenv("CI") != "true" {
		t.Skip(one.err)
	}
	if one.err != nil {
		t.Fatal(one.err)
	}
	signIn(t)
	return one.Gateway
}

// signedIn counts the running tests that need the credentials in the environment.
var signedIn struct {
	sync.Mutex
	tests int
}

// signIn puts the credentials into the environment until the last test with them has ended. Unlike
// t.Setenv, it works in parallel tests.
func signIn(t testing.TB) {
	t.Helper()
	signedIn.Lock()
	defer signedIn.Unlock()
	signedIn.tests++
	err := errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", AccessKey), os.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		signedIn.Lock()
		defer signedIn.Unlock()
		if signedIn.tests--; signedIn.tests == 0 {
			os.Unsetenv("AWS_ACCESS_KEY_ID")
			os.Unsetenv("AWS_SECRET_ACCESS_KEY")
		}
	})
}

// Stop stops the server, if it runs. A TestMain calls it at its end.
func Stop() {
	if one.Gateway != nil {
		one.stop()
	}
}

// made is the number of buckets so far.
var made atomic.Int64

// Bucket creates a bucket and returns its name.
func (g *Gateway) Bucket(t testing.TB) string {
	t.Helper()
	name := "office-" + strconv.FormatInt(made.Add(1), 10)
	client, err := minio.New(strings.TrimPrefix(g.URL,
		"http://"), &minio.Options{Creds: credentials.NewStaticV4(AccessKey, SecretKey, "")})
	if err == nil {
		err = client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{})
	}
	// The bucket gets objects for its folders, as management consoles create them. Otherwise
	// versitygw removes a folder with its last object. A PUT at that moment would fail with
	// ExistingObjectIsDirectory.
	for _, folder := range []string{"kartei/", "kartei/uploads/", "kartei/files/"} {
		if err == nil {
			_, err = client.PutObject(t.Context(), name, folder, http.NoBody, 0,
				minio.PutObjectOptions{DisableContentSha256: true})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Location returns the location of a bucket on this server, in the form of --blob-url.
func (g *Gateway) Location(bucket string) string { return Location(g.URL, bucket) }

// Location returns the location of a bucket on the server at url, in the form of --blob-url.
func Location(url, bucket string) string {
	return "s3://" + bucket + "/kartei?endpoint=" + url + "&path-style=true"
}

// find returns the path of versitygw. It looks on PATH, and then in .cache/tools of the working
// directory and its parents. ci/setup.sh installs versitygw there, at the root of the repository.
func find() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".cache/tools/versitygw")
		if _, missing := os.Stat(path); missing == nil {
			return path, nil
		}
	}
	return "", errMissing
}

func start() (_ *Gateway, err error) {
	binary, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kartei-s3-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	// The option --keep-alive is not used. Version 1.8.0 leaves the end of a signed empty body in
	// the connection and reads it as the next request.
	var output bytes.Buffer
	cmd := exec.Command(binary, "--port", port, "--access", AccessKey, "--secret", SecretKey, "--quiet", "posix", dir)
	cmd.Stdout, cmd.Stderr = &output, &output
	process, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	g := &Gateway{URL: "http://" + port, Dir: dir, stop: func() {
		process.Kill()
		os.RemoveAll(dir)
	}}
	for {
		a, err := http.Get(g.URL)
		if err == nil {
			a.Body.Close()
		}
		select {
		case <-process.Ended():
			return nil, fmt.Errorf("%w: %s", errEnded, output.Bytes())
		case <-time.After(20 * time.Millisecond): // versitygw does not report when it listens
		}
		if err == nil && a.Header.Get("Server") == "VERSITYGW" {
			return g, nil
		}
	}
}

// freePort returns an address on which no process listens.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Nobody returns an address on which no process listens. The port stays bound until the test ends,
// so no other process can listen.
func Nobody(t testing.TB) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(socket) })
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.(*unix.SockaddrInet4).Port))
}
