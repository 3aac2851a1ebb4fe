package safe

import "reflect"

// Values applies Text to every text in the values that pointers point to, at any depth. It
// replaces parts that contain an unsafe text with copies, so that values shared with others do
// not change. Safe values are only read.
//
// Callers that show values to people call it once, so that no field is forgotten. It ignores
// unexported fields.
func Values(pointers ...any) {
	c := cleaner{}
	for _, p := range pointers {
		v := reflect.ValueOf(p).Elem()
		if clean, changed := c.value(v); changed {
			v.Set(clean)
		}
	}
}

// cleaner remembers which types hold texts, and which pointers it has followed.
type cleaner struct {
	kinds map[reflect.Type]*kind
	done  map[visited]reflect.Value // the zero Value: unchanged, or in progress
}

// visited identifies a pointer by address and type.
type visited struct {
	to   uintptr
	kind reflect.Type
}

// kind describes a type.
type kind struct {
	holds  bool  // its values may hold a text
	fields []int // fields of a struct that may hold one
}

// value returns a value with safe texts, and whether it differs from v.
func (c *cleaner) value(v reflect.Value) (clean reflect.Value, changed bool) {
	if !v.IsValid() || !c.kindOf(v.Type()).holds {
		return v, false
	}
	switch v.Kind() { //nolint:exhaustive // no other kind holds a text
	case reflect.String:
		if text := Text(v.String(), 0); text != v.String() {
			clean := reflect.New(v.Type()).Elem()
			clean.SetString(text)
			return clean, true
		}
	case reflect.Pointer:
		return c.pointer(v)
	case reflect.Interface:
		if inner, changed := c.value(v.Elem()); changed {
			clean := reflect.New(v.Type()).Elem()
			clean.Set(inner)
			return clean, true
		}
	case reflect.Struct:
		return c.structure(v)
	case reflect.Slice, reflect.Array:
		return c.list(v)
	case reflect.Map:
		return c.cleanTable(v)
	}
	return v, false
}

// pointer is value for a pointer.
func (c *cleaner) pointer(v reflect.Value) (clean reflect.Value, changed bool) {
	if v.IsNil() {
		return v, false
	}
	key := visited{v.Pointer(), v.Type()}
	if known, seen := c.done[key]; seen {
		if known.IsValid() {
			return known, true
		}
		return v, false
	}
	if c.done == nil {
		c.done = map[visited]reflect.Value{}
	}
	c.done[key] = reflect.Value{}
	inner, changed := c.value(v.Elem())
	if !changed {
		return v, false
	}
	clean = reflect.New(v.Type().Elem())
	clean.Elem().Set(inner)
	c.done[key] = clean
	return clean, true
}

// structure is value for a struct.
func (c *cleaner) structure(v reflect.Value) (clean reflect.Value, changed bool) {
	for _, i := range c.kindOf(v.Type()).fields {
		field, other := c.value(v.Field(i))
		if !other {
			continue
		}
		if !changed {
			clean, changed = reflect.New(v.Type()).Elem(), true
			clean.Set(v)
		}
		clean.Field(i).Set(field)
	}
	return clean, changed
}

// list is value for a slice or an array.
func (c *cleaner) list(v reflect.Value) (clean reflect.Value, changed bool) {
	for i := range v.Len() {
		item, other := c.value(v.Index(i))
		if !other {
			continue
		}
		if !changed {
			clean, changed = reflect.New(v.Type()).Elem(), true
			if v.Kind() == reflect.Slice {
				clean.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			}
			reflect.Copy(clean, v)
		}
		clean.Index(i).Set(item)
	}
	return clean, changed
}

// cleanTable is value for a map.
func (c *cleaner) cleanTable(v reflect.Value) (clean reflect.Value, changed bool) {
	clean = reflect.MakeMapWithSize(v.Type(), v.Len())
	for _, key := range v.MapKeys() {
		k, otherKey := c.value(key)
		item, other := c.value(v.MapIndex(key))
		changed = changed || otherKey || other
		clean.SetMapIndex(k, item)
	}
	return clean, changed
}

// kindOf returns whether values of a type may hold a text, so that columns of numbers are
// skipped.
func (c *cleaner) kindOf(t reflect.Type) *kind {
	if known, seen := c.kinds[t]; seen {
		return known
	}
	if c.kinds == nil {
		c.kinds = map[reflect.Type]*kind{}
	}
	k := &kind{holds: true} // assumed for a recursive type until more is known
	c.kinds[t] = k
	switch t.Kind() {
	case reflect.String, reflect.Interface:
	case reflect.Pointer, reflect.Slice, reflect.Array:
		k.holds = c.kindOf(t.Elem()).holds
	case reflect.Map:
		key, item := c.kindOf(t.Key()), c.kindOf(t.Elem())
		k.holds = key.holds || item.holds
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() && c.kindOf(t.Field(i).Type).holds {
				k.fields = append(k.fields, i)
			}
		}
		k.holds = len(k.fields) > 0
	default:
		k.holds = false
	}
	return k
}
