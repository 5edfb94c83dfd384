package instance

import (
	"kartei/instance/config"
	"kartei/test/certtest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestDeployedMetrics checks that each metric of the alerts and the dashboard in deploy is one of an
// instance, so that no alert is silent because of a wrong name.
func TestDeployedMetrics(t *testing.T) {
	c := configOf(t.TempDir())
	c.Server.Clamd = "tcp://127.0.0.1:1"
	cert, key := certtest.Write(t, t.TempDir(), "localhost", 1, time.Now().Add(time.Hour))
	c.Server.TLSCert, c.Server.TLSKey = config.File(cert), config.File(key)
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
