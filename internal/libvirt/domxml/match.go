package domxml

// Match names the devices of a domain that has no mark by a declaration: NICs
// by MAC first, then the rest in order; disks by target, where the declaration
// knows it, then the rest in order. have was read with empty Names.
func Match(nics []NIC, disks []Disk, have Spec) Names {
	n := Names{NIC: map[string]string{}, Disk: map[string]string{}}
	matchIDs(n.NIC, nicIDs(nics), nicIDs(have.NICs))
	matchIDs(n.Disk, diskIDs(disks), diskIDs(have.Disks))
	return n
}

// device is a declared or present device: id is its MAC or target.
type device struct{ name, id string }

func matchIDs(names map[string]string, want, have []device) {
	matched := map[string]bool{} // declared names that have found theirs
	for _, w := range want {
		for _, h := range have {
			if w.id != "" && w.id == h.id {
				names[h.id], matched[w.name] = w.name, true
			}
		}
	}
	i := 0
	for _, h := range have {
		if _, taken := names[h.id]; taken {
			continue
		}
		for i < len(want) && (matched[want[i].name] || want[i].id != "") {
			i++
		}
		if i == len(want) {
			return
		}
		names[h.id] = want[i].name
		i++
	}
}

func nicIDs(nics []NIC) []device {
	out := make([]device, len(nics))
	for i, n := range nics {
		out[i] = device{n.Name, n.MAC}
	}
	return out
}

func diskIDs(disks []Disk) []device {
	out := make([]device, len(disks))
	for i, d := range disks {
		out[i] = device{d.Name, d.Target}
	}
	return out
}
