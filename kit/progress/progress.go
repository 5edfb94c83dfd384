// Package progress owns the progress bar of long commands, with an estimate of the remaining time.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	// redrawn is the interval between two drawings on a terminal. logged is the interval between
	// two lines if the output is not a terminal.
	redrawn, logged = 200 * time.Millisecond, 10 * time.Second
	// window is the interval of the measurement of the rate. The rate is the average of the last
	// one to two intervals.
	window = 30 * time.Second
	width  = 40
)

// Bar draws the progress of a command. A nil Bar draws nothing. Bar is not safe for concurrent use.
type Bar struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	drawn    time.Time
	// older and newer are earlier progress. The rate is measured from older. After each window,
	// newer becomes older.
	older, newer mark
	total        int64
}

// mark is the progress at a point in time.
type mark struct {
	at   time.Time
	done int64
}

// New returns a Bar that writes to out. On a terminal it redraws one line. Otherwise it writes a
// line every ten seconds.
func New(out io.Writer) *Bar {
	b := &Bar{out: out, now: time.Now}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		b.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return b
}

// Tell draws the progress, unless the last drawing is too recent. done and total may have any unit.
// The first call sets the start of the measurement, so the progress before it does not count for
// the rate.
func (b *Bar) Tell(done, total int64) {
	if b == nil || total <= 0 {
		return
	}
	now := b.now()
	if b.older.at.IsZero() {
		b.older, b.newer, b.drawn = mark{now, done}, mark{now, done}, now
	}
	b.total = total
	if now.Sub(b.newer.at) >= window {
		b.older, b.newer = b.newer, mark{now, done}
	}
	every := logged
	if b.terminal {
		every = redrawn
	}
	if now.Sub(b.drawn) >= every {
		b.drawn = now
		b.draw(mark{now, done})
	}
}

func (b *Bar) draw(at mark) {
	at.done = min(at.done, b.total) // done may be above total, if the data have grown meanwhile
	full := int(width * at.done / b.total)
	line := fmt.Sprintf("[%s%s] %3d %%%s", strings.Repeat("#", full), strings.Repeat(".", width-full),
		100*at.done/b.total, b.estimate(at))
	if b.terminal {
		fmt.Fprint(b.out, "\r"+line+"\x1b[K") // clears the rest of a longer line
	} else {
		fmt.Fprintln(b.out, line)
	}
}

// estimate returns the rate and the remaining time as text. It is empty while the rate is unknown.
func (b *Bar) estimate(at mark) string {
	took, did := at.at.Sub(b.older.at), at.done-b.older.done
	if took <= 0 || did <= 0 {
		return ""
	}
	rate := float64(did) / took.Seconds()
	left := time.Duration(float64(b.total-at.done) / rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf(", %.0f/s, about %s left", rate, left)
}

// End ends the line of the bar on a terminal.
func (b *Bar) End() {
	if b != nil && b.terminal && b.total > 0 {
		fmt.Fprintln(b.out)
	}
}
