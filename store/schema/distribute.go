package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"kartei/store/db"
	"kartei/store/db/postgres"
)

// ErrNotDistributable is wrapped by errors of Distribute if the database cannot be distributed in
// its current state. The message says what to do.
var ErrNotDistributable = errors.New("the database cannot be distributed")

// Distribution describes a database on a Citus cluster.
type Distribution struct {
	// Nodes is the number of servers with rows.
	Nodes int `json:"nodes"`
	// Spread is the number of tables that are distributed by organization. Whole is the number of
	// tables that stay on the coordinator.
	Spread int `json:"spread"`
	Whole  int `json:"whole"`
	// Statements are the statements that were sent, or would be sent without dry.
	Statements []string `json:"statements"`
	// Before says what must be done first. It is empty if nothing is.
	Before string `json:"before,omitempty"`
}

// Distribute distributes the tables of a migrated PostgreSQL database over the servers of a Citus
// cluster, by organization. Tables in Whole stay on the coordinator. No server of Kartei may be
// running. Distribute skips tables that are distributed already, so another call completes an
// interrupted one.
//
// With dry, Distribute only returns its plan. Servers may then be running, and the database need
// not be part of a cluster. tell is called before each statement, unless it is nil.
func Distribute(ctx context.Context, d db.DB, dry bool, tell func(statement string)) (Distribution, error) {
	server, ok := d.(*postgres.DB)
	if !ok {
		return Distribution{}, fmt.Errorf("%w: Citus spreads a PostgreSQL database, and this one is SQLite: move it with kartei copy first", ErrNotDistributable)
	}
	if server.Pooled() {
		return Distribution{}, fmt.Errorf("%w through a transaction pooler: use a URL that leads to the coordinator itself", ErrNotDistributable)
	}
	c, err := connect(ctx, server)
	if err != nil {
		return Distribution{}, err
	}
	defer c.close(ctx)
	have, err := Status(ctx, d)
	switch {
	case err != nil:
		return Distribution{}, err
	case !have.Current():
		return Distribution{}, fmt.Errorf("%w: it is at version %d of %d: run kartei migrate first", ErrNotDistributable,
			have.Version, have.Latest)
	case !dry:
		if err := postgres.InUseBy(ctx, d); err != nil {
			return Distribution{}, err
		}
	}
	state := Distribution{Statements: []string{}}
	switch state.Nodes, err = c.check(ctx); {
	case dry && errors.Is(err, ErrNotDistributable):
		state.Before = err.Error()
	case err != nil:
		return state, err
	}
	tables, err := karteisTables(ctx, d)
	if err != nil {
		return state, err
	}
	for _, t := range tables {
		if Whole[t.Name] != "" {
			state.Whole++
		} else {
			state.Spread++
		}
	}
	state.Statements, err = c.distribute(ctx, tables, dry, tell)
	return state, err
}

// distributeNew distributes the new tables of migrations if the database is distributed already.
// Otherwise it does nothing.
func distributeNew(ctx context.Context, d *postgres.DB) error {
	c, err := connect(ctx, d)
	if err != nil {
		return err
	}
	defer c.close(ctx)
	if !c.installed {
		return nil
	}
	tables, err := karteisTables(ctx, d)
	if err != nil {
		return err
	}
	if err := c.look(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(tables, func(t Table) bool { return c.tables[t.Name].placed }) {
		return nil
	}
	if _, err := c.check(ctx); err != nil {
		return err
	}
	due, err := c.distribute(ctx, tables, d.Pooled(), nil)
	if err != nil {
		return err
	}
	if d.Pooled() && len(due) > 0 {
		return errors.New("db: new tables are not distributed yet: run kartei migrate with a URL that leads to the coordinator itself")
	}
	return nil
}

// karteisTables returns Kartei's tables. Other tables in the database belong to other programs.
func karteisTables(ctx context.Context, d db.DB) ([]Table, error) {
	tables, err := Tables(ctx, d)
	return slices.DeleteFunc(tables, func(t Table) bool { return Whole[t.Name] == "" && !t.Spread() }), err
}

// cluster is a connection to the coordinator, and the state of Citus.
type cluster struct {
	conn *pgx.Conn
	// installed says that the database has the extension citus.
	installed bool
	tables    map[string]placement
}

// placement describes where the rows of a table are.
type placement struct {
	// placed says that Citus has distributed the table or copied it to other servers.
	placed bool
	// column is the distribution column. It is empty if each server has the whole table.
	column string
	// group is equal for tables whose rows of one organization are on the same server.
	group int
	// own says that the coordinator has rows in the local table. If the table is not yet placed,
	// these are all its rows. Otherwise they are leftovers.
	own bool
}

// connect connects to the coordinator. It returns an error for a worker, because a worker has no
// migrations, locks and notifications.
func connect(ctx context.Context, d *postgres.DB) (_ *cluster, err error) {
	conn, err := pgx.ConnectConfig(ctx, d.Config()) // without timeouts, because rows are moved
	if err != nil {
		return nil, postgres.MapError(err)
	}
	c := &cluster{conn: conn}
	defer func() {
		if err != nil {
			c.close(ctx)
		}
	}()
	if err := conn.QueryRow(ctx, "select exists (select from pg_extension where extname = 'citus')").Scan(&c.installed); err != nil || !c.installed {
		return c, postgres.MapError(err)
	}
	var worker bool
	err = conn.QueryRow(ctx, "select not citus_is_coordinator() and exists (select from pg_dist_node)").Scan(&worker)
	if worker {
		return nil, fmt.Errorf("%w from here: this server is a worker; use the URL of the coordinator", ErrNotDistributable)
	}
	return c, postgres.MapError(err)
}

func (c *cluster) close(ctx context.Context) { c.conn.Close(context.WithoutCancel(ctx)) }

// check returns the number of servers that accept rows. It returns ErrNotDistributable if there is
// none.
func (c *cluster) check(ctx context.Context) (nodes int, err error) {
	if !c.installed {
		return 0, fmt.Errorf("%w: the extension citus is not in it: have a superuser run `create extension citus` in this database "+
			"on the coordinator and on each worker, and `select citus_add_node('HOST', PORT)` on the coordinator for each worker", ErrNotDistributable)
	}
	err = c.conn.QueryRow(ctx, "select count(*) from pg_dist_node where noderole = 'primary' and isactive and shouldhaveshards").Scan(&nodes)
	if err != nil {
		return nodes, postgres.MapError(err)
	}
	if nodes == 0 {
		err = fmt.Errorf("%w: the cluster has no server that accepts rows: run `select citus_add_node('HOST', PORT)` "+
			"on the coordinator for each worker", ErrNotDistributable)
	}
	return nodes, postgres.MapError(err)
}

// where returns the placement of all tables. A table that Citus only lists (partmethod n, repmodel
// s) is local.
const (
	where = `select c.relname::text, p.logicalrelid is not null, coalesce(column_to_column_name(p.logicalrelid, p.partkey), ''),
		coalesce(p.colocationid, 0), pg_relation_size(c.oid) > 0
		from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid and (p.partmethod <> 'n' or p.repmodel = 't')
		where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace`
	whereWithoutCitus = `select c.relname::text, false, '', 0, pg_relation_size(c.oid) > 0 from pg_class c
		where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace`
)

// look reads the placement of all tables.
func (c *cluster) look(ctx context.Context) error {
	query := where
	if !c.installed {
		query = whereWithoutCitus
	}
	rows, err := c.conn.Query(ctx, query)
	if err != nil {
		return postgres.MapError(err)
	}
	c.tables = map[string]placement{}
	var name string
	var p placement
	_, err = pgx.ForEachRow(rows, []any{&name, &p.placed, &p.column, &p.group, &p.own}, func() error {
		c.tables[name] = p
		return nil
	})
	return postgres.MapError(err)
}

// distribute sends the statements that are still needed, each in its own transaction, and returns
// them. With dry it only returns them.
func (c *cluster) distribute(ctx context.Context, tables []Table, dry bool, tell func(string)) ([]string, error) {
	if !dry { // a second call waits here and then finds nothing to do
		if _, err := c.conn.Exec(ctx, "select pg_advisory_lock(hashtextextended('kartei distribute', 0))"); err != nil {
			return nil, postgres.MapError(err)
		}
	}
	all := []string{}
	for _, plan := range []func([]Table) ([]string, error){c.spreading, c.emptying} {
		if err := c.look(ctx); err != nil {
			return all, err
		}
		statements, err := plan(tables)
		if err != nil {
			return all, err
		}
		all = append(all, statements...)
		if dry {
			continue
		}
		for _, s := range statements {
			if tell != nil {
				tell(s)
			}
			if _, err := c.conn.Exec(ctx, s); err != nil {
				return all, fmt.Errorf("db: %s: %w", s, postgres.MapError(err))
			}
		}
	}
	return all, nil
}

// spreading returns the statements that distribute the tables that are still local. A table comes
// after the tables to which it refers. spreading returns an error if a table was distributed in
// another way.
func (c *cluster) spreading(tables []Table) ([]string, error) {
	// anchor is a table that is distributed already. The rows of an organization in other tables
	// are put on the same server as its rows in the anchor.
	anchor := ""
	for _, t := range tables {
		if c.tables[t.Name].column != "" && Whole[t.Name] == "" {
			anchor = t.Name
			break
		}
	}
	group := c.tables[anchor].group
	var list []string
	for _, t := range tables {
		whole, p := Whole[t.Name] != "", c.tables[t.Name]
		switch {
		case p.placed && !whole && (p.column != "organization" || p.group != group), whole && p.column != "":
			return nil, fmt.Errorf("%w: table %s was distributed in another way: undo it with `select undistribute_table('%[2]s')`, then repeat", ErrNotDistributable, t.Name)
		case p.placed || whole:
			continue
		}
		with := anchor
		if anchor == "" {
			anchor, with = t.Name, "none"
		}
		list = append(list, fmt.Sprintf("select create_distributed_table(%s, 'organization', colocate_with => %s)",
			literal(t.Name), literal(with)))
	}
	return list, nil
}

// emptying returns the statements that remove leftover local rows from the coordinator. Queries do
// not find these rows any more, so erasing personal data would miss them.
func (c *cluster) emptying(tables []Table) ([]string, error) {
	var list []string
	for _, t := range tables {
		if Whole[t.Name] == "" && c.tables[t.Name].own {
			list = append(list, "select truncate_local_data_after_distributing_table("+literal(t.Name)+")")
		}
	}
	return list, nil
}

// literal returns a name as an SQL string literal.
func literal(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }
