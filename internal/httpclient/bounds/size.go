package bounds

import (
	"reflect"
	"time"
)

// mapEntry is about what a map takes for each entry beside key and value, in bytes, with the room that it keeps free.
const mapEntry = 32

// Size is about what a decoded object takes in memory, in bytes.
func Size[T any](object *T) int {
	value := reflect.ValueOf(object).Elem()
	return int(value.Type().Size()) + behind(value)
}

// behind is what a value takes beside itself.
func behind(v reflect.Value) (bytes int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0 // its zone is shared
		}
		for i := range v.NumField() {
			bytes += behind(v.Field(i))
		}
	case reflect.Slice:
		bytes = v.Cap() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			bytes += behind(v.Index(i))
		}
	case reflect.Map:
		bytes = v.Len() * (mapEntry + int(v.Type().Key().Size()+v.Type().Elem().Size()))
		for entries := v.MapRange(); entries.Next(); {
			bytes += behind(entries.Key()) + behind(entries.Value())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			bytes = int(v.Elem().Type().Size()) + behind(v.Elem())
		}
	}
	return bytes
}
