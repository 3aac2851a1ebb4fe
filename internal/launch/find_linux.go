package launch

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Find resolves a command's name as a shell does.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) {
		return path, nil
	}
	cause := err
	var wrapped *exec.Error
	if errors.As(err, &wrapped) {
		cause = wrapped.Err
	}
	missing := errors.Is(cause, exec.ErrNotFound) || errors.Is(cause, fs.ErrNotExist)
	if missing && !strings.Contains(name, "/") {
		return "", &CommandError{NotFound: true, Err: fmt.Errorf("run %s: there is no such command in PATH", name)}
	}
	return "", &CommandError{NotFound: missing, Err: fmt.Errorf("run %s: %w", name, cause)}
}

// error turns the error of a failed start into one that names the file at fault; nil stays nil.
func (c Command) error(err error) error {
	var wrapped *fs.PathError
	if err == nil {
		return nil
	} else if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	missing, shut := errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES) && unix.Access(c.file(), unix.X_OK) == nil
	if missing || shut {
		if by := c.interpreter(); by != "" {
			return &CommandError{missing, by, fmt.Errorf("run %s: its interpreter %q: %w", c.Words[0], by, err)}
		}
	}
	return &CommandError{NotFound: missing, Err: fmt.Errorf("run %s: %w", c.Words[0], err)}
}

// file returns the path of the command's program relative to the current directory.
func (c Command) file() string {
	if c.Dir != "" && !filepath.IsAbs(c.Path) {
		return filepath.Join(c.Dir, c.Path)
	}
	return c.Path
}

// open opens the program if it is a regular file.
func (c Command) open() (*os.File, error) {
	file, err := os.OpenFile(c.file(), os.O_RDONLY|unix.O_NONBLOCK, 0) // does not block if the file is a pipe
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fs.ErrInvalid, file.Close())
	}
	return file, nil
}

// firstLine returns as much of the program's first line as the kernel reads.
func (c Command) firstLine() []byte {
	file, err := c.open()
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	line, _ := bufio.NewReaderSize(file, 256).ReadSlice('\n')
	return line
}

// interpreter returns the program that the kernel runs for this one: the one named in a
// script's first line, or the dynamic loader of a binary. "" if it names none.
func (c Command) interpreter() string {
	if line, script := bytes.CutPrefix(c.firstLine(), []byte("#!")); script {
		words := strings.FieldsFunc(string(line), func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
		if len(words) == 0 {
			return ""
		}
		return words[0]
	}
	file, err := c.open()
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	program, err := elf.NewFile(file)
	if err != nil {
		return ""
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			name, _ := io.ReadAll(io.LimitReader(part.Open(), 4096))
			return strings.TrimRight(string(name), "\x00")
		}
	}
	return ""
}
