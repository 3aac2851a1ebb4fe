// Package poison puts characters that must never reach a terminal into the texts of a value,
// and finds them in printed output. It is for tests.
//
// It reaches every text by reflection, including unexported fields, so that fields added later
// are tested as well.
package poison

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// Text holds what a text from outside may contain: 7-bit and 8-bit escape sequences, a bell,
// bidirectional overrides, line separators, a zero byte, and invalid UTF-8.
const Text = "\x1b]0;P\x07\x1b[31mP\u009b31mP\u202eP\u2066P\u2028P\x7fPx\nxP\x00P\xffP"

// Name is Text without the characters that a file name cannot contain.
const Name = "\x1b]0;P\x07\x1b[31mP\u009b31mP\u202eP\u2066P\u2028P\x7fPx\nxP\xffP"

// Paths lists the places of a value that hold texts: "Facts.GPUs[].Name".
func Paths(value any) []string {
	seen := map[string]bool{}
	visit(addressable(value), "", func(path string, text reflect.Value) { seen[path] = true })
	var paths []string
	for path := range seen {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// Into appends Text to the texts at a place of the value that a pointer points to; "" means all
// places. It returns the number of texts changed.
func Into(pointer any, at string) int {
	return changeTexts(pointer, at, func(text string) string { return text + Text })
}

// Out undoes Into.
func Out(pointer any, at string) int {
	return changeTexts(pointer, at, func(text string) string { return strings.TrimSuffix(text, Text) })
}

// changeTexts replaces the texts at a place and returns their number.
func changeTexts(pointer any, at string, to func(string) string) int {
	n := 0
	visit(reflect.ValueOf(pointer).Elem(), "", func(path string, text reflect.Value) {
		if at == "" || at == path {
			text.SetString(to(text.String()))
			n++
		}
	})
	return n
}

// colours matches the escape sequences that Stoker's own pages use.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Leak returns an excerpt around an unescaped character of Text in a printed text; "" if it has
// none.
func Leak(printed string) string {
	for _, raw := range []string{"Px\nxP", "\x1b[31mP"} {
		if strings.Contains(printed, raw) {
			return excerptAround(printed, strings.Index(printed, raw))
		}
	}
	bare := colours.ReplaceAllString(printed, "")
	for i := 0; i < len(bare); {
		r, size := utf8.DecodeRuneInString(bare[i:])
		odd := r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
		if odd || r == utf8.RuneError && size == 1 {
			return excerptAround(bare, i)
		}
		i += size
	}
	return ""
}

// excerptAround quotes the text around a position.
func excerptAround(text string, at int) string {
	return fmt.Sprintf("%q", text[max(0, at-60):min(len(text), at+40)])
}

// addressable copies a value into a settable variable.
func addressable(value any) reflect.Value {
	v := reflect.New(reflect.TypeOf(value)).Elem()
	v.Set(reflect.ValueOf(value))
	return v
}

// visit calls f with every text, as a settable value.
func visit(v reflect.Value, path string, f func(string, reflect.Value)) {
	switch v.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		f(path, v)
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Elem(), path, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			if !field.CanSet() {
				field = reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem() //nolint:gosec // a test reaches unexported fields
			}
			visit(field, path+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			visit(v.Index(i), path+"[]", f)
		}
	case reflect.Map:
		visitMap(v, path, f)
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		visit(inner, path, f)
		v.Set(inner)
	}
}

// visitMap replaces keys and values, because neither is settable in a map.
func visitMap(v reflect.Value, path string, f func(string, reflect.Value)) {
	for _, old := range v.MapKeys() {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(old)
		value.Set(v.MapIndex(old))
		visit(key, path+"{key}", f)
		visit(value, path+"{}", f)
		v.SetMapIndex(old, reflect.Value{})
		v.SetMapIndex(key, value)
	}
}
