package records

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"kartei/bench/load"
	"kartei/bench/process"

	_ "modernc.org/sqlite"
)

// answer is the response of the baseline server to each request.
type answer struct {
	Header http.Header
	Body   []byte
}

// ServeBare is the process of the baseline for reads. It uses only net/http, and writes the same
// headers and bytes as the compared server. It writes its address to out, and ends when in ends.
func ServeBare(in io.Reader, out io.Writer) error {
	var a answer
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(&a); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		for name, values := range a.Header {
			h[name] = values
		}
		w.Write(a.Body)
	}))
	if err := json.NewEncoder(out).Encode(l.Addr().String()); err != nil {
		return err
	}
	if err := decoder.Decode(&a); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// loop is a job for the baseline of writes.
type loop struct {
	Dir  string
	Time time.Duration
	// Contents are the contacts to store, one after another.
	Contents []string
}

// Insert is the process of the baseline for writes. It inserts rows into a separate table, each
// with a commit and an fsync.
func Insert(in io.Reader, out io.Writer) error {
	return process.EachJob(in, out, (*loop).run)
}

func (l *loop) run() (load.Result, error) {
	ctx := context.Background()
	path := filepath.Join(l.Dir, "loop.db")
	defer func() {
		for _, end := range []string{"", "-wal", "-shm"} {
			os.Remove(path + end)
		}
	}()
	pool, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return load.Result{}, err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return load.Result{}, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `create table contacts (id text primary key, content text not null)`); err != nil {
		return load.Result{}, err
	}
	statement, err := conn.PrepareContext(ctx, `insert into contacts (id, content) values ($1, $2)`)
	if err != nil {
		return load.Result{}, err
	}
	defer statement.Close()
	begin := time.Now().Add(load.WarmUp)
	end := begin.Add(l.Time)
	rows, i := 0, 0
	for ; ; i++ {
		now := time.Now()
		if now.After(end) {
			break
		}
		if _, err := statement.ExecContext(ctx, fmt.Sprintf("con_%026d", i), l.Contents[i%len(l.Contents)]); err != nil {
			return load.Result{}, err
		}
		if now.After(begin) {
			rows++
		}
	}
	return load.Result{Answers: rows, PerSecond: float64(rows) / l.Time.Seconds(), Sent: i}, nil
}
