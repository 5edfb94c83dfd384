package extract

import (
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestChildIsConfined checks that a child can use its standard input and output, but no files, no
// network, no other programs and no environment.
func TestChildIsConfined(t *testing.T) {
	t.Setenv("KARTEI_SECRET", "geheim")
	text := textOf(t, Limits{}, "", "test/surroundings")
	want := "read: no\nlist: no\nwrite: no\nconnect: no\nlisten: no\nstart: no\nenvironment: 0\nfolder: /"
	if !landlocked() {
		t.Log("this kernel has no Landlock: files are not forbidden")
		want = "write: no"
	}
	if !strings.Contains(text.Body, want) {
		t.Errorf("%s\nwant\n%s", text.Body, want)
	}
}

func landlocked() bool {
	version, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return version >= 4 && version < 100
}

// TestLimitIsProcessorTime checks that the time limit of a child counts processor time. A child may
// take longer in real time if the sender is slow or the processors are busy. The real time has its
// own limit.
func TestLimitIsProcessorTime(t *testing.T) {
	late := Limits{Time: 4 * time.Second}
	file, sender := io.Pipe()
	time.AfterFunc(late.Time+500*time.Millisecond, func() {
		io.WriteString(sender, "spät")
		sender.Close()
	})
	text, err := extractor(t, late).Extract(t.Context(), 1, file, "text/plain")
	if err != nil || text != (Text{Body: "spät"}) {
		t.Errorf("a file that is late: %+v, %v", text, err)
	}
	if text := textOf(t, Limits{Time: 600 * time.Millisecond}, "", "test/idle"); text != (Text{Reason: OutOfTime}) {
		t.Errorf("a child that waits forever: %+v", text)
	}
}
