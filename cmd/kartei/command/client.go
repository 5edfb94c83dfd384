package command

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"kartei/cmd/remote"
	"kartei/kit/clock"
)

// InstanceFlags are the flags that select an instance, which may be on another machine.
type InstanceFlags struct {
	URL string `name:"url" placeholder:"URL" help:"The address of the instance; without it KARTEI_URL, else http://127.0.0.1:8080."`
	Key string `name:"key" placeholder:"KEY" help:"The API key; without it KARTEI_KEY, which other users of the machine cannot see."`
}

// address returns the URL of the instance: the flag, KARTEI_URL, or the default.
func (f *InstanceFlags) address(g *Globals) string {
	named, _ := g.Environ("KARTEI_URL")
	return cmp.Or(f.URL, named, "http://127.0.0.1:8080")
}

// NewClient returns a client of the instance. The client prints a line before each wait for another
// attempt. patience is the maximum time of a call, as in remote.Options.
func (f *InstanceFlags) NewClient(g *Globals, patience time.Duration) (*remote.Client, error) {
	return f.NewClientWith(g, patience, func(why error, wait time.Duration) {
		until := ""
		if patience > 0 {
			until = fmt.Sprintf(" for %s at most", patience)
		}
		fmt.Fprintf(g.Err, "The instance: %v; trying again in %s, and after that%s.\n", why,
			wait.Round(100*time.Millisecond), until)
	})
}

// NewClientWith is like NewClient, but calls waiting before each wait, with the reason and the
// duration.
func (f *InstanceFlags) NewClientWith(
	g *Globals, patience time.Duration, waiting func(error, time.Duration),
) (*remote.Client, error) {
	named, _ := g.Environ("KARTEI_KEY")
	key := cmp.Or(f.Key, named)
	if key == "" {
		return nil, Usagef("the API key is missing; set KARTEI_KEY or give --key")
	}
	c, err := remote.New(remote.Options{
		URL: f.address(g), Key: key, Patience: patience, Clock: clock.System, Waiting: waiting,
	})
	if err != nil {
		return nil, Usagef("--url: %w", err)
	}
	return c, nil
}

// Explain adds advice to the error of a call. It also gives the error its exit status.
func (f *InstanceFlags) Explain(g *Globals, err error) error {
	return classify(nameAddress(err, f.address(g)))
}

// nameAddress adds the address and advice to the error of a call that reached no instance. It
// returns other errors unchanged.
func nameAddress(err error, address string) error {
	if none := new(remote.NoAnswerError); !errors.As(err, &none) || none.Sent {
		return err
	}
	return fmt.Errorf("no instance can be reached at %s: %w; KARTEI_URL or --url names another address", address, err)
}

// classify returns an error with the exit status for its class.
func classify(err error) error {
	refused, none, broken := new(remote.Refusal), new(remote.NoAnswerError), new(remote.BrokenListError)
	var status int
	switch {
	case errors.As(err, &refused):
		switch s := refused.Status; {
		case s == http.StatusTooManyRequests:
			status = ExitLimit
			if wait := refused.Wait(); wait > 0 {
				err = fmt.Errorf("%w; it can be made again in %s", err, wait.Round(time.Second))
			}
		case refused.Code == "" || s >= 500 || s < 400:
			status = ExitServerError
		case s == http.StatusUnauthorized || s == http.StatusForbidden:
			status = ExitForbidden
		default:
			status = ExitClientError
		}
	case errors.As(err, &none):
		status = ExitNoAnswer
	case errors.As(err, &broken):
		status = ExitServerError
	default:
		return err
	}
	return statusError{err, status}
}
