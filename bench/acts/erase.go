package acts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"time"

	"kartei/access"
	"kartei/bench/browser"
	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/instance/erasure"
	"kartei/kit/clock"
	"kartei/store/db"
)

// MeasureErasure measures how long the erasure of an organization with --records contacts takes,
// and how long people of another office wait meanwhile.
func MeasureErasure(ctx context.Context, b *measure.Bench) error {
	var closing string
	return atWork(ctx, b, func(ctx context.Context, o *data.Office) (err error) {
		closing, err = another(ctx, b, o)
		return err
	}, func(ctx context.Context, b *measure.Bench, o *data.Office, _ data.Clerk, v *browser.Visitor) ([]report.Figure, error) {
		return eraseBeside(ctx, b, o, v, closing)
	})
}

// another creates a second organization with --records contacts beside the office, and returns its
// id. The measurement erases this organization.
func another(ctx context.Context, b *measure.Bench, o *data.Office) (string, error) {
	d, f, err := data.Found(ctx, o.URL, db.Options{NoSync: true})
	if err != nil {
		return "", err
	}
	defer d.Close()
	name, created, err := data.NewOffice(ctx, f.Operator(), int(clock.Now(clock.System)/1_000_000))
	if err != nil {
		return "", err
	}
	if f.Actor, err = f.Directory.Authenticate(ctx, created.Key, access.V1, netip.MustParseAddr("127.0.0.1")); err != nil {
		return "", err
	}
	f.Office.Users = []string{f.Actor.PrincipalID()}
	report.Say("%s contacts: filling another organization", report.Number(float64(b.Records)))
	return name, f.Create(ctx, 0, data.Size{Records: b.Records})
}

// eraseBeside erases an organization with the command line, and returns the figures.
func eraseBeside(
	ctx context.Context, b *measure.Bench, o *data.Office, v *browser.Visitor, closing string,
) ([]report.Figure, error) {
	run := func(args ...string) ([]byte, error) {
		text, err := exec.CommandContext(ctx, b.Program,
			append(args, "--json", "--data-dir", o.Dir, "--database-url", o.URL)...).Output()
		if err != nil {
			return nil, fmt.Errorf("kartei %v: %w", args, err)
		}
		return text, nil
	}
	if _, err := run("org", "set", closing, "--state", "deleting"); err != nil {
		return nil, err
	}
	quiet, err := quiet(ctx, b, v)
	if err != nil {
		return nil, err
	}
	var erased erasure.Output
	var took time.Duration
	busy, err := work(ctx, v, func(ctx context.Context) error {
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
	list := []report.Figure{{
		What:     fmt.Sprintf("erasing an organization of %d contacts and %d rows", b.Records, erased.Rows),
		Measured: fmt.Sprintf("%.1f s", took.Seconds()), Value: took.Seconds(), Reached: true,
	}}
	during, err := besides(quiet, busy, "during an erasure")
	return append(list, during...), err
}
