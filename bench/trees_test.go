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

// BenchmarkTreesOfCreate reports how many pages a create adds to SQLite's write-ahead log, for each
// table and index. It measures one client and 64 clients, in an office with 20,000 contacts:
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
						continue // the log was restarted, as after a checkpoint
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

// fill creates contacts with 32 concurrent clients.
func (s *countedServer) fill(contacts int) { s.createBy(32, contacts) }

// createBy creates contacts with concurrent clients. Each client waits for a response before its
// next call.
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

// frame is a frame of the write-ahead log. A frame has a header and a page of 4 KiB. A restarted
// log has another salt.
type frame struct{ page, salt uint32 }

// frames returns the valid frames of the write-ahead log. The format is described at
// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
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

// trees returns the number of pages for each table and index.
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
