package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"kartei/access"
	"kartei/cmd/kartei/command"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/instance/sample"
	"kartei/kit/clock"
	"kartei/store/blob"
)

// Demo is the command that serves a sample office.
type Demo struct {
	config.Server `embed:""`
	Data          config.Dir `name:"data" placeholder:"DIR" help:"Keep the data in this folder and use it again. By default the folder is temporary and removed at the end."`
	JSON          bool       `name:"json" help:"Print one line of JSON on standard output, for scripts."`
}

// Help returns the help text below the summary.
func (*Demo) Help() string {
	return `Serves the sample office 'Kanzlei Morgenstern' until it is interrupted, or until nobody reads its
output any more: a closed terminal or pipe ends it, too. With --data a folder keeps
the data, the two keys (in demo.json) and your changes. The address is http://localhost and the port of
--listen, unless --listen names an address of the network: the demo listens on 127.0.0.1 and [::1].`
}

// demoLine is the output with --json. Programs read it, so members are only added.
type demoLine struct {
	BaseURL        string    `json:"baseUrl"`
	WebURL         string    `json:"webUrl"`
	MCPURL         string    `json:"mcpUrl"`
	OrganizationID string    `json:"organizationId"`
	SandboxID      string    `json:"sandboxId"`
	Keys           demoKeys  `json:"keys"`
	Login          demoLogin `json:"login"`
}

type demoKeys struct {
	Full string `json:"full"`
	Read string `json:"read"`
}

type demoLogin struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// demoFile is the content of demo.json, for the next start with the same data.
type demoFile struct {
	Keys  demoKeys  `json:"keys"`
	Login demoLogin `json:"login"`
	// Receiver is the webhook endpoint of the demo's own receiver.
	Receiver demoReceiver `json:"receiver"`
}

// keyLifetime is the lifetime of the demo's keys. Expired keys are replaced.
const keyLifetime = 30 * 24 * time.Hour

// outlet is an output of the demo. It calls end if a write fails.
type outlet struct {
	io.Writer
	end func()
}

// Write implements io.Writer.
func (o outlet) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		o.end()
	}
	return n, err
}

// untilUnread returns a context that ends with ctx, or when an output of the demo is closed. It
// registers a receiver for SIGPIPE. Otherwise SIGPIPE would end the process at once, and the
// temporary files would stay.
func untilUnread(ctx context.Context, g *command.Globals) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	g.Out, g.Err = outlet{g.Out, end}, outlet{g.Err, end}
	return ctx, end
}

// Run serves the sample office until ctx ends or its output is closed.
func (c *Demo) Run(ctx context.Context, g *command.Globals) (err error) {
	ctx, end := untilUnread(ctx, g)
	defer end()
	c.WebhookDevelopment = true
	if err := c.Server.Check(); err != nil {
		return command.Usagef("%w", g.Blame(err))
	}
	traces, err := g.Traces()
	if err != nil {
		return err
	}
	kept, remove, err := c.folder(g)
	if err != nil {
		return err
	}
	defer remove()
	c.choose(g)
	logger, _, err := newLogger(g, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	slog.SetDefault(logger)
	warnDevelopment(logger, &c.Server) // before startReceiver changes these settings
	var speaking sync.Mutex            // delays the receiver's lines until after the welcome text
	speaking.Lock()
	speak := sync.OnceFunc(speaking.Unlock)
	receiver, err := startReceiver(&c.Server, func(line string) {
		speaking.Lock()
		defer speaking.Unlock()
		if c.JSON {
			logger.Info("webhook", "received", line)
			return
		}
		fmt.Fprintf(g.Out, "  webhook  %s\n", line)
	})
	if err != nil {
		return fmt.Errorf("the receiver of webhooks: %w", err)
	}
	defer receiver.Close()
	instance.TuneCollector()
	i, err := instance.Start(ctx, instance.Config{
		Store: g.Store, Server: c.Server, Version: release, Commit: commit(), Traces: traces, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(c.ShutdownTimeout))
		defer cancel()
		err = errors.Join(err, i.Close(bounded))
	}()
	defer speak()
	line, endpoint, err := c.office(ctx, g, i, receiver)
	if errors.Is(err, sample.ErrOther) {
		return fmt.Errorf("%s contains data that is not the demo's; name another folder with --data", g.DataDir)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = g.PrintJSON(line)
	} else {
		err = c.tell(g, i, line, kept)
	}
	speak()
	if err != nil && ctx.Err() == nil {
		return err
	}
	if endpoint != "" && !c.JSON {
		if err := test(ctx, i, line.Keys.Full, endpoint); err != nil && ctx.Err() == nil {
			logger.Warn("the demo's endpoint could not be tested", "error", err)
		}
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-i.Failed():
		return err
	}
}

// folder sets the data folder of g. It is the folder of a setting, or else a
// temporary one. kept is false for a temporary folder, which remove deletes.
func (c *Demo) folder(g *command.Globals) (kept bool, remove func(), err error) {
	switch {
	case c.Data != "":
		g.DataDir = c.Data
	case g.Source("data-dir") == "default":
		dir, err := os.MkdirTemp("", "kartei-demo-")
		if err != nil {
			return false, nil, err
		}
		g.DataDir = config.Dir(dir)
		return false, func() { os.RemoveAll(dir) }, nil
	}
	return true, func() {}, nil
}

// choose sets the demo's defaults for missing settings: a free port for operators, and only
// warnings in the log. A loopback address becomes localhost, because browsers accept passkeys only
// for names.
func (c *Demo) choose(g *command.Globals) {
	if host, port, err := net.SplitHostPort(string(c.Listen)); err == nil && (host == "127.0.0.1" || host == "::1") {
		c.Listen = config.Address(net.JoinHostPort("localhost", port))
	}
	if g.Source("operator-listen") == "default" {
		c.OperatorListen = "127.0.0.1:0"
	}
	if g.Source("log-level") == "default" {
		c.LogLevel = "warn"
	}
	if g.Source("mcp-origins") == "default" {
		c.MCPOrigins = inspectors
	}
}

// inspectors are the origins of the MCP Inspector on this machine.
var inspectors = []config.Origin{"http://localhost:6274", "http://127.0.0.1:6274"}

// office creates the sample office. If the office exists, it returns the stored keys and endpoint.
func (c *Demo) office(
	ctx context.Context, g *command.Globals, i *instance.Instance, r *receiver,
) (_ demoLine, endpoint string, _ error) {
	office, err := sample.Ensure(ctx, i.Operator())
	if err != nil {
		return demoLine{}, "", err
	}
	path := filepath.Join(string(g.DataDir), "demo.json")
	kept, err := readDemoFile(path)
	if err != nil {
		return demoLine{}, "", err
	}
	anew := kept.Login.Password == ""
	if anew {
		kept.Login = demoLogin{sample.AdminEmail, newPassword()}
	}
	if err := office.SignIn(ctx, i.DB, clock.System, kept.Login.Password, anew); err != nil {
		return demoLine{}, "", err
	}
	if !good(ctx, i, kept.Keys) {
		keys, err := office.NewKeys(ctx, i.Operator(), keyLifetime)
		if err != nil {
			return demoLine{}, "", err
		}
		kept.Keys = demoKeys{keys.Full.Key, keys.Read.Key}
	}
	if err := writeDemoFile(path, kept); err != nil {
		return demoLine{}, "", err
	}
	if err := fill(ctx, i, office); err != nil {
		return demoLine{}, "", err
	}
	// The endpoint is created last, so that it gets no events about the office itself. The demo
	// starts even if the API of the office is closed, or the office has the maximum number of
	// endpoints.
	receiver, err := r.endpoint(ctx, i, kept.Keys.Full, kept.Receiver)
	if err != nil {
		slog.Warn("the demo's receiver gets no webhooks, because its endpoint cannot be created", "error", err)
		receiver.EndpointID = ""
	} else if receiver != kept.Receiver {
		kept.Receiver = receiver
		if err := writeDemoFile(path, kept); err != nil {
			return demoLine{}, "", err
		}
	}
	return demoLine{
		BaseURL: i.BaseURL + "/v1", WebURL: i.BaseURL, MCPURL: i.BaseURL + "/mcp",
		OrganizationID: office.OrganizationID, SandboxID: office.SandboxID,
		Keys: kept.Keys, Login: kept.Login,
	}, receiver.EndpointID, nil
}

// newPassword returns a readable password with 60 random bits.
func newPassword() string {
	b := strings.ToLower(rand.Text())
	return b[:4] + "-" + b[4:8] + "-" + b[8:12]
}

// fill adds sample records to the live organization, in which people sign in, and to its sandbox,
// in which the keys work.
func fill(ctx context.Context, i *instance.Instance, office sample.Office) error {
	both := []string{office.OrganizationID, office.SandboxID}
	for _, organization := range both {
		if err := office.Fill(ctx, i.DB, clock.System, organization, sample.Size); err != nil {
			return err
		}
	}
	for _, organization := range both {
		err := office.File(ctx, i.DB, clock.System, i.Files, organization)
		if errors.Is(err, blob.ErrUnavailable) {
			// Without the file storage, all else works. serve does the same.
			slog.Warn("the demo has no documents, because their files cannot be stored; the next start creates them",
				"error", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// test sends a test event to the endpoint, so that the demo shows a delivery.
func test(ctx context.Context, i *instance.Instance, key, endpoint string) error {
	client, err := inside(i, key)
	if err != nil {
		return err
	}
	return client.Call(ctx, http.MethodPost, "/webhook_endpoints/"+endpoint+"/test", nil, nil)
}

// good reports whether both keys are valid.
func good(ctx context.Context, i *instance.Instance, k demoKeys) bool {
	for _, key := range []string{k.Full, k.Read} {
		if _, err := i.Directory.Authenticate(ctx, key, access.V1, netip.MustParseAddr("127.0.0.1")); key == "" ||
			err != nil {
			return false
		}
	}
	return true
}

// readDemoFile returns the content of demo.json. The result is empty if the file does not exist or
// is incomplete.
func readDemoFile(path string) (demoFile, error) {
	var f demoFile
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return f, err
	case !json.Valid(b):
	default:
		if err := json.Unmarshal(b, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

func writeDemoFile(path string, f demoFile) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}

// tell prints the welcome text.
func (c *Demo) tell(g *command.Globals, i *instance.Instance, l demoLine, kept bool) error {
	data := command.Absolute(string(g.DataDir))
	if !kept {
		data += " (removed at the end)"
	}
	_, err := fmt.Fprintf(g.Out, `Kartei serves the sample office '%s': %d contacts, their companies, tasks and documents.

  sign in          %[10]s
  email            %[11]s
  password         %[12]s
                   The others of the office have the same password, for example %[13]s.

  API              %[3]s
  reference        %[4]s/docs
  guide            %[4]s/guide
  for operators    %[5]s/metrics, /healthz, /readyz
  data             %[6]s

Keys for programs reach a second copy, the sandbox:

  key, everything  %[7]s   (only from this machine)
  key, reading     %[8]s

The guide and the program kartei take them from these variables:

  export KARTEI_KEY=%[7]s KARTEI_URL=%[10]s

Try:

  curl -H 'Authorization: Bearer %[8]s' '%[3]s/contacts?limit=2'

  curl -H 'Authorization: Bearer %[8]s' -G '%[3]s/contacts' -d limit=3 --data-urlencode 'q=Müller'

  curl -H 'Authorization: Bearer %[8]s' -G '%[3]s/documents' --data-urlencode 'q=Betriebsrat'

  curl -H 'Authorization: Bearer %[7]s' -H 'Svc-Preview: true' -H 'Idempotency-Key: %[9]s' -H 'Content-Type: application/json' -d '{"firstName":"Anna","lastName":"Berg"}' '%[3]s/contacts'

The last one creates a contact. An assistant such as Claude Code reads with:

  claude mcp add --transport http kartei %[14]s --header 'Authorization: Bearer %[8]s'

A receiver of webhooks runs with the demo: each delivery with a verified
signature is a line below. The first ones are a test and the documents that are still being made.
Ctrl-C ends everything.

`, sample.Name, sample.Size, l.BaseURL, l.WebURL, i.OperatorURL, data, l.Keys.Full, l.Keys.Read,
		"first-try-"+rand.Text()[:6], l.WebURL, l.Login.Email, l.Login.Password, sample.MemberEmail, l.MCPURL)
	return err
}
