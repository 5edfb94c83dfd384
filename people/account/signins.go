package account

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/store/db"
)

// Entry is a sign-in of the caller's account, or a series of refused attempts.
type Entry struct {
	At clock.Micros `json:"at"`
	// Refused says that the password or the code was wrong.
	Refused          bool   `json:"refused"`
	OrganizationName string `json:"organizationName"`
	Address          string `json:"address"`
	// Agent is the User-Agent of the session. It is empty once the session was deleted.
	Agent string `json:"agent"`
}

const (
	// maxSignIns is the maximum number of sign-ins in the list. Sign-ins older than signInsSince are
	// left out.
	maxSignIns   = 20
	signInsSince = 90 * 24 * time.Hour

	signedInWord = "session.begin"
	refusedWord  = "session.refuse"

	selectAgents = `select id, agent from sessions where account_id = $1`
)

// ListSignIns returns the latest sign-ins of the caller's account, the newest first. They are the
// audit lines of the account's persons.
var ListSignIns = op.New("signins.list", op.Read, listSignIns, op.By(op.Member), op.Always)

func listSignIns(ctx context.Context, c *op.Call, _ op.None) (op.Entries[Entry], error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Entries[Entry]{}, err
	}
	persons, err := personsOf(ctx, c.Tx, s.account.id)
	if err != nil {
		return op.Entries[Entry]{}, err
	}
	agents, err := agentsOf(ctx, c.Tx, s.account.id)
	if err != nil {
		return op.Entries[Entry]{}, err
	}
	all := map[string]Entry{}
	for _, p := range persons {
		lines, err := linesOf(ctx, c, p)
		if err != nil {
			return op.Entries[Entry]{}, err
		}
		for _, l := range lines { // a refusal has one line for each person
			all[l.RequestID] = Entry{
				At: l.Time, Refused: l.Word == refusedWord, OrganizationName: p.OrganizationName,
				Address: l.Address, Agent: agents[l.Target],
			}
		}
	}
	list := make([]Entry, 0, len(all))
	for _, e := range all {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Agent, b.Agent)) })
	return op.PageOf(list[:min(len(list), maxSignIns)], maxSignIns), nil
}

// linesOf returns the audit lines about sign-ins of a person.
func linesOf(ctx context.Context, c *op.Call, p Person) ([]audit.Line, error) {
	of, since := map[int64]string{p.home: p.OrganizationID}, c.Now.Add(-signInsSince)
	begun, err := audit.Query(ctx, c.Tx, of, audit.Filter{Who: p.ID, Word: signedInWord, Since: since, Limit: maxSignIns})
	if err != nil {
		return nil, err
	}
	refused, err := audit.Query(ctx, c.Tx, of, audit.Filter{
		Target: p.ID, Word: refusedWord, Since: since, Limit: maxSignIns,
	})
	return append(begun, refused...), err
}

// agentsOf maps the ids of an account's sessions to their User-Agents.
func agentsOf(ctx context.Context, tx db.Tx, account string) (map[string]string, error) {
	agents := map[string]string{}
	_, err := db.List(ctx, tx, func(row db.Row) (none struct{}, err error) {
		var name, agent string
		err = row.Scan(&name, &agent)
		agents[name] = agent
		return none, err
	}, selectAgents, account)
	return agents, err
}
