// Package check owns the look at what a server needs, before it starts or beside it.
package check

import (
	"context"
	"time"

	"kartei/instance/config"
	"kartei/kit/clock"
)

// State says how good a finding is.
type State string

// A server starts with a Warning, but something is missing or may end soon. With something Wrong it
// does not start, or a part of it does not work.
const (
	OK      State = "ok"
	Warning State = "warning"
	Wrong   State = "wrong"
)

// Finding is what was found out about one thing.
type Finding struct {
	About string `json:"about"`
	State State  `json:"state"`
	Says  string `json:"says"`
	// Cure says what to do. It is empty if the state is OK.
	Cure string `json:"cure,omitempty"`
}

// Options are what is looked at.
type Options struct {
	Store  *config.Store
	Server *config.Server
	// Environ has the environment variables as NAME=VALUE.
	Environ []string
	// Running says that a server uses the data folder now.
	Running bool
	Clock   clock.Clock
}

// patience is the maximum time of a look at one thing.
const patience = 30 * time.Second

type look struct{ Options }

// Run looks at everything, one thing after another, and returns a finding for each. It creates
// nothing that a start would create. It writes a few bytes into an existing folder of files, and
// removes them.
func Run(ctx context.Context, o Options) (all []Finding) {
	l := &look{o}
	for _, f := range []func(context.Context) []Finding{
		l.variables, l.folder, l.masterKey, l.database, l.files, l.listeners, l.address, l.certificate, l.mail, l.provider,
		l.scanner, l.reader, l.clock,
	} {
		bounded, cancel := context.WithTimeout(ctx, patience)
		all = append(all, f(bounded)...)
		cancel()
	}
	return all
}

func ok(about, says string) []Finding { return []Finding{{About: about, State: OK, Says: says}} }

func warning(about, says, cure string) []Finding {
	return []Finding{{About: about, State: Warning, Says: says, Cure: cure}}
}

func wrong(about, says, cure string) []Finding {
	return []Finding{{About: about, State: Wrong, Says: says, Cure: cure}}
}
