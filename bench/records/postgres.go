package records

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/process"
	"kartei/bench/report"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/test/dbtest"

	"github.com/jackc/pgx/v5"
)

// Names of the series on PostgreSQL.
const (
	pgSelect    = "get, pgbench"
	pgGet       = "get"
	pgWriteMany = "post, many organizations, pgbench"
	pgPostMany  = "post, many organizations"
	pgWriteOne  = "post, one organization, pgbench"
	pgPostOne   = "post, one organization"
)

const (
	// pgClients is the number of connections of each load, also of pgbench.
	pgClients = 16
	// pgOffices is the number of organizations over which writes are spread. pgbench writes to
	// other organizations, as many of them. It adds documents to the search index without merging
	// them. In a shared organization, the product would have to merge them.
	pgOffices = 64
	// templates is the number of contacts that the product creates. The other contacts are copies
	// with ids that pgbench can compute.
	templates = 2000
)

// MeasurePostgres measures on a temporary PostgreSQL server. The server has the default settings,
// which are durable, except for memory and connections.
func MeasurePostgres(ctx context.Context, b *measure.Bench) (err error) {
	server, err := dbtest.NewServer("max_connections=100", "shared_buffers=512MB", "max_wal_size=4GB")
	if err != nil {
		return err
	}
	defer server.Remove()
	dir, err := os.MkdirTemp("", "kartei-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer b.End() // the server must end before its database
	p := &postgresBench{Bench: b, server: server, dir: dir}
	if p.program, err = exec.LookPath("pgbench"); err != nil {
		p.program = filepath.Join(server.Programs(), "pgbench")
	}
	report.Say("%d contacts: filling", b.Records)
	if err := p.fill(ctx); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if b.Limited {
		return p.measureLimits(ctx)
	}
	if err := p.scripts(ctx); err != nil {
		return fmt.Errorf("pgbench's scripts: %w", err)
	}
	if err := b.StartLoad(ctx); err != nil {
		return err
	}
	s, err := b.Open(ctx, &data.Office{Dir: dir, URL: server.URL()})
	if err != nil {
		return err
	}
	if err := p.plan(ctx, s.Server); err != nil {
		return err
	}
	for i := range b.Runs {
		if err := b.Round(ctx, i); err != nil {
			return err
		}
	}
	figures := []report.Figure{
		b.Against("GET /contacts/{id}", pgGet, pgSelect, "pgbench", 0.35),
		b.Against("POST /contacts, "+report.Number(pgOffices)+" organizations", pgPostMany, pgWriteMany, "pgbench", 0.50),
		b.Against("POST /contacts, one organization", pgPostOne, pgWriteMany, "pgbench, many organizations", 0.25),
	}
	// a value is zero if --only excluded the series
	return b.Write(os.Stdout, slices.DeleteFunc(figures, func(f report.Figure) bool { return f.Value == 0 }))
}

type postgresBench struct {
	*measure.Bench
	server *dbtest.Server
	dir    string
	// program is the path of pgbench.
	program string
	// keys are API keys of a member of each organization. The first is for the large organization.
	// Then come the organizations to which the product writes, and the organizations of pgbench.
	// numbers are the numbers of the organizations in the same order.
	keys    []string
	numbers []int64
	member  string // the member of the large organization, with the first key
	// selects is the statement of GET /contacts/{id}. expects is the statement with which each call
	// checks whether keys or permissions have changed.
	selects, expects string
}

// fill creates the office with its contacts, and the other organizations without contacts.
func (p *postgresBench) fill(ctx context.Context) error {
	d, f, err := data.Found(ctx, p.server.URL(), db.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	p.keys, p.numbers, p.member = []string{f.Key}, []int64{f.Actor.Org()}, f.Actor.PrincipalID()
	if p.Contents, err = data.Bodies(data.Size{Records: templates}); err != nil {
		return err
	}
	services := &op.Services{Families: api.Families}
	if err = p.record(ctx, f.Directory, &op.Call{Actor: f.Actor, Services: services}); err != nil {
		return err
	}
	for batch := range data.Batches(data.NewPeople([]string{f.Office.Users[1]}), templates) {
		err := d.WriteIn(ctx, f.Actor.Org(), func(tx db.Tx) error {
			call := &op.Call{Actor: f.Actor, Tx: tx, Now: clock.Now(clock.System), Services: services}
			for i := range batch {
				if _, err := contact.Contacts.Create(ctx, call, &batch[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i := range 2 * pgOffices {
		if err := p.office(ctx, f, i); err != nil {
			return err
		}
	}
	return p.copies(ctx)
}

// record sets the statements with which the product reads a contact.
func (p *postgresBench) record(ctx context.Context, directory *access.Directory, call *op.Call) error {
	var stated []string
	d, err := open.Database(ctx, p.server.URL(), db.Options{Stated: func(query string) { stated = append(stated, query) }})
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Read(ctx, func(tx db.Tx) error {
		call.Tx, stated = tx, nil
		if err := directory.Confirm(ctx, tx, call.Actor); err != nil {
			return err
		}
		_, err := contact.Contacts.Get(ctx, call, op.ByID{ID: id.New(id.Contact)})
		if fault.From(err).Code == fault.NotFound {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(stated) != 2 {
		return fmt.Errorf("a contact is read by %q instead of two statements", stated)
	}
	p.expects = stated[0]
	// package db sends both in this form
	p.selects = "select (" + p.expects + "), " + strings.TrimPrefix(stated[1], "select ")
	return nil
}

// office creates a further organization.
func (p *postgresBench) office(ctx context.Context, f data.Founder, n int) error {
	_, o, err := data.NewOffice(ctx, f.Operator(), n)
	if err != nil {
		return err
	}
	actor, err := f.Directory.Authenticate(ctx, o.Key, access.V1, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		return err
	}
	p.keys, p.numbers = append(p.keys, o.Key), append(p.numbers, actor.Org())
	return nil
}

// numbered is an SQL expression for the id of a copy. pgbench can compute it, since an id may end
// with 26 digits.
const numbered = `('con_0' || lpad(cast(%s as text), 25, '0'))`

// copies inserts Records copies of the existing contacts.
func (p *postgresBench) copies(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.server.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	names, values, err := p.columns(ctx, conn, "contacts", map[string]string{
		"id": fmt.Sprintf(numbered, "n"), "created_at": "created_at - 1000000000 + n",
		"updated_at": "updated_at - 1000000000 + n", "external_id": "null",
	}, func(name, _ string) string { return name })
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`insert into contacts (%s) select %s from (select c.*, row_number() over () as place from contacts c where audience = '') as c,
		generate_series(1, %d) as n where place = 1 + n %% (select count(*) from contacts where audience = '')`, names,
		values, p.Records))
	if err != nil {
		return err
	}
	return data.Settle(ctx, p.server.URL())
}

// columns returns the columns of a table and an expression for each column. The expression is in
// own. For a column that is missing in own, the function other returns it from the column's name
// and its value in a row.
func (p *postgresBench) columns(
	ctx context.Context, conn *pgx.Conn, table string, own map[string]string, other func(name, value string) string,
) (names, values string, err error) {
	rows, err := conn.Query(ctx, `select column_name from information_schema.columns
		where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position`, table)
	if err != nil {
		return "", "", err
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", "", err
	}
	var list []string
	for _, name := range columns {
		value, is := own[name]
		if !is {
			var sample string
			err := conn.QueryRow(ctx, fmt.Sprintf("select coalesce((select quote_nullable(%s) from %s limit 1), 'null')",
				name, table)).Scan(&sample)
			if err != nil {
				return "", "", err
			}
			value = other(name, sample)
		}
		list = append(list, value)
	}
	return strings.Join(columns, ", "), strings.Join(list, ", "), nil
}

// scripts writes the scripts of pgbench with the statements of the product. A read and a create
// take one round trip each.
func (p *postgresBench) scripts(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.server.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	read := fmt.Sprintf("\\set n random(1, %d)\n%s;\n", p.Records, strings.NewReplacer(
		"$1", fmt.Sprint(p.numbers[0]), "$2", fmt.Sprintf(numbered, ":n"), "$3", "'"+p.member+"'").Replace(p.selects))
	if err := os.WriteFile(filepath.Join(p.dir, "select.sql"), []byte(read), 0o644); err != nil {
		return err
	}
	own := p.numbers[1+pgOffices:]
	first, step := own[0], own[1]-own[0]
	for i, n := range own {
		if n != first+step*int64(i) {
			return errors.New("the numbers of the organizations have gaps")
		}
	}
	if err := p.writeScript(ctx, conn, "many.sql",
		fmt.Sprintf("random(0, %d) * %d + %d", pgOffices-1, step, first)); err != nil {
		return err
	}
	return p.writeScript(ctx, conn, "one.sql", fmt.Sprint(first))
}

// variable matches text that pgbench would interpret as a variable.
var variable = regexp.MustCompile(`:([a-zA-Z0-9_])`)

func (p *postgresBench) writeScript(ctx context.Context, conn *pgx.Conn, file, organization string) error {
	const now = `cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)`
	const tick = `(select tick from clocks where organization = :org)`
	const fresh = `lpad(cast(` + now + ` as text), 17, '0') || lpad(cast(:r as text), 9, '0')`
	var known int64
	if err := conn.QueryRow(ctx, p.expects).Scan(&known); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\\set org %s\n\\set r random(0, 999999999)\n\\startpipeline\nbegin;\n", organization)
	fmt.Fprintf(&b, "select 1 / (case when (%s) = %d and pg_try_advisory_xact_lock(:r) then 1 else 0 end);\n",
		p.expects, known)
	b.WriteString("update clocks set tick = case when " + now + " > tick then " + now +
		" else tick + 1 end where organization = :org;\n")
	for _, t := range []struct {
		table string
		own   map[string]string
	}{
		{
			"contacts",
			map[string]string{"id": "'con_' || " + fresh, "created_at": tick, "updated_at": tick, "external_id": fresh},
		},
		{"events", map[string]string{"tick": tick, "id": "'evt_' || " + fresh, "record_id": "'con_' || " + fresh}},
		{"search_documents", map[string]string{"created": tick, "id": "'con_' || " + fresh}},
		{"idempotency", map[string]string{
			"principal": "'" + p.member + "'", "key": "'fresh-' || " + fresh, "created_at": now,
			"fingerprint": "repeat('f', 64)", "status": "201",
			"etag": "'r1'", "location": "'/contacts/con_' || " + fresh,
			"body": "(select content from contacts where organization = " +
				fmt.Sprint(p.numbers[0]) + " and id = " + fmt.Sprintf(numbered, "1") + ")",
			"record": "'con_' || " + fresh, "erased": "false",
		}},
	} {
		t.own["organization"] = ":org"
		names, values, err := p.columns(ctx, conn, t.table, t.own,
			func(_, value string) string { return variable.ReplaceAllString(value, ": $1") })
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "insert into %s (%s) values (%s);\n", t.table, names, values)
	}
	b.WriteString("commit;\n\\endpipeline\n")
	return os.WriteFile(filepath.Join(p.dir, file), []byte(b.String()), 0o644)
}

// plan adds the series. Series that are compared follow each other.
func (p *postgresBench) plan(ctx context.Context, s *process.Server) error {
	at := func(i int) *measure.Place {
		return &measure.Place{Office: &data.Office{Key: p.keys[i]}, Server: s, Database: p.server.Pid()}
	}
	of := at(0).Target()
	var many, one []string
	for i, body := range p.Contents {
		many = append(many, at(1+i%pgOffices).Post(body))
		one = append(one, at(1).Post(body))
	}
	p.pgbench(ctx, pgSelect, "select.sql")
	p.Add(pgGet, of, pgClients, p.getsOf(at(0)))
	p.pgbench(ctx, pgWriteMany, "many.sql")
	p.AddWanting(pgPostMany, of, pgClients, many, 201)
	p.pgbench(ctx, pgWriteOne, "one.sql")
	p.AddWanting(pgPostOne, of, pgClients, one, 201)
	return p.ChooseSeries()
}

// rate matches the result in the output of pgbench.
var rate = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)

func (p *postgresBench) pgbench(ctx context.Context, name, script string) {
	p.Series = append(p.Series, measure.Series{Name: name, Run: func() (r load.Result, err error) {
		c := exec.CommandContext(ctx, p.program, "--no-vacuum", "--protocol=prepared",
			fmt.Sprintf("--client=%d", pgClients), "--jobs=2", fmt.Sprintf("--time=%d", max(1, int(p.Seconds))),
			"--file="+filepath.Join(p.dir, script), p.server.URL())
		out, err := c.CombinedOutput()
		if err != nil {
			return r, fmt.Errorf("%w\n%s", err, out)
		}
		found := rate.FindSubmatch(out)
		if found == nil || strings.Contains(string(out), "aborted") {
			return r, fmt.Errorf("pgbench says:\n%s", out)
		}
		r.PerSecond, err = strconv.ParseFloat(string(found[1]), 64)
		return r, err
	}})
}
