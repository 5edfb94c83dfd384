package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"kartei/test/dbtest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// assistantsBase is the base URL of all replicas for assistants.
const assistantsBase = "https://kartei.example"

// TestAssistantsOfTwoReplicas checks assistants with both revisions of MCP whose requests go to two
// replicas in turn. Each replica accepts requests that refer to earlier requests at the other.
// Changes and revocations at one replica take effect at the other.
func TestAssistantsOfTwoReplicas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := []string{"--data-dir", dir, "--database-url", dbtest.PostgresURL(t)}
	replicas := []string{freePort(t), freePort(t)}
	for i, at := range replicas {
		s, err := launchCommand(command(slices.Concat([]string{
			"serve", "--listen", at, "--operator-listen", "127.0.0.1:0", "--base-url", assistantsBase,
			"--log-format", "json",
		}, store, ofReplica(dir, i))...))
		if err != nil {
			t.Fatal(err)
		}
		s.endsWith(t)
	}
	office := found(t, store...)
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			key := read[struct{ ID, Key string }](t,
				append([]string{
					"key", "create", "--org", office.ID, "--principal", office.User, "--env", "test", "--scopes",
					"contacts:read,contacts:write", "--ip", "127.0.0.1/32",
				}, store...)...)
			wire := &inTurn{replicas: replicas, key: key.Key}
			a, b := connectAssistant(t, wire, revision), connectAssistant(t, wire, revision)
			a.work("Berg " + revision)

			wire.answers = nil
			kartei(t, append([]string{"key", "revoke", key.ID}, store...)...)
			for _, later := range []*assistant{a, b} {
				if _, err := later.CallTool(t.Context(), &sdk.CallToolParams{Name: "contacts_count"}); err == nil {
					t.Error("a revoked key counts contacts")
				}
			}
			if got := wire.answers; len(got) != 2 || got[0] != (turn{got[0].replica, 401}) ||
				got[1] != (turn{1 - got[0].replica, 401}) {
				t.Errorf("after the revocation: %v", got)
			}
		})
	}
}

// turn has the index of the replica that responded to a request, and the status.
type turn struct{ replica, status int }

// inTurn is a client transport that sends requests to the replicas in turn. The Host header stays.
type inTurn struct {
	replicas []string // host and port of each
	key      string

	mu      sync.Mutex
	next    int
	answers []turn
}

// RoundTrip implements http.RoundTripper.
func (w *inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock() // requests run one after the other, so the order of replicas is certain
	replica := w.next
	w.next = (w.next + 1) % len(w.replicas)
	r = r.Clone(r.Context())
	r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, "http", w.replicas[replica]
	r.Header.Set("Authorization", "Bearer "+w.key)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		w.answers = append(w.answers, turn{replica, answer.StatusCode})
	}
	return answer, err
}

// assistant is a client session of the official Go SDK.
type assistant struct {
	testing.TB
	*sdk.ClientSession
}

func connectAssistant(t testing.TB, wire *inTurn, revision string) *assistant {
	t.Helper()
	at := &sdk.StreamableClientTransport{
		Endpoint: assistantsBase + "/mcp", HTTPClient: &http.Client{Transport: wire},
		DisableStandaloneSSE: true, MaxRetries: -1,
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "assistant", Version: "1"}, nil).Connect(t.Context(), at,
		&sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("the revision is %s, want %s", got, revision)
	}
	return &assistant{t, session}
}

// call calls a tool and returns the members of the structured result.
func (a *assistant) call(tool string, arguments map[string]any) map[string]any {
	a.TB.Helper()
	result, err := a.CallTool(a.TB.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.TB.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		a.TB.Fatalf("%s: %s", tool, result.Content[0].(*sdk.TextContent).Text)
	}
	return result.StructuredContent.(map[string]any)
}

// work lists tools, creates, reads and changes a contact, and reads it as a resource. Requests
// alternate between the replicas, and each step is done twice, so that it meets both.
func (a *assistant) work(name string) {
	a.TB.Helper()
	for range 2 {
		list, err := a.ListTools(a.TB.Context(), nil)
		if err != nil || !slices.ContainsFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == "contacts_create" }) {
			a.TB.Fatalf("%+v %v", list, err)
		}
	}
	made := a.call("contacts_create", map[string]any{"lastName": name})
	for range 2 {
		if got := a.call("contacts_get", map[string]any{"id": made["id"]}); got["lastName"] != name {
			a.TB.Errorf("%v", got)
		}
	}
	revision := made["revision"]
	for _, title := range []string{"Richterin", "Notarin", "Richterin a. D."} { // an odd number, so that the replicas change places
		changed := a.call("contacts_update", map[string]any{"id": made["id"], "revision": revision, "jobTitle": title})
		if changed["jobTitle"] != title || changed["revision"] == revision {
			a.TB.Errorf("%v", changed)
		}
		revision = changed["revision"]
	}
	for range 2 {
		found := a.call("contacts_list", map[string]any{"q": name})["data"].([]any)
		if len(found) != 1 || found[0].(map[string]any)["jobTitle"] != "Richterin a. D." {
			a.TB.Errorf("%v", found)
		}
		address := "kartei://contacts/" + made["id"].(string)
		read, err := a.ReadResource(a.TB.Context(), &sdk.ReadResourceParams{URI: address})
		if err != nil || !strings.Contains(read.Contents[0].Text, `"jobTitle":"Richterin a. D."`) {
			a.TB.Errorf("%+v %v", read, err)
		}
		if templates, err := a.ListResourceTemplates(a.TB.Context(), nil); err != nil ||
			len(templates.ResourceTemplates) != 5 {
			a.TB.Errorf("%+v %v", templates, err)
		}
	}
}
