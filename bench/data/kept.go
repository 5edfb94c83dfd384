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

// Server is a PostgreSQL server that keeps one database for each office
// between runs.
type Server struct{ *dbtest.Server }

// StartServer starts the server of a folder with PostgreSQL's default settings,
// except for memory and connections.
func StartServer(root string) (*Server, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o711); err != nil {
		return nil, err
	}
	if err := os.Chmod(root, 0o711); err != nil { // the user of PostgreSQL must pass through
		return nil, err
	}
	s, err := dbtest.KeepServer(filepath.Join(root, "postgres"), "max_connections=100", "shared_buffers=2GB",
		"max_wal_size=4GB")
	return &Server{s}, err
}

// OpenKept returns the kept office with n contacts, on PostgreSQL or on SQLite. stop stops
// the server of the database.
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

// Office returns the office with n contacts, filled if necessary.
func (k *Server) Office(ctx context.Context, root string, n int) (*Office, error) {
	address, err := k.Fill(ctx, root, n)
	if err != nil {
		return nil, err
	}
	o := &Office{Dir: k.beside(root, n), URL: address, Records: n}
	return o, o.open(ctx)
}

// beside returns the folder for the files that a server has outside its
// database.
func (k *Server) beside(root string, n int) string { return keptIn(root, n) + "-postgres" }

// Fill fills the database of an office once, and returns its address.
func (k *Server) Fill(ctx context.Context, root string, n int) (string, error) {
	name := fmt.Sprintf("office_%d_%d", n, generation)
	address := "postgres://postgres@/" + name + "?host=" + k.Dir()
	dir := k.beside(root, n)
	if isFilled(dir, n) {
		return address, nil
	}
	if err := k.create(ctx, name); err != nil {
		return "", err
	}
	report.Say("%s contacts: filling PostgreSQL", report.Number(float64(n)))
	if err := fill(ctx, address, dir, n); err != nil {
		return "", fmt.Errorf("fill %s: %w", name, err)
	}
	if err := Settle(ctx, address); err != nil {
		return "", err
	}
	return address, writeState(dir, n)
}

// create creates a database unless an interrupted run has created it.
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

// Settle does the maintenance that PostgreSQL would do by itself some time
// after a load.
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
