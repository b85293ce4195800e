package sweep

import (
	"errors"
	"fmt"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
)

// engine runs terraform's commands for one resource, and keeps its state. arm
// is called at the moment from which calls count; nil: never.
type engine interface {
	apply(config tfcore.Values, arm func()) error
	destroy(arm func()) error
	// settled fails unless a plan is empty, now or at the next command.
	settled(config tfcore.Values) error
}

// protocol drives the provider protocol, each step in a process of its own.
type protocol struct {
	tb       testing.TB
	provider tfcore.Values
	resource string
	object   *tfcore.Object
	checked  tfcore.Values // a configuration whose plan has to be empty
}

func (p *protocol) request(step string, config tfcore.Values) request {
	r := request{Step: step, Provider: p.provider, Type: p.resource, Config: config, Object: p.object, Settled: p.checked}
	p.checked = nil
	return r
}

func (p *protocol) apply(config tfcore.Values, arm func()) error {
	if arm == nil {
		return p.keep(run(p.tb, p.request(stepConverge, config)))
	}
	change, err := p.plan(config)
	if err != nil {
		return err
	}
	return p.carryOut(change, arm)
}

// plan refreshes and plans. No call of it counts.
func (p *protocol) plan(config tfcore.Values) (*tfcore.Change, error) {
	planned, err := run(p.tb, p.request(stepPlan, config))
	if err = errors.Join(err, planned.err()); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p.object = planned.Object
	return planned.Change, nil
}

func (p *protocol) destroy(arm func()) error {
	if arm == nil {
		return p.keep(run(p.tb, p.request(stepConverge, nil)))
	}
	change, err := p.plan(nil)
	if err != nil {
		return err
	}
	return p.carryOut(change, arm)
}

func (p *protocol) carryOut(change *tfcore.Change, arm func()) error {
	arm()
	r := p.request(stepApply, nil)
	r.Change = change
	return p.keep(run(p.tb, r))
}

// keep takes over the state of a step. One that was killed has told nothing:
// Terraform keeps what it had.
func (p *protocol) keep(resp response, err error) error {
	if err != nil {
		return err
	}
	p.object = resp.Object
	return resp.err()
}

// settled leaves the plan to the process of the next command.
func (p *protocol) settled(config tfcore.Values) error {
	p.checked = config
	return nil
}

// terraform drives the real one.
type terraform struct {
	tb       testing.TB
	cli      *tfcli.CLI
	provider tfcore.Values
	resource string
}

func newTerraform(tb testing.TB, provider tfcore.Values, resource string) *terraform {
	return &terraform{tb: tb, cli: tfcli.New(tb, ""), provider: provider, resource: resource}
}

func (e *terraform) configure(config tfcore.Values) {
	e.cli.Configure(hcl(`provider "muster"`, e.provider) + hcl(fmt.Sprintf("resource %q \"it\"", e.resource), config))
}

func (e *terraform) apply(config tfcore.Values, arm func()) error {
	e.configure(config)
	if arm != nil {
		arm()
	}
	return failed(e.cli.Apply())
}

func (e *terraform) destroy(arm func()) error {
	if arm != nil {
		arm()
	}
	return failed(e.cli.Destroy())
}

func (e *terraform) settled(config tfcore.Values) error {
	e.configure(config)
	return failed(e.cli.Plan())
}

func failed(r *tfcli.Result) error {
	switch {
	case r.Code == 0:
		return nil
	case r.Says("Plugin did not respond"), r.Says("plugin exited"), r.Says("request was cancelled"):
		return fmt.Errorf("%w: %s", errKilled, r.Output)
	}
	return errors.New(r.Output)
}
