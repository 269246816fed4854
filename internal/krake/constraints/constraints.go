// Package constraints reads and checks Krake's constraints: what a user asks of the labels and the metrics of a cloud.
//
//	label   = KEY ("==" | "=" | "is" | "!=" | "is not") VALUE | KEY ("in" | "not in") "(" VALUE {"," VALUE} {","} ")"
//	metric  = NAME ("==" | "=" | "is" | "!=" | "is not" | greater | less) NUMBER
//	greater = ">" | "gt" | words "greater" | ">=" | "=>" | "gte"
//	less    = "<" | "lt" | words "less" | words "lesser" | "<=" | "=<" | "lte"
//	words x = ["is"] x "than" ["or" "equal" ["to"]]
package constraints

import (
	"slices"
	"strconv"
	"strings"
)

// Operator of a constraint, in one of its spellings.
type Operator string

// Operators.
const (
	Equal          Operator = "is"
	NotEqual       Operator = "is not"
	In             Operator = "in"
	NotIn          Operator = "not in"
	Greater        Operator = ">"
	GreaterOrEqual Operator = ">="
	Less           Operator = "<"
	LessOrEqual    Operator = "<="
)

// Label is a constraint on a label.
type Label struct {
	Key      string
	Operator Operator
	// Values is one, but for In and NotIn.
	Values []string
}

// Match says whether labels meet the constraint. Those without the label meet none.
func (l Label) Match(labels map[string]string) bool {
	value, there := labels[l.Key]
	wanted := l.Operator == Equal || l.Operator == In
	return there && slices.Contains(l.Values, value) == wanted
}

// String is the constraint in its shortest words.
func (l Label) String() string {
	values := strings.Join(l.Values, ", ")
	if l.Operator == In || l.Operator == NotIn {
		values = "(" + values + ")"
	}
	return l.Key + " " + string(l.Operator) + " " + values
}

// Metric is a constraint on the value of a metric.
type Metric struct {
	Name     string
	Operator Operator
	Value    float64
}

// Match says whether values of metrics, by their names, meet the constraint. Those without the metric meet none.
func (m Metric) Match(values map[string]float64) bool {
	value, there := values[m.Name]
	if !there {
		return false
	}
	switch m.Operator {
	case Equal:
		return value == m.Value
	case NotEqual:
		return value != m.Value
	case Greater:
		return value > m.Value
	case GreaterOrEqual:
		return value >= m.Value
	case Less:
		return value < m.Value
	case LessOrEqual:
		return value <= m.Value
	default:
		return false
	}
}

// String is the constraint in its shortest words.
func (m Metric) String() string {
	return m.Name + " " + string(m.Operator) + " " + strconv.FormatFloat(m.Value, 'g', -1, 64)
}
