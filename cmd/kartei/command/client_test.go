package command

import (
	"errors"
	"testing"

	"kartei/cmd/remote"
)

// A call that never reached an instance names the address, and what sets it.
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
