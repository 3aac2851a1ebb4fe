package report

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// placePattern matches a line of a program with its surroundings: folders, file and line,
// function.
var placePattern = regexp.MustCompile(`^(.*?)([^/\\ ]+\.\w{1,5}(?::\d+|\(\d+\)))(.*)$`)

// pathPattern matches a path without a line.
var pathPattern = regexp.MustCompile(`^(\S*/)([^/\s]+)()$`)

// ShortenPlace shortens a path, or a line of a program, to a number of characters but keeps
// file and line: it drops first the leading folders, then the end of the function. It cuts
// other text at its end.
func ShortenPlace(text string, most int) string {
	m := placePattern.FindStringSubmatch(text)
	if m == nil {
		m = pathPattern.FindStringSubmatch(text)
	}
	if utf8.RuneCountInString(text) <= most || m == nil {
		return Shorten(text, most)
	}
	folders, kept, function := m[1], m[2], m[3]
	room := max(0, most-utf8.RuneCountInString(kept))
	switch n := utf8.RuneCountInString(function); {
	case n > room && room < 2:
		function = ""
	case n > room:
		function = Shorten(function, room-1)
	}
	return shortenFolders(folders, room-utf8.RuneCountInString(function)) + kept + function
}

// shortenFolders keeps the last folders that fit.
func shortenFolders(folders string, room int) string {
	if utf8.RuneCountInString(folders) <= room {
		return folders
	}
	for {
		_, rest, more := strings.Cut(folders, "/")
		if !more || rest == "" {
			return ""
		}
		if folders = rest; utf8.RuneCountInString(folders)+2 <= room {
			return "…/" + folders
		}
	}
}
