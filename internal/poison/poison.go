// Package poison puts into the texts of a value what must never reach a terminal,
// and finds it again in what was printed. It is for tests.
//
// It reaches every text by reflection, fields that are not exported included, so
// that a field which somebody adds tomorrow is tried as well.
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

// Text is what a text from outside may hold: escape sequences of seven and of eight
// bits, a bell, text that runs backwards, ends of lines, a zero, a byte that is no
// UTF-8.
const Text = "\x1b]0;P\x07\x1b[31mP\u009b31mP\u202eP\u2066P\u2028P\x7fPx\nxP\x00P\xffP"

// Name is Text as far as a file's name may hold it.
const Name = "\x1b]0;P\x07\x1b[31mP\u009b31mP\u202eP\u2066P\u2028P\x7fPx\nxP\xffP"

// Paths are the places of a value at which there are texts: "Facts.GPUs[].Name".
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

// Into appends Text to the texts at a place of what a pointer points at, or at all
// places where the place is "". It says how many they were.
func Into(pointer any, at string) int {
	return changeTexts(pointer, at, func(text string) string { return text + Text })
}

// Out takes back what Into did.
func Out(pointer any, at string) int {
	return changeTexts(pointer, at, func(text string) string { return strings.TrimSuffix(text, Text) })
}

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

// colours are what our own pages may hold.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Leak says what of Text stands raw in a printed text; "" where nothing does.
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

func excerptAround(text string, at int) string {
	return fmt.Sprintf("%q", text[max(0, at-60):min(len(text), at+40)])
}

func addressable(value any) reflect.Value {
	v := reflect.New(reflect.TypeOf(value)).Elem()
	v.Set(reflect.ValueOf(value))
	return v
}

// visit calls f with every text that can be set.
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
				field = reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem() //nolint:gosec // a test reaches what is not exported
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

// visitMap puts keys and values in anew, as neither can be set where it lies.
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
