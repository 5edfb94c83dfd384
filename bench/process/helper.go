// Package process owns the processes of a measurement: the server, helpers, and the time and memory that they use.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
)

// Helper is a child process of this program. It reads JSON from standard input and writes JSON to
// standard output.
type Helper struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	in      *json.Encoder
	out     *json.Decoder
}

// StartHelper starts this program as a helper. role is its first argument.
func StartHelper(ctx context.Context, role string) (*Helper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, role)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &Helper{c, stdin, json.NewEncoder(stdin), json.NewDecoder(bufio.NewReader(stdout))}, nil
}

// Ask sends a question as JSON and decodes the reply into answer.
func (h *Helper) Ask(question, answer any) error {
	if err := h.in.Encode(question); err != nil {
		return err
	}
	return h.out.Decode(answer)
}

// Pid returns the process id.
func (h *Helper) Pid() int { return h.command.Process.Pid }

// End closes the standard input of the process, which then ends.
func (h *Helper) End() error {
	h.stdin.Close()
	return h.command.Wait()
}

// EachJob is the main loop of a helper. It decodes jobs from in, runs one after another, and writes
// the results to out until in ends.
func EachJob[J, R any](in io.Reader, out io.Writer, do func(*J) (R, error)) error {
	jobs, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var job J
		if err := jobs.Decode(&job); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := do(&job)
		if err != nil {
			return err
		}
		if err := results.Encode(r); err != nil {
			return err
		}
	}
}
