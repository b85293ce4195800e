package vm

import (
	"context"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

const (
	pollEvery   = 500 * time.Millisecond // of a local daemon: one small RPC
	pressEvery  = 15 * time.Second       // the power button again: a booting guest ignores it
	forceWithin = 30 * time.Second       // for QEMU to end once it is killed
)

// start makes the machine run. A paused machine is resumed. A managed save
// image is resumed too, as libvirt does: throwing a guest's memory away is
// never implied.
func (m *Manager) start(ctx context.Context, uuid, name string) error {
	state, _, err := m.host.DomainState(ctx, uuid)
	if err != nil {
		return err
	}
	switch string(state) {
	case "running", "blocked":
		return nil
	case "paused", "pmsuspended":
		m.log.InfoContext(ctx, "vm: resume", "vm", name)
		return m.host.ResumeDomain(ctx, uuid)
	}
	m.log.InfoContext(ctx, "vm: start", "vm", name)
	err = m.host.StartDomain(ctx, uuid, libvirt.StartOptions{})
	if err == nil {
		return nil
	}
	if state, _, serr := m.host.DomainState(ctx, uuid); serr == nil && string(state) == "running" {
		return nil // started after all: the reply was lost, or somebody was quicker
	}
	return err
}

// stop shuts the machine down: first by the power button and the guest agent,
// for as long as grace says, then by force. A machine that is off stays off.
func (m *Manager) stop(ctx context.Context, uuid, name string, grace time.Duration) error {
	state, _, err := m.host.DomainState(ctx, uuid)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !running(string(state)) {
		return nil
	}
	if grace > 0 && string(state) != "paused" {
		down, err := m.shutDown(ctx, uuid, name, grace)
		if down || err != nil {
			return err
		}
	}
	m.log.InfoContext(ctx, "vm: forced off", "vm", name, "graceful_limit", grace)
	if grace > 0 {
		note(ctx, "The guest did not shut down within %s of being asked, so it was forced off.", grace)
	}
	if err := m.host.DestroyDomain(ctx, uuid); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return m.awaitOff(ctx, uuid, forceWithin)
}

// shutDown asks the guest and reports whether it went down in time.
func (m *Manager) shutDown(ctx context.Context, uuid, name string, grace time.Duration) (bool, error) {
	m.log.InfoContext(ctx, "vm: graceful shutdown", "vm", name, "limit", grace)
	limit := time.NewTimer(grace)
	defer limit.Stop()
	press := time.NewTicker(pressEvery)
	defer press.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	ask := func() {
		if err := m.host.ShutdownDomain(ctx, uuid); err != nil {
			m.log.InfoContext(ctx, "vm: shutdown request refused", "vm", name, "error", err)
		}
	}
	ask()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-limit.C:
			return false, nil
		case <-press.C:
			ask()
		case <-poll.C:
			state, _, err := m.host.DomainState(ctx, uuid)
			if fault.Is(err, fault.NotFound) || err == nil && !running(string(state)) {
				return true, nil
			}
			if err != nil && !fault.KindOf(err).Retryable() {
				return false, err
			}
		}
	}
}

func (m *Manager) awaitOff(ctx context.Context, uuid string, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fault.New(fault.Unavailable, "libvirt: force off domain", uuid,
		"still running %s after it was killed", limit))
	defer cancel()
	for {
		state, _, err := m.host.DomainState(ctx, uuid)
		if fault.Is(err, fault.NotFound) || err == nil && !running(string(state)) {
			return nil
		}
		if err != nil && !fault.KindOf(err).Retryable() {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// restart power-cycles the machine so that it runs from its persistent
// definition, one at a time per host, and waits until it is ready again.
func (m *Manager) restart(ctx context.Context, uuid string, r Request) error {
	select {
	case m.restarts <- struct{}{}:
		defer func() { <-m.restarts }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := m.stop(ctx, uuid, r.Spec.Name, r.Shutdown); err != nil {
		return err
	}
	if err := m.start(ctx, uuid, r.Spec.Name); err != nil {
		return err
	}
	return m.awaitReady(ctx, uuid, r.Spec, r.Ready, nil)
}
