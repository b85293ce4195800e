package libvirt

import (
	"fmt"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// params are libvirt's typed parameters by name.
type params map[string]any

func paramsOf(list []golibvirt.TypedParam) params {
	p := make(params, len(list))
	for _, t := range list {
		p[t.Field] = t.Value.I
	}
	return p
}

func (p params) integer(name string) (uint64, bool) {
	switch v := p[name].(type) {
	case int32:
		return uint64(v), true
	case uint32:
		return uint64(v), true
	case int64:
		return uint64(v), true
	case uint64:
		return v, true
	default:
		return 0, false
	}
}

func (p params) text(name string) string {
	s, _ := p[name].(string)
	return s
}

// disks reads block.count and block.N.*.
func (p params) disks() []DiskStat {
	n, _ := p.integer("block.count")
	var disks []DiskStat
	for i := range n {
		prefix := fmt.Sprintf("block.%d.", i)
		d := DiskStat{Target: p.text(prefix + "name"), Path: p.text(prefix + "path")}
		if d.Target == "" {
			continue
		}
		d.CapacityBytes, _ = p.integer(prefix + "capacity")
		disks = append(disks, d)
	}
	return disks
}
