package applications_test

import (
	"testing"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// TestConsentNames checks applications whose names look like the organization's or the product's
// name. These clients are stored without the check of names at registration. The browser is not
// redirected to them, even after a wrong request.
func TestConsentNames(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := pagetest.Open(t, o, access.Member)
	for _, name := range []string{"Kanzlei Morgenstern", "Kаnzlei Mоrgenstern.", "KANZLEI MORGENSTERN", "Kanzlei Morgenstern Support", "Ｋａｒｔｅｉ"} {
		c := pagetest.NewClient(t, o, name)
		for _, at := range []string{asking(&c), asking(&c, "code_challenge", ""), asking(&c, "redirect_uri", "http://127.0.0.1:53076/cb", "scope", "openid")} {
			got := b.Get(at).Want(400, "kann nicht verbunden werden", "sieht aus wie").Without("app.example")
			if got.Header.Get("Location") != "" || got.Header.Get("Refresh") != "" {
				t.Errorf("%s: the browser is sent to %v", name, got.Header)
			}
		}
	}
}

// TestApplicationsTellOfAssistants checks that the list of applications explains MCP and has the
// address to copy.
func TestApplicationsTellOfAssistants(t *testing.T) {
	b := pagetest.Open(t, apitest.New(t, dbtest.SQLite(t)), access.Member)
	b.Get("/settings/interfaces/applications").Want(200, "Model Context Protocol", "<code>"+apitest.BaseURL+"/mcp</code>", `data-copy="`+apitest.BaseURL+`/mcp"`, "/guide?lang=de#assistants")
}

// TestConsentOfAProgram checks that the consent page shows the private scheme of a program, and
// that the browser is redirected to it.
func TestConsentOfAProgram(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	admits(t, o, access.AllApplications)
	b := pagetest.Open(t, o, access.Member)
	c := grant.Client{Kind: grant.Registered, Name: "Cursor", RedirectURIs: []string{"cursor://anysphere.cursor-mcp/oauth/callback"}, Method: grant.NoSecret}
	if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		_, err := c.Store(t.Context(), tx, clock.Now(o.Clock))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	b.Get(asking(&c)).Want(200, "Programm auf diesem Computer", "<bdi>cursor:</bdi>", "gerade selbst gestartet")
}
