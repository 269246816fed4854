package patch

// Holds reports whether the content of an object has all that is wanted, so that applying it would change nothing. It may have more
// fields, such as defaults, but no longer lists.
func Holds(has, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, is := has.(map[string]any)
		if !is {
			return len(wanted) == 0 && has == nil
		}
		for name, value := range wanted {
			if !Holds(fields[name], value) {
				return false
			}
		}
		return true
	case []any:
		list, _ := has.([]any)
		if len(list) != len(wanted) {
			return false
		}
		for i := range wanted {
			if !Holds(list[i], wanted[i]) {
				return false
			}
		}
		return true
	default:
		return has == wanted
	}
}
