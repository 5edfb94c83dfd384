package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"kartei/extract"
	"kartei/instance/config"
	"kartei/instance/exposure"
	"kartei/kit/disk"
)

// otherVariables are the environment variables with the prefix of settings that are no settings.
// The commands for developers read them.
var otherVariables = []string{"KARTEI_CONFIG", "KARTEI_KEY", "KARTEI_URL"}

// variables names environment variables that look like settings and are none. A server ignores them.
func (l *look) variables(context.Context) (found []Finding) {
	known := slices.Clone(otherVariables)
	for _, name := range config.Names() {
		known = append(known, config.Env(name))
	}
	for _, variable := range l.Environ {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, config.EnvPrefix) && !slices.Contains(known, name) {
			found = append(found, warning("environment", name+" is no setting, and is ignored",
				"correct its name, or remove it; kartei config shows all settings with their names")...)
		}
	}
	if found == nil {
		return ok("environment", "each variable with the prefix "+config.EnvPrefix+" is a setting")
	}
	return found
}

// little is the room on a disk below which there is a warning, in bytes.
const little = 2 << 30

// folder looks at the data folder and the room on its disk.
func (l *look) folder(context.Context) []Finding {
	const about = "data folder"
	dir := string(l.Store.DataDir)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ok(about, dir+" does not exist yet: the first start creates it")
	case err != nil:
		return wrong(about, err.Error(), "run this command as the user of the server, or as root")
	case !info.IsDir():
		return wrong(about, dir+" is not a folder", "name another folder with --data-dir")
	}
	var found []Finding
	for _, words := range exposure.Warnings(l.Server, dir, nil, nil) {
		found = append(found, warning(about, words, "see docs/operating/install.md")...)
	}
	free, size, err := disk.Room(dir)
	if err != nil {
		return append(found, wrong(about, err.Error(), "make the folder readable for the user of the server")...)
	}
	room := fmt.Sprintf("%.1f of %.1f GB are free on the disk of %s", float64(free)/1e9, float64(size)/1e9, dir)
	if free < little {
		return append(found, warning(about, room, "make room: a server with a full disk reads and refuses writes")...)
	}
	return append(found, ok(about, room)...)
}

// listeners tries to listen on both addresses, and says who may reach them.
func (l *look) listeners(context.Context) (found []Finding) {
	var addresses [2]net.Addr
	for i, s := range []struct{ flag, address string }{
		{"--listen", string(l.Server.Listen)}, {"--operator-listen", string(l.Server.OperatorListen)},
	} {
		resolved, err := net.ResolveTCPAddr("tcp", s.address)
		if err != nil {
			return wrong(s.flag, err.Error(), "name an address of this machine, as HOST:PORT")
		}
		addresses[i] = resolved
		found = append(found, l.listener(s.flag, s.address)...)
	}
	for _, words := range exposure.Warnings(l.Server, "", addresses[0], addresses[1]) {
		found = append(found, warning("listeners", words, "see docs/operating/tls.md")...)
	}
	return found
}

func (l *look) listener(flag, address string) []Finding {
	if l.Running {
		return ok(flag, "the server of this data folder is running")
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return wrong(flag, "another program listens on "+address, "name another port, or end that program")
	case errors.Is(err, syscall.EACCES):
		return wrong(flag, "this user may not listen on "+address,
			"use a port from 1024 on behind a proxy, or let systemd open it: kartei.socket (docs/operating/install.md)")
	case err != nil:
		return wrong(flag, err.Error(), "name an address of this machine, as HOST:PORT")
	}
	listener.Close()
	return ok(flag, address+" is free")
}

// reader looks whether the process that reads texts can be confined.
func (l *look) reader(ctx context.Context) []Finding {
	const about = "reader of texts"
	reader, err := extract.New(l.Server.Texts(l.Store))
	if err != nil {
		return wrong(about, err.Error(), "see docs/operating/texts.md")
	}
	err = reader.Confined(ctx)
	switch {
	case errors.Is(err, extract.ErrUnconfined) && l.Server.ReaderConfinement == config.Require:
		return wrong(about, err.Error(), "use a kernel with Landlock, or set --reader-confinement prefer (docs/operating/texts.md)")
	case errors.Is(err, extract.ErrUnconfined):
		return warning(about, err.Error(), "use a kernel with Landlock, and let the service call it (docs/operating/texts.md)")
	case err != nil:
		return wrong(about, err.Error(), "see docs/operating/texts.md")
	}
	return ok(about, "it is confined by Landlock and seccomp")
}

// clock looks whether something keeps the clock of the machine right.
func (l *look) clock(context.Context) []Finding {
	const about = "clock"
	switch synchronized, known := clockState(); {
	case !known:
		return ok(about, "this system does not say whether its clock is kept right")
	case !synchronized:
		return warning(about, "no program keeps the clock of this machine right",
			"run a client for NTP, for example systemd-timesyncd or chrony: changes are dated by this clock")
	}
	return ok(about, "it is kept right by NTP")
}
