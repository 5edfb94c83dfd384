package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"kartei/store/db"
)

// BenchmarkTreesOfCreate counts the pages that a create adds to SQLite's log, by tables and
// indexes, for one client and for 64, in an office with 20,000 contacts:
//
//	go test ./bench -run '^$' -bench TreesOfCreate -benchtime 1x
func BenchmarkTreesOfCreate(b *testing.B) {
	const rounds, creates = 8, 50
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			s := startCounted(b)
			s.fill(20_000)
			pages := map[string]float64{}
			for b.Loop() {
				for counted := 0; counted < rounds; {
					s.merge()
					before := s.frames()
					s.createBy(clients, creates)
					after := s.frames()
					if len(before) == 0 || len(after) < len(before) || after[0] != before[0] {
						continue // the log has started over, as it does after a checkpoint
					}
					counted++
					for tree, n := range s.trees(after[len(before):]) {
						pages[tree] += float64(n) / rounds / creates
					}
				}
			}
			for _, tree := range slices.Sorted(maps.Keys(pages)) {
				if pages[tree] >= 0.05 {
					b.ReportMetric(pages[tree]/float64(b.N), tree)
				}
			}
		})
	}
}

// fill makes contacts, by 32 clients.
func (s *countedServer) fill(contacts int) { s.createBy(32, contacts) }

// createBy makes contacts, by clients of which each waits for its answer.
func (s *countedServer) createBy(clients, contacts int) {
	var wait sync.WaitGroup
	var made atomic.Int64
	begin := s.contacts
	for range clients {
		wait.Go(func() {
			for n := made.Add(1); n <= int64(contacts); n = made.Add(1) {
				w := httptest.NewRecorder()
				s.instance.Handler.ServeHTTP(w, incoming(countedCalled[0].request(s, begin+int(n))))
				if w.Code != countedCalled[0].want {
					s.t.Errorf("create: %d %s", w.Code, w.Body)
					return
				}
			}
		})
	}
	wait.Wait()
	s.contacts += contacts
}

// frame is a page in the log, of 4 KiB behind a head. A log that has started over has another salt.
type frame struct{ page, salt uint32 }

// frames reads the log. Its format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
func (s *countedServer) frames() (list []frame) {
	if err := s.instance.Log.Flush(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(s.dir, "kartei.db-wal"))
	if err != nil {
		s.t.Fatal(err)
	}
	const head, salt, size = 32, 16, 24 + 4096
	for at := head; at+size <= len(log) && string(log[at+8:at+16]) == string(log[salt:salt+8]); at += size {
		list = append(list, frame{binary.BigEndian.Uint32(log[at:]), binary.BigEndian.Uint32(log[at+8:])})
	}
	return list
}

// trees counts pages by their tables and indexes.
func (s *countedServer) trees(pages []frame) map[string]int {
	trees := map[uint32]string{1: "head-of-file"}
	err := s.instance.DB.Read(context.Background(), func(tx db.Tx) error {
		rows, err := tx.Query(context.Background(), "select pageno, name from dbstat")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var page int64
			var name string
			if err := rows.Scan(&page, &name); err != nil {
				return err
			}
			trees[uint32(page)] = name
		}
		return rows.Err()
	})
	if err != nil {
		s.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, f := range pages {
		tree, used := trees[f.page]
		if !used {
			tree = "free-pages"
		}
		counts[tree]++
	}
	return counts
}
