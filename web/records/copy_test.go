package records_test

import (
	"html"
	"os/exec"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// TestCopyAsCurl checks that a shell parses the curl commands on a page into exactly the expected
// arguments.
func TestCopyAsCurl(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d, apitest.Replicas(1)), access.Member)
		path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "O'Brien $(id) `id`", "note", "Zeile 1\nZeile \"2\"", "tags", "Mandant").Want(303).Location
		b.Get(path+"/edit").Send(path, "mobile", "0176 1").Want(303)
		calls := commands(b.Get(path).Want(200, `data-link data-copy="https://kartei.example`+path+`"`).Body)
		if len(calls) != 3 {
			t.Fatalf("the page has the calls %q", calls)
		}
		url := "https://kartei.example/v1" + path
		for i, want := range [][]string{
			{"-H", "Authorization: Bearer secret", url},
			{"-H", "Authorization: Bearer secret", "-H", "Svc-Preview: true", "-H", "Content-Type: application/json", "-X", "PATCH", "-H", `If-Match: "r2"`, "-d", "{}", url},
			{
				"-H", "Authorization: Bearer secret", "-H", "Svc-Preview: true", "-H", "Content-Type: application/json", "-X", "PATCH", "-H", `If-Match: "r2"`, "-d",
				"{\"lastName\":\"O'Brien $(id) `id`\",\"mobile\":\"0176 1\",\"note\":\"Zeile 1\\nZeile \\\"2\\\"\",\"tags\":[\"Mandant\"]}", url,
			},
		} {
			// The shell function curl prints its arguments and sends no request.
			got, err := exec.Command("sh", "-c", `KEY=secret; curl() { printf '%s\n' "$@"; }; `+calls[i]).CombinedOutput()
			if err != nil || string(got) != strings.Join(want, "\n")+"\n" {
				t.Errorf("%s\nis read as\n%s\nwant\n%s", calls[i], got, strings.Join(want, "\n"))
			}
		}
	})
}

// TestNoCurlForClerks checks that only admins and people with a key see API calls.
func TestNoCurlForClerks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		clerk := o.User(access.Member)
		b := pagetest.OpenAt(t, o, "https://kartei.example")
		b.Cookie = o.Session(clerk)
		contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
		task := b.Get("/tasks/new").Send("/tasks/new", "title", "Akte").Want(303).Location
		offers := func(offered bool) {
			t.Helper()
			for _, path := range []string{contact, task} {
				if body := b.Get(path).Want(200, "Link kopieren").Body; strings.Contains(body, "curl") != offered {
					t.Errorf("%s offers calls: %t, want %t", path, !offered, offered)
				}
			}
		}
		offers(false)
		o.Key(clerk)
		offers(true)
		b.Cookie = o.Session(o.User(access.Admin))
		offers(true)
	})
}

// commands returns the curl commands on a page.
func commands(body string) (list []string) {
	for _, part := range strings.Split(body, "<pre><code>")[1:] {
		code, _, _ := strings.Cut(part, "</code>")
		list = append(list, html.UnescapeString(code))
	}
	return list
}
