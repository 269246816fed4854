package inventory

// Kept is how many bytes all shelves take.
func (v *Inventory[C, T]) Kept() (bytes int) {
	for _, s := range v.inUse() {
		bytes += s.bytes
	}
	return bytes
}

// Shelves is how many there are.
func (v *Inventory[C, T]) Shelves() int { return len(v.inUse()) }
