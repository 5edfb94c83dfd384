package people_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/web/shell"
)

const auditPath = "/settings/audit"

// TestAuditLog checks that an admin can find who gave a key the right to write, and when. The page
// of the key, the filters and the export lead to the line.
func TestAuditLog(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin, member := pagetest.Open(t, o, access.Admin), pagetest.Open(t, o, access.Member)
		made := member.Get(shell.KeysPath+"/new").Send(shell.KeysPath+"/new", "name", "Geheimer Name", "may", "write", "networks", "192.0.2.1").Want(200)
		key := strings.TrimPrefix(pagetest.KeyPath.FindString(made.Body), shell.KeysPath+"/")
		o.Clock.Advance(5 * time.Minute)
		member.Get(shell.KeysPath+"/"+key).Send(shell.KeysPath+"/"+key, "networks", "192.0.2.1, 192.0.2.9").Want(303)

		admin.Get(shell.KeysPath+"/"+key).Want(200, `href="`+auditPath+`?target=`+key+`"`)
		about := admin.Get(auditPath+"?target="+key).Want(200, "hat einen API-Schlüssel angelegt", "contacts:write", "hat einen API-Schlüssel geändert", "Ohne Werte protokolliert: Name",
			"Netze: 192.0.2.1/32 → 192.0.2.1/32, 192.0.2.9/32", "im Browser · 192.0.2.1", `href="`+shell.KeysPath+`/`+key+`"`)
		if strings.Contains(about.Body, "Geheimer Name") || strings.Contains(about.Body, pagetest.Secrets.FindString(made.Body)) {
			t.Error("the log tells a name or a secret")
		}
		if late := admin.Get(auditPath+"?word=key&since=24h").Want(200, key); strings.Contains(late.Body, "hat sich angemeldet") {
			t.Error("the filter by kind lets others through")
		}
		admin.Get(auditPath+"?who=operator&word=key").Want(200, "Keine Zeile")
		admin.Get(auditPath+"?who=usr_01m7xt6sane2a9hpasvbmaayqz").Want(200, "Keine Zeile")
		admin.Get(auditPath+"?word=nonsense&since=nonsense&before=nonsense&from=nonsense&to=nonsense").Want(200, key)
		today := o.Clock.Now().Format(time.DateOnly)
		admin.Get(auditPath+"?word=key&from="+today+"&to="+today).Want(200, key, `value="days" selected`, `name="to" value="`+today+`"`)
		admin.Get(auditPath+"?word=key&to=2020-12-31").Want(200, "Keine Zeile")
		for address, want := range map[string]string{
			"from=" + today + "&to=2020-12-31": "Der erste Tag liegt nach dem letzten", "since=days": "Wählen Sie den ersten oder den letzten Tag",
			"from=nonsense": "Einen dieser Tage gibt es nicht", "since=24h&to=2020-12-31": `value="24h" selected`, "since=&to=2020-12-31": `value="" selected`,
		} {
			admin.Get(auditPath+"?word=key&"+address).Want(200, key, want)
		}

		file := about.Send(auditPath + "/export?target=" + key).Want(200)
		if lines := strings.Split(strings.TrimSpace(file.Body), "\n"); len(lines) != 3 || !strings.Contains(lines[0], "Was;") || !strings.Contains(lines[1], "geändert") {
			t.Errorf("the file: %q", file.Body)
		}
		admin.Get(auditPath+"?word=audit").Want(200, "hat das Protokoll exportiert")
		member.Do("POST", auditPath+"/export", url.Values{"form-token": {member.Get(shell.KeysPath + "/new").Fields(shell.KeysPath + "/new").Get("form-token")}}).Want(403)
		for _, path := range []string{auditPath, "/settings/organization", "/settings/organization?of=sandbox"} {
			member.Get(path).Want(403)
		}
	})
}

// TestLongAuditLog checks that an export ends after its maximum number of lines, and that its last
// line says so.
func TestLongAuditLog(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	admin := pagetest.Open(t, o, access.Admin)
	dbtest.Run(t, o.DB, `with recursive n(i) as (select 1 union all select i + 1 from n where i < 50001)
		insert into audit_lines (organization, id, at, principal, kind, credential, door, address, operation, word, target, changes, request_id)
		select o.number, 'adt_' || i, 1, '', 'operator', '', 'admin', '', 'people.set', 'person.set', 'usr_x', '[]', 'req_' || i from n, organizations o where o.id = $1`, o.ID)
	lines := strings.Split(strings.TrimSpace(admin.Get(auditPath+"?target=usr_x").Send(auditPath+"/export?target=usr_x").Want(200).Body), "\n")
	if last := lines[len(lines)-1]; len(lines) != 50_002 || !strings.HasPrefix(last, "Die Datei endet hier.") {
		t.Errorf("%d lines, the last one is %q", len(lines), last)
	}
	if file := admin.Get(auditPath + "?target=" + o.ID).Send(auditPath + "/export?target=" + o.ID).Want(200); strings.Contains(file.Body, "endet hier") {
		t.Error("a whole file says that it ends early")
	}
}
