package private

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CheckPath follows a path from the root, including links, and returns it with all links
// resolved. The error names the first folder on the path that other users can write.
func CheckPath(path string) (real string, err error) { return check(path, os.Geteuid()) }

// maxLinks is the number of links after which the kernel gives up, too.
const maxLinks = 40

// check is CheckPath for a user.
func check(path string, uid int) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q is not an absolute path", path)
	}
	if err := alone("/", uid); err != nil {
		return "", err
	}
	at, links := "/", 0
	for ahead := strings.Split(path, "/"); len(ahead) > 0; {
		name := ahead[0]
		ahead = ahead[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(at, name)
		if to, err := os.Readlink(next); err == nil && name != ".." {
			if links++; links > maxLinks {
				return "", fmt.Errorf("%s leads in a circle", path)
			}
			if filepath.IsAbs(to) {
				at = "/"
			}
			ahead = append(strings.Split(to, "/"), ahead...)
			continue
		}
		if err := alone(next, uid); err != nil {
			return "", err
		}
		at = next
	}
	return at, nil
}

// alone returns an error if users other than root and the given one can write a folder.
func alone(path string, uid int) error {
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return &os.PathError{Op: "look at", Path: path, Err: err}
	}
	switch {
	case s.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%s is not a folder", path)
	case s.Uid != 0 && int(s.Uid) != uid:
		return fmt.Errorf("%s belongs to user %d", path, s.Uid)
	case s.Mode&0o022 != 0:
		return fmt.Errorf("%s may be written by others (mode %04o)", path, s.Mode&0o7777)
	}
	return nil
}

// makeBelow is CheckPath for a folder below an existing one. It makes missing folders with mode
// 0700.
func makeBelow(base string, below ...string) (real string, err error) {
	if real, err = CheckPath(base); err != nil {
		return "", err
	}
	for _, name := range below {
		err := unix.Mkdir(filepath.Join(real, name), 0o700)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return "", &os.PathError{Op: "make", Path: filepath.Join(real, name), Err: err}
		}
		if real, err = CheckPath(filepath.Join(real, name)); err != nil {
			return "", err
		}
	}
	return real, nil
}

// Try calls use with the user's private places in order until it succeeds: the folder stoker
// below XDG_RUNTIME_DIR, below the user's cache, and below .cache in the home directory of the
// user's passwd entry. The error says why each failed and what to do.
func Try(use func(place string) error) error {
	var wrong []string
	for _, way := range ways() {
		place, err := makeBelow(way.base, way.below...)
		if err == nil {
			err = use(place)
		}
		if err == nil {
			return nil
		}
		if text := err.Error(); !slices.Contains(wrong, text) {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) == 0 {
		wrong = []string{"neither XDG_RUNTIME_DIR nor HOME names a folder"}
	}
	return fmt.Errorf("there is no folder that you alone can write: %s. Use chmod go-w on what is yours of these, or "+
		"set XDG_RUNTIME_DIR "+
		"to a folder of yours in which and above which others cannot write", strings.Join(wrong, "; "))
}

// way is a folder that must exist, and the folders that may be made below it.
type way struct {
	base  string
	below []string
}

// ways lists the candidates for a private place.
func ways() []way {
	var all []way
	if base := os.Getenv("XDG_RUNTIME_DIR"); base != "" {
		all = append(all, way{base, []string{"stoker"}})
	}
	if base := os.Getenv("XDG_CACHE_HOME"); base != "" {
		all = append(all, way{filepath.Dir(base), []string{filepath.Base(base), "stoker"}})
	}
	homes := []string{os.Getenv("HOME")}
	if entry, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil && entry.HomeDir != homes[0] {
		homes = append(homes, entry.HomeDir)
	}
	for _, home := range homes {
		if home != "" {
			all = append(all, way{home, []string{".cache", "stoker"}})
		}
	}
	return all
}

// PeerOf returns the process at the other end of a unix socket, and an error if another user
// owns it. It is the process that listened or connected, even if another process holds the
// socket now.
func PeerOf(socket int) (*unix.Ucred, error) {
	who, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return nil, fmt.Errorf("ask who is at the other end: %w", err)
	}
	if int(who.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("user %d is at the other end, not user %d", who.Uid, os.Geteuid())
	}
	return who, nil
}

// maxSocketPath is the size of sun_path in sockaddr_un without its terminating zero.
const maxSocketPath = 107

// Reach returns a name for the path of a socket that is short enough for bind and connect,
// valid until done is called. The name of a long path goes through a descriptor of its folder.
func Reach(path string) (name string, done func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	folder, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	name = fmt.Sprintf("/proc/self/fd/%d/%s", folder, filepath.Base(path))
	if len(name) > maxSocketPath {
		_ = unix.Close(folder)
		return "", nil, fmt.Errorf("%s is too long a name for a socket", filepath.Base(path))
	}
	return name, func() { _ = unix.Close(folder) }, nil
}
