package command

import (
	"errors"
	"testing"

	"kartei/cmd/remote"
)

// TestAPINamesTheAddress checks the error of a call that reached no instance. It has the address
// and the settings for another one.
func TestAPINamesTheAddress(t *testing.T) {
	g := &Globals{settings: newResolver(func(string) (string, bool) { return "", false })}
	for sent, want := range map[bool]string{
		false: "no instance can be reached at http://127.0.0.1:8080: refused; KARTEI_URL or --url names another address",
		true:  "refused",
	} {
		err := new(InstanceFlags).Explain(g, &remote.NoAnswerError{Err: errors.New("refused"), Sent: sent})
		if with := new(statusError); err.Error() != want || !errors.As(err, with) || with.status != ExitNoAnswer {
			t.Errorf("sent %t: %v, want %q", sent, err, want)
		}
	}
}
