package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ending are the names that PyTorch's profiler and people give to traces.
var endings = []string{".json", ".json.gz", ".json.zst", ".json.zstd"}

// expand replaces folders by the traces in them.
func expand(paths []string) (files, notes []string, err error) {
	if len(paths) == 0 {
		return nil, nil, &MalformedError{"traces", -1, "no file was named", "give a trace, or a folder with one trace per rank"}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read trace: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, others, err := folder(path)
		if err != nil {
			return nil, nil, err
		}
		if others > 0 {
			notes = append(notes, fmt.Sprintf("%d other files in %s were left alone.", others, path))
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	if n := len(files); n != len(slices.Compact(slices.Clone(files))) {
		return nil, nil, &MixedError{files, "the same file is named twice", "name each file once"}
	}
	return files, notes, nil
}

// folder lists the traces that lie in a folder, and counts what else does.
func folder(path string) (found []string, others int, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read trace: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if isTrace(e.Name()) {
			found = append(found, filepath.Join(path, e.Name()))
		} else {
			others++
		}
	}
	if len(found) == 0 {
		return nil, 0, &MalformedError{path, -1, fmt.Sprintf("the folder holds no trace (%d other files), expected *.json, *.json.gz or *.json.zst", others), "name the folder that tensorboard_trace_handler or export_chrome_trace wrote to"}
	}
	return found, others, nil
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
