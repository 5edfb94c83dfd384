// Package nginxtest owns the nginx of a test: a reverse proxy for a server, which can stop and start again.
package nginxtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/test/child"
)

// Proxy is an nginx process as the reverse proxy of a server.
type Proxy struct {
	// URL is the base URL of the proxy. It stays the same after each start.
	URL string

	t        testing.TB
	bin, dir string
	address  string
	process  *child.Process
}

// New returns a proxy that does not run yet. It is stopped when the test ends. If nginx is not
// installed, New skips the test, or fails it if CI is true.
func New(t testing.TB) *Proxy {
	t.Helper()
	bin := find()
	if bin == "" {
		const missing = "no nginx for this test: install it (on Debian: apt-get install nginx-light)"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(address)
	p := &Proxy{URL: "http://localhost:" + port, t: t, bin: bin, dir: t.TempDir(), address: address}
	t.Cleanup(p.Stop)
	return p
}

// find returns the path of nginx, or "" if it is not installed.
func find() string {
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// configuration is an nginx.conf with one process and no access log. It forwards all requests to
// one server. Argument 4 is a line for the context http, argument 5 has lines for the context
// server.
const configuration = `daemon off;
master_process off;
pid %[1]s/pid;
error_log %[1]s/error.log warn;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	scgi_temp_path %[1]s/scgi;
	uwsgi_temp_path %[1]s/uwsgi;
	%[4]s
	server {
		listen %[2]s;
		%[5]s
		location / {
			proxy_pass %[3]s;
			proxy_http_version 1.1;
			proxy_set_header Host $http_host;
			proxy_set_header Connection "";
			proxy_set_header X-Forwarded-For $remote_addr;
			proxy_request_buffering off;
		}
	}
}
`

// Before starts the proxy for a server, or restarts it for another server. settings are lines of
// its configuration for all requests, such as "client_max_body_size 1k;".
func (p *Proxy) Before(server string, settings ...string) {
	p.t.Helper()
	p.BeforeWith(server, "", settings...)
}

// BeforeWith does the same as Before. zone is a line for the context http, such as a
// limit_req_zone.
func (p *Proxy) BeforeWith(server, zone string, settings ...string) {
	p.t.Helper()
	p.Stop()
	file := filepath.Join(p.dir, "nginx.conf")
	text := fmt.Sprintf(configuration, p.dir, p.address, server, zone, strings.Join(settings, "\n\t\t"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(p.bin, "-e", "stderr", "-p", p.dir, "-c", file)
	cmd.Stdout, cmd.Stderr = &said, &said
	process, err := child.Start(cmd)
	if err != nil {
		p.t.Fatal(err)
	}
	p.process = process
	for { // nginx does not report when it listens
		connection, err := net.Dial("tcp", p.address)
		if err == nil {
			connection.Close()
			return
		}
		select {
		case <-process.Ended():
			p.process = nil
			p.t.Fatalf("nginx did not start:\n%s", said.Bytes())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop kills the proxy. Its connections break, and its port is closed until the next Before.
func (p *Proxy) Stop() {
	if p.process != nil {
		p.process.Kill()
		p.process = nil
	}
}
