package webhook

import (
	"net/netip"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestPlans checks that each query for a part of the log uses an index.
func TestPlans(t *testing.T) {
	operator, _, err := (&access.Directory{}).Resolve(t.Context(), access.Presentation{Scheme: access.Local},
		netip.Addr{}, true)
	if err != nil {
		t.Fatal(err)
	}
	operators := &op.Call{Actor: operator}
	find := func(in FindInput) db.Statement { return in.page(operators, 1, 100) }
	_, bounds := hourBounds(0)
	log := func(in LogInput) db.Statement { in.ID = "whe_a"; return in.page(1, 100) }
	for name, c := range map[string]struct {
		db.Statement
		want string
	}{
		"hours": {
			db.Statement{Query: selectHours, Args: append([]any{1, "whe_a"}, bounds...)},
			"USING COVERING INDEX webhook_attempts_failed (organization=? AND endpoint=? AND id>? AND id<?)",
		},
		"times": {
			db.Statement{Query: selectTimes, Args: []any{1, "whe_a", "dlv_", 200}},
			"USING INDEX webhook_attempts_endpoint (organization=? AND endpoint=? AND id>?)",
		},
		"send again": {
			db.Statement{Query: selectFailed, Args: []any{1, "whe_a", "", 1000}},
			"a USING INDEX webhook_attempts_failed (organization=? AND endpoint=? AND id>?)",
		},
		"log": {log(LogInput{}), "USING INDEX webhook_attempts_endpoint (organization=? AND endpoint=?)"},
		"log, later page": {
			log(LogInput{Before: "dlv_a"}),
			"USING INDEX webhook_attempts_endpoint (organization=? AND endpoint=? AND id<?)",
		},
		"log of an event": {
			log(LogInput{Event: "evt_a"}),
			"USING INDEX webhook_attempts_event (organization=? AND endpoint=? AND event_id=?)",
		},
		"log of failures": {
			log(LogInput{Result: "failed", Before: "dlv_a"}),
			"USING INDEX webhook_attempts_failed (organization=? AND endpoint=? AND id<?)",
		},
		"event at endpoints": {
			(&EventInput{ID: "evt_a"}).tried(operators, 1),
			"USING INDEX webhook_attempts_event (organization=? AND endpoint=? AND event_id=?)",
		},
		"event that waits": {
			(&EventInput{ID: "evt_a"}).pending(operators, 1), "(organization=? AND endpoint=? AND event_id=?)",
		},
		"endpoints":            {find(FindInput{}), "(organization=?)"},
		"endpoints, next page": {find(FindInput{After: "whe_a"}), "(organization=? AND id>?)"},
		"endpoints of one": {
			find(FindInput{Principal: "usr_a", After: "whe_a"}),
			"USING INDEX webhook_endpoints_principal (organization=? AND principal=? AND id>?)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := dbtest.SQLite(t).Read(t.Context(), func(tx db.Tx) error {
				plan, err := dbtest.SQLitePlan(t.Context(), tx, c.Query, c.Args...)
				if !strings.Contains(plan, c.want) || strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("%s\n%s", c.Query, plan)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
