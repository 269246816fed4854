package inventory

// kept is what is known with the credentials of a namespace.
type kept[C Login, T any] struct {
	bytes   int
	largest *shelf[C, T]
	most    int // bytes of the largest
}

// trim drops what is known beyond what may be kept, of the namespace that has most. So one that fills up its sites doesn't
// affect others, and an item that was dropped is read by its ID.
func (v *Inventory[C, T]) trim() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		total, most := 0, &kept[C, T]{}
		namespaces := map[string]*kept[C, T]{}
		for _, s := range v.shelves {
			s.mu.Lock()
			namespace, bytes := s.api.Namespace(), s.bytes
			s.mu.Unlock()
			k := namespaces[namespace]
			if k == nil {
				k = &kept[C, T]{}
				namespaces[namespace] = k
			}
			total += bytes
			k.bytes += bytes
			if bytes > k.most {
				k.largest, k.most = s, bytes
			}
			if k.bytes > most.bytes {
				most = k
			}
		}
		if total <= v.Keep {
			return
		}
		most.largest.cut()
	}
}
