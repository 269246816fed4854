// Package printable makes texts of tenants' servers and objects harmless for an operator's terminal.
package printable

import (
	"strings"
	"unicode"
)

// Text is the text as a part of one line, without control characters.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
