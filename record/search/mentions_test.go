package search

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// TestMentions compares Mentions with a look at each record: with any words in any spellings, records packed and
// not, changed and deleted.
func TestMentions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		seed.Check(t, func(draw *rapid.T) {
			w := newWorld(d)
			w.layout = drawLayout(draw)
			private := rapid.Bool()
			for range rapid.IntRange(1, 25).Draw(draw, "records") {
				r := w.put(t, "usr_1", private.Draw(draw, "private"), drawMentioning(draw))
				switch rapid.IntRange(0, 6).Draw(draw, "then") {
				case 0:
					w.replace(t, r, "usr_1", private.Draw(draw, "private"), drawMentioning(draw))
				case 1:
					w.remove(t, r)
				}
			}
			w.moveAll(t)
			w.checkMentions(draw)
		})
	})
}

// mentioned are the words of the records, each with another spelling.
var mentioned = [][]string{{"anna", "ana"}, {"maier", "meyer"}, {"koln", "coln"}, {"bonn"}}

func drawMentioning(t *rapid.T) *Document {
	d := new(Document)
	for _, spellings := range mentioned {
		for _, word := range spellings {
			if rapid.IntRange(0, 2).Draw(t, word) == 0 {
				d.Add(Rank(rapid.IntRange(0, ranks-1).Draw(t, "rank")), word)
			}
		}
	}
	return d
}

func (w *world) checkMentions(t *rapid.T) {
	least := rapid.IntRange(1, len(mentioned)).Draw(t, "least")
	limit := rapid.IntRange(1, 30).Draw(t, "limit")
	key := rapid.IntRange(-1, len(mentioned)-1).Draw(t, "key")
	sought := MentionQuery{Words: mentioned, Key: key, Limit: limit, Enough: func(m Mention, counts []int) bool {
		return len(counts) == len(mentioned) && bits.OnesCount16(m.Has) >= least
	}}
	var want []Mention
	for _, r := range w.records {
		m := Mention{ID: r.subject.ID, position: r.subject.position()}
		for i, spellings := range mentioned {
			for j, word := range spellings {
				rank, has := r.doc.words[word]
				if has {
					m.Has |= 1 << i
				}
				if has && j == 0 {
					m.Exact |= 1 << i
				}
				if has && rank == Name {
					m.Named |= 1 << i
				}
			}
		}
		if bits.OnesCount16(m.Has) >= least && (key < 0 || m.Has>>key&1 == 1) {
			want = append(want, m)
		}
	}
	slices.SortFunc(want, Mention.compare)
	more := len(want) > limit
	want = want[:min(limit, len(want))]
	var got []Mentions
	if err := w.d.Read(w.ctx, func(tx db.Tx) error {
		r, err := Open(w.ctx, tx, ScopeFor(w.organization, "contact", "", true))
		if err != nil {
			return err
		}
		got, err = r.Mentions([]MentionQuery{sought, sought})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, m := range got {
		if fmt.Sprint(m.List) != fmt.Sprint(want) || m.More != more {
			t.Fatalf("least %d, limit %d:\n got %+v %t\nwant %+v %t", least, limit, m.List, m.More, want, more)
		}
	}
}
