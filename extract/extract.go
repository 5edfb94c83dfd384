// Package extract owns what a file is and what it says: type, malware, and text, read in a confined child process.
package extract

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"kartei/extract/textio"
)

// Text is what was read of a file.
type Text struct {
	Body   string // valid UTF-8 without control characters but tab and line feed; what was read until Reason
	Cut    bool   // there is more than the limit
	Reason Reason // why there is less than the file has; "" where it was read to its end or to the limit
}

// Reason says why a file's text was not read, or not to its end. The file
// becomes a document all the same; it is found by its name only.
type Reason string

// The reasons.
const (
	Complete    Reason = ""
	Unsupported Reason = "unsupported" // no text is read of files of this type
	Encrypted   Reason = "encrypted"   // it asks for a password
	Broken      Reason = "broken"      // it is not whole, or not as its format says
	Inflated    Reason = "inflated"    // it unfolds into more than is read
	OutOfTime   Reason = "time"
	OutOfMemory Reason = "memory"
	Unconfined  Reason = "unconfined" // the system cannot confine the child, and Options.Require asks for it
	Crashed     Reason = "crashed"    // the child ended in another way
)

// Limits bound the reading of one file.
type Limits struct {
	Text   int           // bytes of Text.Body; 1 MiB where it is 0
	Memory int64         // bytes of the child's data; 768 MiB where it is 0, 256 MiB at least
	Time   time.Duration // of a processor at most, see Allowance, and wallTimes that by the clock on the wall; 60 s where it is 0
}

func (l Limits) withDefaults() Limits {
	if l.Text == 0 {
		l.Text = 1 << 20
	}
	if l.Memory == 0 {
		l.Memory = 768 << 20
	}
	l.Memory = max(l.Memory, 256<<20)
	if l.Time == 0 {
		l.Time = time.Minute
	}
	return l
}

// Options say how texts are read.
type Options struct {
	Limits
	// Program is what calls Child when its first argument is "extract"; this
	// program where it is "".
	Program string
	// Cache is a folder in which the reader of PDF is kept as machine code; it
	// is made when it is needed. Without one, each PDF costs some seconds of a
	// processor in addition.
	Cache string
	// Require has no text read if the system cannot confine the child: Text.Reason
	// is Unconfined.
	Require bool
	// Cold is told why the cache could not be filled; nil for nobody.
	Cold func(why error)
	// Parallel is how many children of one organization there are at once; as many
	// as processors where it is 0. Of all together there is one more, and one that
	// fills the cache.
	Parallel int
}

// Extractor reads the text of files, each in a process of its own. It may be
// used by several goroutines.
type Extractor struct {
	options Options
	slots   *slots

	mu sync.Mutex
	// filling says that a call fills the cache, warm that one did, and cold how many
	// PDFs are read without it before another tries.
	filling bool
	warm    bool
	cold    int
}

// ErrFilling is returned for a PDF while another call fills the cache. That takes
// some seconds of a processor, and more on a busy machine: try again after a
// while, and give up until then what others wait for.
var ErrFilling = errors.New("extract: the reader of PDF is being made")

// coldTime is what a PDF may take in addition that is read without the cache: to
// translate its reader takes 2 to 4 s, of a slow processor three times as much.
const coldTime = 15 * time.Second

// patience is how many PDFs are read without the cache before it is tried again
// to fill it: the disk was full, say, or the minute not enough.
const patience = 20

// New returns an extractor. It starts nothing yet.
func New(o Options) (*Extractor, error) {
	o.Limits = o.withDefaults()
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.Program == "" {
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("extract: %w", err)
		}
		o.Program = program
	}
	if o.Cache != "" {
		absolute, err := filepath.Abs(o.Cache) // a child has another working directory
		if err != nil {
			return nil, fmt.Errorf("extract: %w", err)
		}
		o.Cache = absolute
	}
	return &Extractor{options: o, slots: newSlots(o.Parallel)}, nil
}

// cached reports whether files of a type are read by a reader out of the cache.
func (x *Extractor) cached(contentType string) bool {
	return contentType == "application/pdf" && x.options.Cache != ""
}

// Ready fails with ErrFilling if Extract of a file of the type would.
func (x *Extractor) Ready(contentType string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.filling && x.cached(contentType) {
		return ErrFilling
	}
	return nil
}

// What a small file may take of a processor, and what each MiB adds. Most PDFs
// take 0.15 to 0.3 s; one of 900 bytes that was made for it took 12 s.
const (
	baseTime   = 5 * time.Second
	timePerMiB = 5 * time.Second
)

// Allowance returns how long a processor may read a file of this type and size,
// in whole seconds; zero if no text is read of it.
func (x *Extractor) Allowance(contentType string, size int64) time.Duration {
	k := find(contentType)
	if k == nil || k.text == nil {
		return 0
	}
	const far = 1 << 30 // beyond any limit; no product overflows
	most := baseTime + time.Duration(min(max(size, 0), far))*timePerMiB>>20
	return min(x.options.Time, most.Round(time.Second))
}

// Extract reads the text of a file like Within, in Limits.Time.
func (x *Extractor) Extract(ctx context.Context, organization int64, r io.Reader, contentType string) (Text, error) {
	text, _, err := x.Within(ctx, x.options.Time, organization, r, contentType)
	return text, err
}

// Within reads the text of an organization's file of one of the types of
// Verdict.Type, in so much time of a processor, and returns how much it took. It
// fails with ErrFilling before it reads r. If as many children run as may, it
// waits. Whatever the file does to its reader
// ends in Text.Reason; an error is one of ctx, of reading r, or of starting a
// process, and tells nothing of the file. Nobody can end a Read of r that does not
// return.
func (x *Extractor) Within(ctx context.Context, most time.Duration, organization int64, r io.Reader, contentType string) (Text, time.Duration, error) {
	k := find(contentType)
	if k == nil || k.text == nil {
		return Text{Reason: Unsupported}, 0, nil
	}
	cache := ""
	if x.cached(k.name) { // before it has a slot: files of other types need not wait for it
		warm, err := x.fill(ctx)
		if err != nil {
			return Text{}, 0, err
		}
		if warm {
			cache = x.options.Cache
		} else {
			most += coldTime
		}
	}
	if err := x.slots.enter(ctx, organization); err != nil {
		return Text{}, 0, err
	}
	defer x.slots.leave(organization)
	in := &source{Reader: r}
	e, err := x.run(ctx, in, k.name, cache, most)
	switch {
	case in.err != nil:
		return Text{}, e.took, in.err
	case ctx.Err() != nil:
		return Text{}, e.took, ctx.Err()
	case err != nil:
		return Text{}, e.took, err
	}
	return tidied(e.wrote, x.options.Text, e.code), e.took, nil
}

// fill has a child write the reader of PDF into the cache, once for each run of
// the program and where somebody has emptied it. Whoever needs it meanwhile gets
// ErrFilling. If it fails, PDFs are read without for a while.
func (x *Extractor) fill(ctx context.Context) (warm bool, err error) {
	if warm, ours, err := x.beginFilling(); !ours {
		return warm, err
	}
	e, err := x.run(ctx, strings.NewReader(""), warming, x.options.Cache, x.options.Time)
	x.mu.Lock()
	x.filling = false
	x.warm = err == nil && e.code == exitDone
	warm = x.warm
	failed := !warm && ctx.Err() == nil
	if failed {
		x.cold = patience
	}
	x.mu.Unlock()
	if failed && x.options.Cold != nil {
		x.options.Cold(cmp.Or(err, e.why()))
	}
	return warm, ctx.Err()
}

// beginFilling reports whether the cache is warm, and whether this call fills it.
func (x *Extractor) beginFilling() (warm, ours bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.filling {
		return false, false, ErrFilling
	}
	if x.warm {
		entries, _ := os.ReadDir(x.options.Cache)
		x.warm = len(entries) > 0
	}
	switch {
	case x.warm:
		return true, false, nil
	case x.cold > 0:
		x.cold--
		return false, false, nil
	}
	x.filling = true
	return false, true, nil
}

// ErrUnconfined is returned, wrapped, if the system cannot confine a child.
var ErrUnconfined = errors.New("the process that reads texts is not confined")

// Confined has a child confine itself, and returns an ErrUnconfined that says
// what the system lacks for it. Other errors are of ctx and of starting a process.
func (x *Extractor) Confined(ctx context.Context) error {
	e, err := x.run(ctx, strings.NewReader(""), probing, "", x.options.Time)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case e.code == exitOpen:
		return fmt.Errorf("%w: %w", ErrUnconfined, e.why())
	case e.code != exitDone:
		return fmt.Errorf("extract: %w", e.why())
	}
	return nil
}

// source remembers that the file itself could not be read.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// errOutput ends a child that writes more than it was told to.
var errOutput = errors.New("extract: too much output")

// capped keeps the first bytes of what is written to it. It holds its buffer
// and is none: a buffer reads all that there is.
type capped struct {
	kept   []byte
	most   int
	strict bool // more is an error, which ends the pipe
}

func (c *capped) Write(p []byte) (int, error) {
	fits := min(len(p), c.most-len(c.kept))
	c.kept = append(c.kept, p[:fits]...)
	if fits < len(p) && c.strict {
		return fits, errOutput
	}
	return len(p), nil
}

// end is what became of a child.
type end struct {
	wrote, said []byte
	code        int
	took        time.Duration // of a processor
}

// why is the first line of what the child said of why it failed, or the reason
// at least. It is for a child that has read no file: of one that has, nothing is
// repeated.
func (e end) why() error {
	if line, _, _ := bytes.Cut(e.said, []byte("\n")); len(line) > 0 {
		return errors.New(string(line))
	}
	return errors.New(string(cmp.Or(reasons[e.code], Crashed)))
}

// run has a child read a file, in so much time of a processor.
func (x *Extractor) run(ctx context.Context, in io.Reader, name, cache string, most time.Duration) (end, error) {
	l := x.options.Limits
	limited, cancel := context.WithTimeout(ctx, wallTimes*l.Time)
	defer cancel()
	confinement := preferred
	if x.options.Require {
		confinement = required
	}
	cmd := exec.CommandContext(limited, x.options.Program, command, name,
		strconv.Itoa(l.Text), strconv.FormatInt(l.Memory, 10), strconv.Itoa(int(math.Ceil(most.Seconds()))), cache, confinement)
	cmd.Env = []string{}
	cmd.Dir = root
	cmd.Stdin = in
	out, errs := &capped{most: l.Text + 1, strict: true}, &capped{most: 16 << 10}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = attributes()
	// The signal at this process's death comes when the thread ends that
	// started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return end{}, fmt.Errorf("extract: %w", err)
	}
	giveWay(cmd.Process)
	_ = cmd.Wait() // the state says how it ended
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if limited.Err() != nil {
		return end{out.kept, nil, exitTime, took}, nil
	}
	return end{out.kept, errs.kept, ended(cmd.ProcessState, errs.kept, most), took}, nil
}

// tidied returns what a child wrote as a text. The child tidies too, but it is
// not believed.
func tidied(body []byte, most, code int) Text {
	var tidy bytes.Buffer
	s := textio.NewSink(&tidy, most)
	s.Text(string(body))
	_ = s.Close() // a buffer takes all
	t := Text{Body: tidy.String(), Cut: code == exitCut || s.Full()}
	if reason, known := reasons[code]; known {
		t.Reason = reason
	} else {
		t.Reason = Crashed
	}
	return t
}
