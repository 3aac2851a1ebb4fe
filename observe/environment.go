package observe

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Names that the hook and the emulated device read.
const (
	hookSocket   = "STOKER_HOOK_SOCKET"
	hookFolder   = "STOKER_HOOK_DIR"
	emulatedPage = "STOKER_EMULATED_PAGE"
	pythonPath   = "PYTHONPATH"
)

// commandEnvironment returns the command's environment: ours, without the hook of an outer
// observe, and with our own hook if there is one. An empty path leaves its variable out.
func commandEnvironment(ours []string, hook, socket, page string) (env []string, nested bool) {
	outer, path := "", ""
	for _, entry := range ours {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case hookFolder:
			outer, nested = value, true
		case hookSocket:
			nested = true
		case pythonPath:
			path = value
		case emulatedPage:
			if page == "" {
				env = append(env, entry)
			}
		default:
			env = append(env, entry)
		}
	}
	var folders []string
	if hook != "" {
		folders = append(folders, hook)
		env = append(env, hookSocket+"="+socket, hookFolder+"="+hook)
	}
	if path != "" { // an empty entry would put the working folder on the path
		for folder := range strings.SplitSeq(path, ":") {
			if outer == "" || folder != outer {
				folders = append(folders, folder)
			}
		}
	}
	if len(folders) > 0 {
		env = append(env, pythonPath+"="+strings.Join(folders, ":"))
	}
	if page != "" {
		env = append(env, emulatedPage+"="+page)
	}
	return env, nested
}

var python = regexp.MustCompile(`^(python|pypy)[0-9.]*$`)

// shutOut finds the flag by which some Python in a command line ignores
// PYTHONPATH or does not import site, and so the hook; "" without one.
// -I implies -E and -s.
func shutOut(command []string) string {
	for i, argument := range command {
		if !python.MatchString(filepath.Base(argument)) {
			continue
		}
		for j := i + 1; j < len(command); j++ {
			flag := command[j]
			if len(flag) < 2 || flag[0] != '-' || flag[1] == '-' {
				break
			}
			letters := flag[1:]
			if at := strings.IndexAny(letters, "cmWX"); at >= 0 { // what follows is its argument
				takesNext := at == len(letters)-1
				ends := letters[at] == 'c' || letters[at] == 'm'
				letters = letters[:at]
				if takesNext && !ends {
					j++
				}
				if ends {
					j = len(command)
				}
			}
			if at := strings.IndexAny(letters, "IES"); at >= 0 {
				return "-" + letters[at:at+1]
			}
		}
	}
	return ""
}
