package safe

import "reflect"

// Values makes every text fit for a terminal, as Text does, in what pointers point
// at, however deep it lies. What has such a text is replaced by a copy: nothing that
// somebody else holds changes, and what is fit already costs a look.
//
// This is the door of whoever shows values to people: behind it a text is a text,
// and no field has to be remembered. Fields that are not exported are not seen.
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
	done  map[visited]reflect.Value // the zero Value: unchanged, or still at it
}

type visited struct {
	to   uintptr
	kind reflect.Type
}

// kind is what is known of a type.
type kind struct {
	holds  bool  // its values may hold a text
	fields []int // of a struct: which of them may
}

// value is a value with clean texts, and whether it is another one than v.
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

// kindOf says whether values of a type may hold a text: columns of numbers are not
// looked at.
func (c *cleaner) kindOf(t reflect.Type) *kind {
	if known, seen := c.kinds[t]; seen {
		return known
	}
	if c.kinds == nil {
		c.kinds = map[reflect.Type]*kind{}
	}
	k := &kind{holds: true} // of a type that holds itself, until more is known
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
