package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"time"

	"kartei/access"
	"kartei/instance/erasure"
	"kartei/kit/clock"
	"kartei/store/db"
)

// onErase measures how fast an organization with --records contacts is erased, and what
// the people of another office wait meanwhile.
func (b *bench) onErase(ctx context.Context) error {
	var closing string
	return b.atWork(ctx, func(ctx context.Context, o *office) (err error) {
		closing, err = b.another(ctx, o)
		return err
	}, func(ctx context.Context, b *bench, o *office, _ clerk, v *visitor) ([]figure, error) {
		return b.eraseBeside(ctx, o, v, closing)
	})
}

// another creates an organization with as many contacts beside the office, and returns its
// id. It is to be erased.
func (b *bench) another(ctx context.Context, o *office) (string, error) {
	d, f, err := found(ctx, o.url, db.Options{NoSync: true})
	if err != nil {
		return "", err
	}
	defer d.Close()
	name, created, err := newOffice(ctx, f.operator(), int(clock.Now(clock.System)/1_000_000))
	if err != nil {
		return "", err
	}
	if f.actor, err = f.directory.Authenticate(ctx, created.key, access.V1, netip.MustParseAddr("127.0.0.1")); err != nil {
		return "", err
	}
	f.office.Users = []string{f.actor.PrincipalID()}
	say("%s contacts: filling another organization", number(float64(b.records)))
	return name, f.create(ctx, 0, b.records)
}

// eraseBeside erases an organization by the command line.
func (b *bench) eraseBeside(ctx context.Context, o *office, v *visitor, closing string) ([]figure, error) {
	run := func(args ...string) ([]byte, error) {
		text, err := exec.CommandContext(ctx, b.program,
			append(args, "--json", "--data-dir", o.dir, "--database-url", o.url)...).Output()
		if err != nil {
			return nil, fmt.Errorf("kartei %v: %w", args, err)
		}
		return text, nil
	}
	if _, err := run("org", "set", closing, "--state", "deleting"); err != nil {
		return nil, err
	}
	quiet, err := b.quiet(ctx, v)
	if err != nil {
		return nil, err
	}
	var erased erasure.Output
	var took time.Duration
	busy, err := v.work(ctx, func(ctx context.Context) error {
		began := time.Now()
		text, err := run("org", "erase", closing, "--yes")
		if err == nil {
			err = json.Unmarshal(text, &erased)
		}
		took = time.Since(began)
		return err
	})
	if err != nil {
		return nil, err
	}
	list := []figure{{
		What:     fmt.Sprintf("erasing an organization of %d contacts and %d rows", b.records, erased.Rows),
		Measured: fmt.Sprintf("%.1f s", took.Seconds()), Value: took.Seconds(), Reached: true,
	}}
	during, err := besides(quiet, busy, "during an erasure")
	return append(list, during...), err
}
