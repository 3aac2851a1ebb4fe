package predict

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
)

// hardwareTable returns the built-in table with the user's rows added. They come from the named file, or
// from hardware.json in the configuration folder if it exists.
func hardwareTable(named string) (hardware.Table, error) {
	name := named
	if name == "" {
		folder := os.Getenv("XDG_CONFIG_HOME")
		if home, err := os.UserHomeDir(); folder == "" && err == nil {
			folder = filepath.Join(home, ".config")
		}
		if folder == "" {
			return hardware.Known, nil
		}
		name = filepath.Join(folder, "stoker", "hardware.json")
	}
	data, err := cli.ReadSmall(name)
	if errors.Is(err, os.ErrNotExist) && named == "" {
		return hardware.Known, nil
	}
	if err != nil {
		return hardware.Table{}, fmt.Errorf("read hardware rows: %w", err)
	}
	own, err := hardware.Parse(name, data)
	if err != nil {
		return hardware.Table{}, err
	}
	return hardware.Known.With(own), nil
}
