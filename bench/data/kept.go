package data

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"kartei/bench/report"
	"kartei/test/dbtest"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server that has a database for each office. Its data stay for later runs.
type Server struct{ *dbtest.Server }

// StartServer starts the PostgreSQL server of a folder. Its settings are the defaults, except for
// memory and connections.
func StartServer(root string) (*Server, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o711); err != nil {
		return nil, err
	}
	if err := os.Chmod(root, 0o711); err != nil { // the user of PostgreSQL needs access to folders inside
		return nil, err
	}
	s, err := dbtest.KeepServer(filepath.Join(root, "postgres"), "max_connections=100", "shared_buffers=2GB",
		"max_wal_size=4GB")
	return &Server{s}, err
}

// OpenKept returns the office with n contacts that stays for later runs, on PostgreSQL or SQLite.
// The returned function stops the database server.
func OpenKept(ctx context.Context, root string, n int, postgres bool) (o *Office, stop func(), err error) {
	if !postgres {
		o, err = Kept(ctx, root, n)
		return o, func() {}, err
	}
	k, err := StartServer(root)
	if err != nil {
		return nil, nil, err
	}
	if o, err = k.Office(ctx, root, n); err != nil {
		k.Stop()
		return nil, nil, err
	}
	return o, k.Stop, nil
}

// Office returns the office with n contacts. It fills the office first if necessary.
func (k *Server) Office(ctx context.Context, root string, n int) (*Office, error) {
	address, err := k.Fill(ctx, root, n)
	if err != nil {
		return nil, err
	}
	o := &Office{Dir: k.beside(root, n), URL: address, Records: n}
	return o, o.open(ctx)
}

// beside returns the data folder of an office whose database is on PostgreSQL.
func (k *Server) beside(root string, n int) string {
	return Size{Records: n}.keptIn(root) + "-postgres"
}

// Fill fills the database of an office unless it is filled, and returns its URL.
func (k *Server) Fill(ctx context.Context, root string, n int) (string, error) {
	name := fmt.Sprintf("office_%d_%d", n, generation)
	address := "postgres://postgres@/" + name + "?host=" + k.Dir()
	dir := k.beside(root, n)
	if isFilled(dir, Size{Records: n}) {
		return address, nil
	}
	if err := k.create(ctx, name); err != nil {
		return "", err
	}
	report.Say("%s contacts: filling PostgreSQL", report.Number(float64(n)))
	if err := fill(ctx, address, dir, Size{Records: n}); err != nil {
		return "", fmt.Errorf("fill %s: %w", name, err)
	}
	if err := Settle(ctx, address); err != nil {
		return "", err
	}
	return address, writeState(dir, Size{Records: n})
}

// create creates a database unless it exists, for example from an interrupted run.
func (k *Server) create(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, k.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var is bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)",
		name).Scan(&is); err != nil || is {
		return err
	}
	_, err = conn.Exec(ctx, "create database "+name)
	return err
}

// Settle runs the maintenance that PostgreSQL would run some time after many inserts: vacuum,
// analyze and a checkpoint.
func Settle(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range []string{"vacuum analyze", "checkpoint"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
