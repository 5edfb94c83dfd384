package instance

import (
	"crypto/x509"
	"encoding/pem"
	"kartei/instance/config"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestDeployedMetrics checks that each metric of the alerts and the dashboard in deploy is one of an
// instance, so that no alert is silent because of a wrong name.
func TestDeployedMetrics(t *testing.T) {
	c := configOf(t.TempDir())
	c.Server.Clamd = "tcp://127.0.0.1:1"
	c.Server.TLSCert, c.Server.TLSKey = certificate(t)
	i := begin(t, c)
	defer end(t, i)
	descriptions := make(chan *prometheus.Desc)
	go func() {
		i.metrics.Registry.Describe(descriptions)
		close(descriptions)
	}()
	var all []string
	for d := range descriptions {
		all = append(all, regexp.MustCompile(`fqName: "([^"]*)"`).FindStringSubmatch(d.String())[1])
	}
	files, err := filepath.Glob("../deploy/*/*")
	if err != nil || len(files) < 3 {
		t.Fatalf("the files of deploy are %v: %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\b(kartei|process)_\w+`).FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range names {
			for _, end := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, end)
			}
			if !slices.Contains(all, name) {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

// certificate returns the files of a certificate and its key.
func certificate(t *testing.T) (cert, key config.File) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	pair := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) config.File {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.File(file)
	}
	return write("cert.pem", "CERTIFICATE", pair.Certificate[0]), write("key.pem", "PRIVATE KEY", private)
}
