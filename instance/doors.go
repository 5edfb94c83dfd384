package instance

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"kartei/api/release"
	"kartei/door/mcp"
	"kartei/door/oauth"
	"kartei/door/rest"
	"kartei/instance/config"
	"kartei/instance/exposure"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/kit/serve"
	"kartei/web"
	"kartei/web/app"
	"kartei/web/shell"
)

// doors returns the handler of all public requests. It serves the REST API below /v1, MCP at /mcp,
// the endpoints of OAuth, the web application and the public pages. It does not clean paths,
// because each of these handlers interprets its paths itself.
func (i *Instance) doors() (http.Handler, error) {
	environment := string(i.config.Server.Environment)
	pages, err := web.Handler(web.Options{
		BaseURL: i.BaseURL, Versions: versions(&i.config.Server),
		Announcements: announcements(release.VersionsIn(environment)), Styleguide: environment == "rc",
	})
	if err != nil {
		return nil, err
	}
	proxies := config.Prefixes(i.config.Server.TrustedProxies)
	address, trace := serve.ClientAddress(proxies), serve.Trace(proxies)
	uploads := i.uploads()
	pagesOfPeople := app.Handler(shell.Options{
		API: i.API, Uploads: uploads, Address: address, Trace: trace, BaseURL: i.BaseURL, Clock: i.clock,
		Logger: i.logger, Assistants: i.config.Server.MCP,
		FormKey: i.keys.Current.Derive("forms"), Asset: web.Asset, Public: pages,
		Violation: i.violations, ReadOnly: func() bool { return i.DB != nil && i.DB.Writes().Refused() != nil },
	})
	origins := make([]string, len(i.config.Server.MCPOrigins))
	for n, o := range i.config.Server.MCPOrigins {
		origins[n] = string(o)
	}
	application := oauth.Handler(oauth.Options{
		API: i.API, Address: address, Trace: trace, BaseURL: i.BaseURL, Origins: origins,
		Register: i.config.Server.Registration, Documents: i.documents != nil,
		Assistants: i.config.Server.MCP,
	}, pagesOfPeople)
	assistants, err := mcp.Handler(mcp.Options{
		API: i.API, Address: address, Trace: trace, BaseURL: i.BaseURL, Origins: origins, Release: i.config.Version,
		Logger: i.logger,
	})
	if err != nil {
		return nil, err
	}
	if !i.config.Server.MCP {
		assistants = mcp.Closed(i.API)
	}
	elsewhere := rest.Misplaced(i.API, application)
	calls, whole := rest.Handler(i.API, address, trace), rest.ForServer(i.API)
	var files http.Handler                                // nil if clients upload files directly to a bucket
	if i.receiver != nil && i.receiver.Addresses != nil { // an instance that waits for its database has no addresses
		files = rest.UploadHandler(uploads)
	}
	if i.public != nil {
		i.public.Refuse(rest.Refusal(i.API))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if files != nil && strings.HasPrefix(r.URL.Path, rest.UploadPrefix) {
			files.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "*" {
			whole.ServeHTTP(w, r)
			return
		}
		if mcp.Serves(r.URL.Path) {
			assistants.ServeHTTP(w, r)
			return
		}
		if path, ok := strings.CutPrefix(r.URL.Path, rest.Prefix); !ok || path != "" && path[0] != '/' {
			elsewhere.ServeHTTP(w, r)
			return
		}
		defer i.metrics.Answering()()
		calls.ServeHTTP(w, r)
	}), nil
}

// announcements maps versions of the API to their announcements. Versions without an announcement
// are missing.
func announcements(versions []release.Version) map[string]i18n.Text {
	words := map[string]i18n.Text{}
	for _, v := range versions {
		if s := v.Announcement(); s != "" {
			words[v.Name] = s
		}
	}
	return words
}

// publicBounds returns the configured limits of the public listener, and loads the TLS certificate.
func publicBounds(s *config.Server, c clock.Clock, l *slog.Logger) (serve.Options, error) {
	o := serve.Options{
		ReadHeader: time.Duration(s.ReadHeaderTimeout), Body: time.Duration(s.BodyTimeout),
		Write: time.Duration(s.WriteTimeout), Idle: time.Duration(s.IdleTimeout),
		MaxHeaderBytes: s.MaxHeaderBytes,
		Connections:    s.MaxConnections, PerAddress: s.MaxConnectionsPerAddress, Trusted: config.Prefixes(s.TrustedProxies),
		StrictTransport: time.Duration(s.HSTS),
		Logger:          l,
	}
	if s.TLSCert == "" {
		return o, nil
	}
	var err error
	o.Certificate, err = serve.LoadCertificate(string(s.TLSCert), string(s.TLSKey), c, l)
	return o, err
}

// operatorBounds returns the limits of the operator's listener. They are fixed, because its few
// clients are known and send short requests.
func operatorBounds(l *slog.Logger) serve.Options {
	return serve.Options{
		ReadHeader: 5 * time.Second, Body: 5 * time.Second, Write: 30 * time.Second, Idle: time.Minute,
		MaxHeaderBytes: 16 << 10, Connections: 64, Logger: l,
	}
}

// warnExposed logs a warning for each part of the instance that is more exposed than it should be.
func (i *Instance) warnExposed() {
	var public, operator net.Addr
	if i.public != nil {
		public = i.public.Addr()
	}
	if i.operator != nil {
		operator = i.operator.Addr()
	}
	for _, words := range exposure.Warnings(&i.config.Server, string(i.config.Store.DataDir), public, operator) {
		i.logger.Warn(words)
	}
}
