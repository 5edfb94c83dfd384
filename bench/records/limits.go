package records

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
)

// Names of the series about the cost of limits.
const (
	getFree  = "get, nothing counted"
	getOne   = "get, counted"
	getOther = "get, counted by another replica"
	oneFree  = "get, one caller, nothing counted"
	oneOne   = "get, one caller, counted"
)

// measureLimits compares reads with and without limits. With limits, two replicas on one PostgreSQL
// server count the calls at all levels.
func (p *postgresBench) measureLimits(ctx context.Context) (err error) {
	if err := p.StartLoad(ctx); err != nil {
		return err
	}
	var at [3]*measure.Place
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
		o := &data.Office{Dir: dir, URL: p.server.URL(), Key: p.keys[0]}
		if at[i], err = p.Open(ctx, o, flags...); err != nil {
			return err
		}
		at[i].Database = p.server.Pid()
	}
	for _, s := range []struct {
		name    string
		place   *measure.Place
		clients int
	}{
		{getFree, at[0], pgClients},
		{getOne, at[1], pgClients},
		{getOther, at[2], pgClients},
		{oneFree, at[0], 1},
		{oneOne, at[1], 1},
	} {
		p.Add(s.name, s.place.Target(), s.clients, p.getsOf(s.place))
	}
	for i := range p.Runs {
		if err := p.Round(ctx, i); err != nil {
			return err
		}
	}
	return p.Write(os.Stdout, []report.Figure{
		p.Against("GET /contacts/{id}, 16 connections, limits on", getOne, getFree, "limits off", 0.95),
		p.Against("the same, on the other replica", getOther, getFree, "limits off", 0.95),
		p.Against("the same, one connection", oneOne, oneFree, "limits off", 0.95),
	})
}

// getsOf returns requests for contacts that are spread over the whole table.
func (p *postgresBench) getsOf(at *measure.Place) (list []string) {
	for i := range 20_000 {
		list = append(list, at.Get(fmt.Sprintf("/contacts/con_0%025d", 1+i*p.Records/20_000)))
	}
	return list
}

// copyKey copies the master key, unless there is none or the copy exists. Replicas share the master
// key.
func copyKey(from, to string) error {
	err := data.CopyFile(filepath.Join(from, "master.key"), filepath.Join(to, "master.key"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
