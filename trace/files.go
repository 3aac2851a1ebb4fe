package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ending are the names that profilers and people give to traces.
var endings = []string{".json", ".json.gz", ".json.zst", ".json.zstd", xplanes, xplanes + ".gz", xplanes + ".zst"}

// How files end that are not read from front to back.
const (
	xplanes   = ".xplane.pb" // profiles of XLA: TensorFlow's and JAX's
	databases = ".sqlite"    // exports of Nsight Systems
)

// stdin is how standard input is named.
const stdin = "-"

// expand replaces folders by the traces in them.
func expand(paths []string) (files, notes []string, err error) {
	if len(paths) == 0 {
		return nil, nil,
			&malformedError{"traces", -1, "no file was named", "give a trace, or a folder with one trace per rank"}
	}
	for _, path := range paths {
		if path == stdin {
			files = append(files, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read trace: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		path, said, err := newestProfile(path)
		if err != nil {
			return nil, nil, err
		}
		notes = append(notes, said...)
		found, others, err := listFolder(path)
		if err != nil {
			return nil, nil, err
		}
		if others > 0 {
			notes = append(notes, fmt.Sprintf("%s left alone in %s.", otherFiles(others, " was", " were"), path))
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	if n := len(files); n != len(slices.Compact(slices.Clone(files))) {
		return nil, nil, &mixedError{files, "the same file is named twice", "name each file once"}
	}
	return files, notes, nil
}

// newestProfile finds the newest run below the folder that TensorBoard is given,
// which holds plugins/profile/RUN/HOST.xplane.pb; another folder stays as it is.
// Runs are named by their date.
func newestProfile(path string) (newest string, said []string, err error) {
	runs := filepath.Join(path, "plugins", "profile")
	entries, err := os.ReadDir(runs)
	if err != nil {
		return path, nil, nil //nolint:nilerr // no folder of TensorBoard's
	}
	n := 0
	for _, e := range entries {
		if e.IsDir() {
			newest = e.Name() // in order of names
			n++
		}
	}
	if n == 0 {
		return path, nil, nil
	}
	if n > 1 {
		said = []string{fmt.Sprintf("%s holds %d profiles: the newest was read, %s.", runs, n, newest)}
	}
	return filepath.Join(runs, newest), said, nil
}

// listFolder lists the traces that lie in a folder, else those that lie in its folders, such as one
// for each rank. It also counts the other files.
func listFolder(path string) (found []string, others int, err error) {
	names, folders, err := listNames(path)
	if err != nil {
		return nil, 0, err
	}
	found, others = chooseTraces(names)
	for _, folder := range folders {
		if len(found) > 0 && len(names) > 0 {
			break
		}
		inner, _, err := listNames(folder)
		if err != nil {
			continue
		}
		more, rest := chooseTraces(inner)
		found, others = append(found, more...), others+rest
	}
	if len(found) == 0 {
		if err := foreignFolder(path, names); err != nil {
			return nil, 0, err
		}
		return nil, 0, &malformedError{
			path, -1,
			fmt.Sprintf("the folder holds no trace (%s), expected *.json, *.json.gz, *.json.zst or *.sqlite",
				otherFiles(others, "", "")),
			"name the folder that tensorboard_trace_handler or export_chrome_trace wrote to",
		}
	}
	return found, others, nil
}

// foreignFolder says of a folder without traces what files another program wrote into it.
func foreignFolder(path string, names []string) error {
	for _, e := range extensions {
		if slices.ContainsFunc(names, func(name string) bool { return hasEnding(name, e.suffix) }) {
			return &unsupportedError{path, "a folder with " + e.format, e.hint}
		}
	}
	return nil
}

// listNames lists the files and the folders of a folder.
func listNames(path string) (files, folders []string, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read trace: %w", err)
	}
	for _, e := range entries {
		if name := filepath.Join(path, e.Name()); e.IsDir() {
			folders = append(folders, name)
		} else {
			files = append(files, name)
		}
	}
	return files, folders, nil
}

// chooseTraces picks the traces out of the files of a folder or archive, and counts the others.
// Nsight's databases count only if the folder holds no other kind of trace.
func chooseTraces(names []string) (found []string, others int) {
	var exports []string
	for _, name := range names {
		switch {
		case isAppleDouble(name):
			others++
		case isTrace(name):
			found = append(found, name)
		case hasEnding(name, databases):
			exports = append(exports, name)
		default:
			others++
		}
	}
	if len(found) == 0 {
		return exports, others
	}
	others += len(exports)
	// XLA's profiler writes the same a second time as Chrome JSON, cut to a million
	// events.
	if planes := slices.DeleteFunc(slices.Clone(found),
		func(f string) bool { return !hasEnding(f, xplanes) }); len(planes) > 0 {
		others += len(found) - len(planes)
		found = planes
	}
	return found, others
}

// isAppleDouble reports whether a file holds what macOS keeps of another one: it has that one's
// name after "._".
func isAppleDouble(name string) bool { return strings.HasPrefix(filepath.Base(name), "._") }

func otherFiles(n int, one, many string) string {
	if n == 1 {
		return "1 other file" + one
	}
	return fmt.Sprintf("%d other files%s", n, many)
}

func isTrace(name string) bool {
	name = strings.ToLower(name)
	for _, e := range endings {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return false
}

// hasEnding reports whether a file's name ends so, what packing adds left out.
func hasEnding(file, ending string) bool {
	name := strings.ToLower(file)
	for _, packed := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, packed)
	}
	return strings.HasSuffix(name, ending)
}
