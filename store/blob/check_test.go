package blob

import (
	"bytes"
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kartei/kit/masterkey"
	"kartei/test/s3test"
)

// rows implements Rows in memory.
type rows struct {
	wanted  []Reference
	pending []string
	asked   []string // arguments of Pending
}

func (r *rows) Wanted(context.Context) iter.Seq2[Reference, error] {
	return func(yield func(Reference, error) bool) {
		for _, w := range r.wanted {
			if !yield(w, nil) {
				return
			}
		}
	}
}

func (r *rows) Has(_ context.Context, name string) (bool, error) {
	return slices.ContainsFunc(r.wanted, func(w Reference) bool { return w.Name == name && w.Size >= 0 }), nil
}

func (r *rows) Pending(_ context.Context, name string) (bool, error) {
	r.asked = append(r.asked, strings.TrimPrefix(name, "files/1/doc_"))
	return slices.Contains(r.pending, name), nil
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	l := newLocal(t, dir, LocalOptions{})
	data := storeEveryFault(t, dir, l)

	later := time.Now().Add(time.Minute)
	wrong := []string{
		"damaged changed", "damaged cut", "damaged hash", "damaged other", "locked foreign", "missing missing",
	}
	done, found := findings(t, Check{Store: l, Rows: data, Before: later})
	if diff := cmp.Diff(append(slices.Clone(wrong), "orphan orphan", "orphan uploads/1/upl_orphan"), found); diff != "" {
		t.Error(diff)
	}
	slices.Sort(data.asked)
	if diff := cmp.Diff([]string{"orphan", "pending", "uploads/1/upl_orphan"}, data.asked); diff != "" {
		t.Errorf("it was asked of what has a row, too: %s", diff)
	}
	if done.Wanted != 8 || done.Stored != 9 || done.Bytes == 0 {
		t.Errorf("%+v", done)
	}
	// A quick check does not find a changed byte in the middle. It also ignores young files, which
	// may still get a row.
	done, found = findings(t, Check{Store: l, Rows: data, Quick: true, Before: time.Now().Add(-time.Hour)})
	if diff := cmp.Diff([]string{"damaged cut", "damaged hash", "damaged other", "locked foreign", "missing missing"},
		found); diff != "" || done.Bytes != 0 {
		t.Errorf("%+v %s", done, diff)
	}
	_, found = findings(t, Check{Store: l, Rows: data, Before: later, Remove: true})
	if diff := cmp.Diff(append(slices.Clone(wrong), "orphan orphan removed", "orphan uploads/1/upl_orphan removed"),
		found); diff != "" {
		t.Error(diff)
	}
	_, found = findings(t, Check{Store: l, Rows: data, Before: later})
	if diff := cmp.Diff(wrong, found); diff != "" {
		t.Error(diff)
	}
}

// storeEveryFault stores a file for each kind of problem, and some files without a problem. The
// names say which.
func storeEveryFault(t *testing.T, dir string, l Store) *rows {
	t.Helper()
	b := content(100_000)
	data := &rows{pending: []string{"files/1/doc_pending"}}
	for _, name := range []string{"good", "cut", "changed", "other", "hash", "foreign", "missing"} {
		data.wanted = append(data.wanted, Reference{"files/1/doc_" + name, int64(len(b)), sum(b)})
	}
	data.wanted = append(data.wanted, Reference{"files/1/doc_deleted", -1, ""}) // deleted between Wanted and the check
	other := bytes.Clone(b)
	other[7]++
	for name, stored := range map[string][]byte{
		"files/1/doc_good": b, "files/1/doc_cut": b, "files/1/doc_changed": b, "files/1/doc_other": b[1:],
		"files/1/doc_hash":    other,
		"files/1/doc_pending": b, "files/1/doc_orphan": b, "uploads/1/upl_orphan": b,
	} {
		put(t, l, name, stored)
	}
	put(t, newLocal(t, dir, LocalOptions{Keys: masterkey.Ring{Current: masterkey.New()}}), "files/1/doc_foreign", b)
	changeSealed(t, dir, "cut", func(b []byte) []byte { return b[:segmentSize] })
	changeSealed(t, dir, "changed", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	return data
}

// changeSealed changes the encrypted file of a document.
func changeSealed(t *testing.T, dir, name string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, "files/1/doc_"+name+sealedSuffix)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(file), 0o600); err != nil {
		t.Fatal(err)
	}
}

// findings runs a Check, and returns its findings as sorted lines.
func findings(t *testing.T, c Check) (CheckCounts, []string) {
	t.Helper()
	found := []string{}
	c.Found = func(f Finding) {
		line := string(f.State) + " " + strings.TrimPrefix(f.Name, "files/1/doc_")
		if f.Removed {
			line += " removed"
		}
		found = append(found, line)
	}
	done, err := c.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return done, found
}

// TestCheckEndsWithItsStore checks that a Check ends without findings if the bucket cannot be
// reached.
func TestCheckEndsWithItsStore(t *testing.T) {
	s := openBucket(t, "s3://office?endpoint=http://"+s3test.Nobody(t), Options{})
	c := Check{Store: s, Rows: &rows{wanted: []Reference{{kept, 1, ""}}}, Found: func(f Finding) { t.Errorf("%+v", f) }}
	if _, err := c.Run(ctx); err == nil {
		t.Error("it found everything in order")
	}
}

// TestCopyTellsWhatIsMissing checks that Copy counts rows whose bytes neither store has. Bytes that
// only the copy has are not missing. Nor are bytes that were deleted with their row.
func TestCopyTellsWhatIsMissing(t *testing.T) {
	from, to := newLocal(t, t.TempDir(), LocalOptions{}), newLocal(t, t.TempDir(), LocalOptions{})
	put(t, from, "files/7/doc_a", []byte("Guten Tag"))
	put(t, to, "files/7/doc_b", []byte("Guten Tag"))
	data := &rows{wanted: []Reference{{"files/7/doc_a", 9, ""}, {"files/7/doc_b", 9, ""}, {"files/7/doc_c", 9, ""},
		{"files/7/doc_d", -1, ""}}} // deleted meanwhile
	c, err := Copy(ctx, from, to, data)
	if err != nil || c.Copied != 1 || c.Unreadable != 0 || c.Missing != 1 || len(c.Errors) != 1 ||
		!strings.Contains(c.Errors[0], "files/7/doc_c") {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := Copy(ctx, from, to, nil); err != nil || c.Same != 1 || c.Missing != 0 {
		t.Errorf("without rows: %+v, %v", c, err)
	}
}
