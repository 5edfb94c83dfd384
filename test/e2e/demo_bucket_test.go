package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"kartei/test/waittest"
)

// TestDemoWithoutItsBucket starts the demo while its bucket is unavailable. The next start, with
// the bucket, creates the documents.
func TestDemoWithoutItsBucket(t *testing.T) {
	t.Parallel()
	b := newBucketFront(t)
	dir := filepath.Join(t.TempDir(), "demo")
	documents := func() int {
		demo := start(t, "demo", "--data", dir, "--json", "--blob-url", b.location())
		defer demo.stop(t)
		var line struct{ Keys struct{ Full string } }
		decode(t, demo.First, &line)
		tell := client{t, demo, line.Keys.Full}
		tell.call("GET", "/contacts?limit=1", "", 200, "")
		// Two calls a second stay below the limit of the key.
		for watch := waittest.New(); ; time.Sleep(500 * time.Millisecond) {
			n := len(pageOf(t, tell.call("GET", "/documents?limit=100", "", 200, "")).Data)
			if n > 0 || b.failing() {
				return n
			}
			if watch.IsStuck(n) {
				t.Fatal("the demo has no documents yet")
			}
		}
	}
	b.fail(t, "away", 0)
	if n := documents(); n != 0 {
		t.Errorf("%d documents without a bucket", n)
	}
	b.fail(t, "", 0)
	documents() // waits for one document
}

// failing reports whether the bucket is unavailable.
func (b *bucketFront) failing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fault != ""
}
