package private

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tested is a line of the table that python/tests/test_private.py reads as well.
type tested struct {
	Name string
	As   *int // the user to check for, if it is not the one who runs the tests
	Make []struct {
		Path, Mode, Link string
		UID              *int
		File             bool
	}
	Check   string // // in front: as it stands; ./ likewise
	Real    string
	Refused string
}

func TestCases(t *testing.T) {
	text, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []tested
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 20 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { c.run(t) })
	}
}

func (c tested) run(t *testing.T) {
	base := place(t)
	uid := os.Geteuid()
	if c.As != nil {
		uid = *c.As
	}
	c.build(t, base)
	path := base + "/" + c.Check
	if strings.HasPrefix(c.Check, "/") || strings.HasPrefix(c.Check, ".") {
		path = strings.TrimPrefix(c.Check, "/")
	}
	real, err := check(path, uid)
	switch {
	case c.Refused != "" && (err == nil || !strings.Contains(err.Error(), c.Refused)):
		t.Errorf("%q, %v, want an error with %q", real, err, c.Refused)
	case c.Refused == "" && (err != nil || real != filepath.Join(base, c.Real)):
		t.Errorf("%q, %v, want %s", real, err, c.Real)
	}
}

// build makes the tree of a case. Who is not root cannot give folders away.
func (c tested) build(t *testing.T, base string) {
	if c.As != nil && os.Geteuid() != 0 {
		t.Skip("needs root to make folders of others")
	}
	for _, m := range c.Make {
		path := filepath.Join(base, m.Path)
		mode, err := strconv.ParseUint(m.Mode, 8, 32)
		switch {
		case m.Link != "":
			err = os.Symlink(strings.Replace(m.Link, "/{base}", base, 1), path)
		case m.File:
			err = os.WriteFile(path, nil, 0o600)
		case err == nil:
			err = unix.Mkdir(path, 0o700)
		}
		if err == nil && m.Link == "" {
			err = unix.Chmod(path, uint32(mode))
		}
		if m.UID != nil && err == nil {
			if os.Geteuid() != 0 {
				t.Skip("needs root to make folders of others")
			}
			err = os.Chown(path, *m.UID, -1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// place is a folder that this user alone can write, without links on the way.
func place(t *testing.T) (folder string) {
	t.Helper()
	err := Try(func(place string) (err error) {
		folder, err = os.MkdirTemp(place, "t")
		return err
	})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func TestMake(t *testing.T) {
	base := place(t)
	if got, err := makeBelow(base, "a", "b"); err != nil || got != base+"/a/b" {
		t.Fatal(got, err)
	}
	for _, path := range []string{base + "/a", base + "/a/b"} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if got, err := makeBelow(base, "a", "b"); err != nil || got != base+"/a/b" {
		t.Error("once more: ", got, err)
	}
	if _, err := makeBelow(base+"/none", "a"); err == nil {
		t.Error("what it is to lie below was made as well")
	}
	if _, err := os.Stat(base + "/none"); err == nil {
		t.Error("what it is to lie below was made as well")
	}
	if err := os.Chmod(base+"/a", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := makeBelow(base, "a", "c"); err == nil || !strings.Contains(err.Error(), "written by others") {
		t.Error(err)
	}
	if _, err := os.Stat(base + "/a/c"); err == nil {
		t.Error("a folder was made where others can write")
	}
}

// Each place is tried in order; the error says why each was rejected.
func TestTry(t *testing.T) {
	base := place(t)
	for _, name := range []string{"run", "home"} {
		if err := os.Mkdir(base+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", base+"/run")
	t.Setenv("XDG_CACHE_HOME", base+"/cache")
	t.Setenv("HOME", base+"/home")
	var offered []string
	_ = Try(func(place string) error {
		offered = append(offered, strings.TrimPrefix(place, base))
		return os.ErrPermission
	})
	want := []string{"/run/stoker", "/cache/stoker", "/home/.cache/stoker"}
	if len(offered) < 3 || strings.Join(offered[:3], " ") != strings.Join(want, " ") {
		t.Errorf("offered %q, want %q and perhaps another", offered, want)
	}
	if err := Try(func(place string) error {
		if strings.Contains(place, "/run/") {
			return os.ErrPermission
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", "/tmp")
	t.Setenv("XDG_CACHE_HOME", "")
	if err := Try(func(place string) error {
		if strings.HasPrefix(place, "/tmp") {
			t.Error("offered ", place)
		}
		return os.ErrPermission
	}); err == nil || !strings.Contains(err.Error(), "/tmp may be written by others") || !strings.Contains(err.Error(), "set XDG_RUNTIME_DIR") {
		t.Error(err)
	}
}

// A home that is not there is not made, not even by root.
func TestNoHome(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("XDG_CACHE_HOME", "/nonexistent/cache")
	t.Setenv("HOME", "/nonexistent")
	_ = Try(func(place string) error { // the passwd entry's home
		if strings.HasPrefix(place, "/nonexistent") {
			t.Error("offered ", place)
		}
		return nil
	})
	if _, err := os.Stat("/nonexistent"); err == nil {
		t.Error("it was made")
	}
}

// A socket whose path is too long is bound and found through its folder.
func TestReach(t *testing.T) {
	folder := place(t)
	for len(folder) < 300 {
		folder += "/" + strings.Repeat("x", 60)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := folder + "/socket"
	reach := func() (string, func()) {
		name, done, err := Reach(path)
		if err != nil {
			t.Fatal(err)
		}
		return name, done
	}
	name, done := reach()
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Net: "unixpacket", Name: name})
	if done(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
	name, done = reach()
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Net: "unixpacket", Name: name})
	if done(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	raw, _ := conn.SyscallConn()
	_ = raw.Control(func(fd uintptr) {
		if who, err := PeerOf(int(fd)); err != nil || int(who.Pid) != os.Getpid() {
			t.Errorf("%+v, %v", who, err)
		}
	})
	if name, done, err := Reach("/run/x"); err != nil || name != "/run/x" {
		t.Error(name, err)
	} else {
		done()
	}
	if _, _, err := Reach("/" + strings.Repeat("x", 120)); err == nil {
		t.Error("a name of 120 bytes fits into a socket's address")
	}
}

// A socket at which another user listens is not talked to.
func TestPeer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	listener := `import os, socket, sys
os.setuid(65534)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("\0" + sys.argv[1]); s.listen(); print(flush=True); s.accept(); sys.stdin.read()`
	name := filepath.Base(place(t))
	other := exec.Command("python3", "-c", listener, name)
	out, _ := other.StdoutPipe()
	in, _ := other.StdinPipe()
	if err := other.Start(); err != nil {
		t.Skip("no python3 here: ", err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = other.Process.Kill(); _ = other.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Net: "unixpacket", Name: "@" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	raw, _ := conn.SyscallConn()
	_ = raw.Control(func(fd uintptr) {
		if _, err := PeerOf(int(fd)); err == nil || !strings.Contains(err.Error(), "user 65534") {
			t.Error(err)
		}
	})
}
