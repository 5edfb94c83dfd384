package extract

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"kartei/extract/drawing"
	"kartei/extract/office"
	"kartei/extract/pdf"
	"kartei/extract/sandbox"
	"kartei/extract/textio"
)

// command is the first argument of the command line of a child.
const command = "extract"

// These names stand in the command line in place of a content type.
const (
	warming   = "warm"    // the child fills the cache
	probing   = "confine" // the child reports which confinements the system lacks
	unpacking = "unpack"  // the child writes the parts of an archive or a workbook
)

// These arguments say what a child does if the system cannot confine it.
const (
	required  = "require" // the child reads no file
	preferred = "prefer"  // the child reads the file nevertheless
)

// The exit codes of a child, besides the codes in outcomes. The Go runtime itself ends programs
// with 1 and 2.
const (
	exitDone  = 0
	exitCut   = 20
	exitUsage = 24
	exitCrash = 27
	exitOpen  = 28 // the child is not confined
)

// outcomes maps the errors of readers to exit codes and reasons. If an error matches several
// entries, the first entry applies.
var outcomes = []struct {
	err    error
	code   int
	reason Reason
}{
	{textio.ErrEncrypted, 21, Encrypted},
	{textio.ErrInflated, 23, Inflated},
	{textio.ErrBroken, 22, Broken},
	{textio.ErrUnsupported, 29, Unsupported},
	{textio.ErrScanned, 30, Scanned},
	{textio.ErrContained, 31, Contained},
	{office.ErrLegacy, 32, Legacy},
	{office.ErrForeign, 33, Foreign},
}

// causes maps the causes of an end without an exit code of this package to reasons.
var causes = map[sandbox.Cause]Reason{
	sandbox.Crash: Crashed, sandbox.OutOfTime: OutOfTime, sandbox.OutOfMemory: OutOfMemory,
}

// Child runs the command line args if it was built by an Extractor, and then exits. For any other
// command line, Child returns. Every program with an Extractor must call Child first. The child
// reads the file from standard input and writes the text or the drawn page to standard output.
func Child(args []string) {
	if len(args) < 2 || args[1] != command {
		return
	}
	os.Exit(child(args[2:], os.Stdin, os.Stdout, os.Stderr))
}

// order is the parsed command line of a child.
type order struct {
	name string
	// Exactly one of the three is set. read writes the text of the file, draw draws the page that
	// sheet describes, and unpack writes the parts of the file.
	read   textio.ReadFunc
	draw   drawing.Func
	unpack bool
	sheet  drawing.Sheet
	limits Limits
	cache  string
	// require makes the child exit if it is not confined.
	require bool
}

func parseOrder(args []string) (o order, err error) {
	if len(args) != 7 {
		return o, errors.New("this command is only for the server itself: it reads or draws a file")
	}
	text, err1 := strconv.Atoi(args[1])
	memory, err2 := strconv.ParseInt(args[2], 10, 64)
	seconds, err3 := strconv.Atoi(args[3])
	if err := errors.Join(err1, err2, err3); err != nil {
		return o, err
	}
	o = order{
		name:    args[0],
		limits:  Limits{Text: text, Memory: memory, Time: time.Duration(seconds) * time.Second},
		cache:   args[4],
		require: args[5] == required,
	}
	switch o.name {
	case warming:
		o.read = pdf.Warm
		return o, nil
	case unpacking:
		o.unpack = true
		return o, nil
	case probing:
		o.read, o.require = func(*textio.Input, *textio.Sink) error { return nil }, true
		return o, nil
	}
	if args[6] != "" {
		o.draw = drawings[o.name]
		o.sheet, err = drawing.ParseSheet(args[6])
	} else {
		o.read = readers[o.name]
	}
	if o.draw != nil || o.read != nil {
		return o, err
	}
	return o, fmt.Errorf("files of the type %q have no text, or cannot be drawn", o.name)
}

func child(args []string, in io.Reader, out, errs io.Writer) int {
	o, err := parseOrder(args)
	var missing []error
	if err == nil {
		missing, err = sandbox.Confine(sandbox.Rights{
			Memory: o.limits.Memory, Time: o.limits.Time, Folder: o.cache, Fills: o.name == warming,
		})
	}
	if err != nil {
		fmt.Fprintln(errs, "kartei extract:", err)
		return exitUsage
	}
	if len(missing) > 0 && o.require {
		words := make([]string, len(missing))
		for i, m := range missing {
			words[i] = m.Error()
		}
		fmt.Fprintln(errs, strings.Join(words, "; "))
		return exitOpen
	}
	// The garbage collector should run more often long before the memory reaches the kernel's
	// limit.
	debug.SetMemoryLimit(o.limits.Memory / 2)
	runtime.GOMAXPROCS(1)
	input := &textio.Input{Reader: in, Memory: o.limits.Memory, Cache: o.cache}
	s := textio.NewSink(out, o.limits.Text)
	if o.draw != nil {
		return exit(s, drawTo(out, o.draw, input, o.sheet))
	}
	if o.unpack {
		return exit(s, office.Unpack(out, input))
	}
	err = o.read(input, s)
	if err != nil && o.name == warming { // errors of files are not printed, since the log must contain no content of a file
		fmt.Fprintln(errs, "kartei extract:", err)
	}
	if s.Close() != nil {
		return exitCrash
	}
	return exit(s, err)
}

// drawTo draws a page and writes the encoded page to out.
func drawTo(out io.Writer, draw drawing.Func, in *textio.Input, s drawing.Sheet) error {
	page, err := draw(in, s)
	if err != nil {
		return err
	}
	b, err := page.Encode()
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return err
}

// exit returns the exit code for the error err of a reader with the output s.
func exit(s *textio.Sink, err error) int {
	switch {
	case s.Err() == textio.ErrFull:
		return exitCut
	case err == nil:
		return exitDone
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.code
		}
	}
	return exitCrash
}

// reasonOf returns the reason for the exit code of a child. If the child has no known exit code,
// the cause of its end is mapped to a reason.
func reasonOf(e sandbox.End) Reason {
	switch e.Code {
	case exitDone, exitCut:
		return Complete
	case exitOpen:
		return Unconfined
	case exitCrash:
		return Crashed
	}
	for _, o := range outcomes {
		if e.Code == o.code {
			return o.reason
		}
	}
	return causes[e.Cause]
}
