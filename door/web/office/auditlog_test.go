package office_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

const auditPath = "/settings/audit"

// TestAuditLog answers who gave a key the right to write, and when: from the page of the
// key, by the filters, and in the file.
func TestAuditLog(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin, member := open(t, o, access.Admin), open(t, o, access.Member)
		made := member.get(keysPath+"/new").send(keysPath+"/new", "name", "Geheimer Name", "may", "write", "networks", "192.0.2.1").want(200)
		key := strings.TrimPrefix(keyPath.FindString(made.Body), keysPath+"/")
		o.Clock.Advance(5 * time.Minute)
		member.get(keysPath+"/"+key).send(keysPath+"/"+key, "networks", "192.0.2.1, 192.0.2.9").want(303)

		admin.get(keysPath+"/"+key).want(200, `href="`+auditPath+`?target=`+key+`"`)
		about := admin.get(auditPath+"?target="+key).want(200, "hat einen API-Schlüssel angelegt", "contacts:write", "hat einen API-Schlüssel geändert",
			"Netze 192.0.2.1/32 → 192.0.2.1/32, 192.0.2.9/32", "im Browser · 192.0.2.1", `href="`+keysPath+`/`+key+`"`)
		if strings.Contains(about.Body, "Geheimer Name") || strings.Contains(about.Body, secrets.FindString(made.Body)) {
			t.Error("the log tells a name or a secret")
		}
		if late := admin.get(auditPath+"?word=key&since=24h").want(200, key); strings.Contains(late.Body, "hat sich angemeldet") {
			t.Error("the filter by kind lets others through")
		}
		admin.get(auditPath+"?who=operator&word=key").want(200, "Keine Zeile")
		admin.get(auditPath+"?who=usr_01m7xt6sane2a9hpasvbmaayqz").want(200, "Keine Zeile")
		admin.get(auditPath+"?word=nonsense&since=nonsense&before=nonsense").want(200, key)

		file := admin.get(auditPath + "/export?target=" + key).want(200)
		if lines := strings.Split(strings.TrimSpace(file.Body), "\n"); len(lines) != 3 || !strings.Contains(lines[0], "Was;") || !strings.Contains(lines[1], "geändert") {
			t.Errorf("the file: %q", file.Body)
		}
		for _, path := range []string{auditPath, auditPath + "/export", "/settings/organization", "/settings/organization?of=sandbox"} {
			member.get(path).want(403)
		}
	})
}

// TestOrganizationOnPages changes the organization and its sandbox, each by itself.
func TestOrganizationOnPages(t *testing.T) {
	const path = "/settings/organization"
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin := open(t, o, access.Admin)
		admin.get(keysPath+"/new").send(keysPath+"/new", "environment", "live", "may", "write", "networks", "192.0.2.1").want(200)
		admin.get(keysPath+"/new").send(keysPath+"/new", "environment", "live").want(200)
		admin.get(keysPath + "/new").send(keysPath + "/new").want(200)

		page := admin.get(path).want(200, "Nur lesen", "Was schreibt, wird abgelehnt: betrifft einen Schlüssel.", "Jeder Aufruf wird abgelehnt: betrifft 2 Schlüssel.")
		page.send(path, "name", "").want(422, `aria-invalid="true"`)
		page.send(path, "level", "everything").want(422)
		saved := page.send(path, "name", "Kanzlei Neu", "level", "read").want(303)
		admin.get(saved.Location).want(200, "Organisation gespeichert.", `value="Kanzlei Neu"`)
		if is := organization(t, o, o.ID); is.Name != "Kanzlei Neu" || is.Level != access.Read || is.Module != "on" {
			t.Errorf("%+v", is)
		}
		sandbox := path + "?of=sandbox"
		admin.get(sandbox).want(200, "Jeder Aufruf wird abgelehnt: betrifft 2 Schlüssel.").send(sandbox, "module", "off").want(303)
		if is, live := organization(t, o, o.SandboxID), organization(t, o, o.ID); is.Module != "off" || live.Module != "on" {
			t.Errorf("sandbox %+v, live %+v", is, live)
		}
		admin.get(auditPath+"?word=organization").want(200, "Stufe der API on → read", "Modul on → off")

		o.Clock.Advance(access.SignInFresh + time.Minute)
		admin.get(path).send(path, "level", "on").want(403, "bestätigen")
	})
}

// organization reads an organization as the operator.
func organization(t *testing.T, o *apitest.Office, id string) access.OrganizationInfo {
	t.Helper()
	is, err := o.Operator.GetOrganization(t.Context(), access.ByID{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return is
}
