package audit_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestQuery checks that pages of two organizations' lines have the same lines as a slice, for
// random filters.
func TestQuery(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		random := seed.Rand(t)
		pick := func(of ...string) string { return of[random.IntN(len(of))] }
		who, words, targets := []string{
			"", "usr_a", "usr_b",
		}, []string{"key.create", "key.pause", "keyring.open", "person.set"}, []string{"", "key_a", "usr_b"}
		organizations := map[int64]string{0: "", 77: "org_a"}
		if err := d.Write(t.Context(), func(tx db.Tx) error {
			for range 300 {
				var a audit.Act
				a.About(int64(random.IntN(2))*77, pick(targets...))
				l := audit.Line{
					Time: clock.Micros(random.IntN(20)), PrincipalID: pick(who...), Word: pick(words...),
					CredentialKind: "session",
				}
				if l.PrincipalID == "" {
					l.CredentialKind = audit.OperatorKind
				}
				if err := audit.Append(tx, &a, l); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		ask := func(f audit.Filter) (lines []audit.Line) {
			t.Helper()
			if err := d.Read(t.Context(), func(tx db.Tx) (err error) {
				lines, err = audit.Query(t.Context(), tx, organizations, f)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return lines
		}
		all := ask(audit.Filter{Limit: 1000})
		if len(all) != 300 || !slices.IsSortedFunc(all, func(a, b audit.Line) int { return cmp.Compare(b.ID, a.ID) }) {
			t.Fatalf("%d lines, or not the newest first", len(all))
		}
		for range 60 {
			f := audit.Filter{
				Who: pick("", "", "usr_a", audit.OperatorKind), Word: pick("", "", "key", "key.pause", "nothing"),
				Target: pick("", "", "key_a"),
				Since:  clock.Micros(random.IntN(12)), Until: clock.Micros(random.IntN(2) * (8 + random.IntN(12))),
				Limit: 1 + random.IntN(40),
			}
			var got []audit.Line
			for page := ask(f); len(page) > 0; page = ask(f) {
				got, f.Before = append(got, page...), page[len(page)-1].ID
			}
			if want := kept(all, f); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v: %d lines, want %d", f, len(got), len(want))
			}
		}
	})
}

// kept returns the lines that a filter selects, without its pages.
func kept(all []audit.Line, f audit.Filter) (list []audit.Line) {
	for _, l := range all {
		who := f.Who == "" || f.Who == l.PrincipalID || f.Who == audit.OperatorKind && l.CredentialKind == audit.OperatorKind
		word := f.Word == "" || l.Word == f.Word || !strings.Contains(f.Word, ".") && strings.HasPrefix(l.Word, f.Word+".")
		since, until := f.Since == 0 || l.Time >= f.Since, f.Until == 0 || l.Time < f.Until
		if who && word && since && until && (f.Target == "" || f.Target == l.Target) {
			list = append(list, l)
		}
	}
	return list
}

// TestHide checks that the values of one member are removed from a line, and the others stay.
func TestHide(t *testing.T) {
	hidden, err := audit.Hide(`[{"member":"email","from":"a@example.com","to":"b@example.com"},{"member":"role","from":"member","to":"admin"}]`, "email")
	if err != nil || strings.Contains(hidden, "example.com") || !strings.Contains(hidden, `"admin"`) ||
		!strings.Contains(hidden, `"email"`) {
		t.Errorf("%s %v", hidden, err)
	}
	if _, err := audit.Hide(`{`, "email"); err == nil {
		t.Error("a damaged line passes")
	}
}
