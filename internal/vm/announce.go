package vm

import (
	"context"
	"slices"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// announce writes the volumes that an update is about to make into the mark
// that is there, as doomed ones. The update's own mark takes them over; if it is
// cut short and never asked for again, the next one deletes them.
func (u *update) announce(ctx context.Context) error {
	if u.have.Mark == nil {
		return nil // its definition names them first
	}
	mark := *u.have.Mark
	mark.Disks = slices.Clone(mark.Disks)
	for _, d := range u.mark.Disks {
		same := func(h owner.Disk) bool { return h.Pool == d.Pool && h.Volume == d.Volume }
		if d.Created && d.Volume != "" && !slices.ContainsFunc(mark.Disks, same) {
			d.Doomed, d.Target = true, ""
			mark.Disks = append(mark.Disks, d)
		}
	}
	if len(mark.Disks) == len(u.have.Mark.Disks) {
		return nil
	}
	return u.m.writeMark(ctx, u.uuid, &mark)
}
