package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The names of the series about the cost of limits.
const (
	getFree  = "get, nothing counted"
	getOne   = "get, counted"
	getOther = "get, counted by another replica"
	oneFree  = "get, one caller, nothing counted"
	oneOne   = "get, one caller, counted"
)

// onLimits compares reads with and without limits. The limits of all levels are
// counted by two replicas on one PostgreSQL server.
func (p *onPostgres) onLimits(ctx context.Context) (err error) {
	if p.load, err = p.helper(ctx, "load"); err != nil {
		return err
	}
	var at [3]*place
	files := []string{"--blob-url", "file:" + filepath.Join(p.dir, "files")}
	for i, flags := range [][]string{append([]string{"--no-metered"}, files...), files, files} {
		dir := filepath.Join(p.dir, fmt.Sprint("replica", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if i > 0 {
			if err := copyKey(filepath.Join(p.dir, "replica0"), dir); err != nil {
				return err
			}
		}
		s, err := serve(ctx, p.settings.program, dir, p.server.URL(), false, flags...)
		if err != nil {
			return err
		}
		p.servers = append(p.servers, s)
		at[i] = &place{office: &office{key: p.keys[0]}, server: s, database: p.server.Pid()}
	}
	for _, s := range []struct {
		name    string
		place   *place
		clients int
	}{
		{getFree, at[0], pgClients},
		{getOne, at[1], pgClients},
		{getOther, at[2], pgClients},
		{oneFree, at[0], 1},
		{oneOne, at[1], 1},
	} {
		p.add(s.name, s.place.target(), s.clients, p.getsOf(s.place))
	}
	for i := range p.runs {
		if err := p.round(ctx, i); err != nil {
			return err
		}
	}
	return p.write(os.Stdout, []figure{
		p.against("GET /contacts/{id}, 16 connections, limits on", getOne, getFree, "limits off", 0.95),
		p.against("the same, on the other replica", getOther, getFree, "limits off", 0.95),
		p.against("the same, one connection", oneOne, oneFree, "limits off", 0.95),
	})
}

// getsOf returns reads of contacts from the whole table.
func (p *onPostgres) getsOf(at *place) (list []string) {
	for i := range 20_000 {
		list = append(list, at.get(fmt.Sprintf("/contacts/con_0%025d", 1+i*p.records/20_000)))
	}
	return list
}

// copyKey copies the master key, if there is one and the copy is missing. Replicas
// share it.
func copyKey(from, to string) error {
	err := copyFile(filepath.Join(from, "master.key"), filepath.Join(to, "master.key"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
