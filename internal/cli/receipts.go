package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/cli/draw"
	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

const receiptsUsage = "receipts [list | show ID] [-open] [-json] [-store LOCATION | -file FILE]"

type receiptsOptions struct {
	open, json  bool
	store, file string
}

func receiptsCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o receiptsOptions
	fs := flags("receipts", receiptsUsage, stderr)
	fs.BoolVar(&o.open, "open", false, "only what did not come to its end, the newest of each object")
	fs.BoolVar(&o.json, "json", false, "as JSON")
	fs.StringVar(&o.store, "store", "", storeUsage)
	fs.StringVar(&o.file, "file", "", "read this `file`, which run -receipts or the provider's progress block wrote, instead of a store")
	rest, err := parse(fs, args)
	if err != nil {
		return parseFailed(err)
	}
	switch {
	case len(rest) == 0, len(rest) == 1 && rest[0] == "list":
		err = listReceipts(ctx, o, stdout)
	case len(rest) == 2 && rest[0] == "show":
		err = showReceipt(ctx, o, rest[1], stdout)
	default:
		fs.Usage()
		return exitUsage
	}
	if err != nil {
		return failed(stderr, err)
	}
	return exitOK
}

// readReceipts returns the operations, the newest first.
func (o receiptsOptions) read(ctx context.Context) (all []store.Operation, err error) {
	if o.file != "" {
		return readFile(o.file)
	}
	db, err := openStore(ctx, o.store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Operations(ctx, store.Query{})
}

// readFile reads a file of events; how long an operation has been quiet goes
// by this machine's clock.
func readFile(path string) ([]store.Operation, error) {
	all, err := progress.ReadFile(path)
	for i := range all {
		all[i].Quiet = time.Since(all[i].Heartbeat)
	}
	slices.Reverse(all)
	return all, err
}

// openOnly keeps the newest operation of each object, if it is open.
func openOnly(all []store.Operation) (open []store.Operation) {
	seen := map[[3]string]bool{}
	for _, o := range all {
		object := [3]string{o.Type, o.Name, o.Host}
		if !seen[object] && progress.Open(o) {
			open = append(open, o)
		}
		seen[object] = true
	}
	return open
}

// receiptJSON adds what a reader would have to work out.
type receiptJSON struct {
	store.Operation
	State   progress.State `json:"state"`
	Seconds float64        `json:"seconds"`
}

func listReceipts(ctx context.Context, o receiptsOptions, stdout io.Writer) error {
	all, err := o.read(ctx)
	if err != nil {
		return err
	}
	if o.open {
		all = openOnly(all)
	}
	now := time.Now()
	if !o.json {
		if len(all) == 0 {
			_, err = fmt.Fprintln(stdout, "no receipts")
			return err
		}
		_, err = io.WriteString(stdout, draw.List(all, now))
		return err
	}
	records := make([]receiptJSON, len(all))
	for i, op := range all {
		records[i] = receiptJSON{op, progress.StateOf(op), progress.Took(op, now).Seconds()}
	}
	return writeJSON(stdout, records)
}

func showReceipt(ctx context.Context, o receiptsOptions, id string, stdout io.Writer) error {
	op, err := o.find(ctx, id)
	if err != nil {
		return err
	}
	now := time.Now()
	if o.json {
		return writeJSON(stdout, receiptJSON{op, progress.StateOf(op), progress.Took(op, now).Seconds()})
	}
	_, err = io.WriteString(stdout, draw.Receipt(op, now))
	return err
}

func (o receiptsOptions) find(ctx context.Context, id string) (op store.Operation, err error) {
	if o.file == "" {
		db, err := openStore(ctx, o.store)
		if err != nil {
			return op, err
		}
		defer func() { _ = db.Close() }()
		return db.Operation(ctx, id)
	}
	all, err := readFile(o.file)
	if err != nil {
		return op, err
	}
	found := slices.DeleteFunc(all, func(op store.Operation) bool { return !strings.HasPrefix(op.ID, id) })
	switch len(found) {
	case 0:
		return op, fault.New(fault.NotFound, "read operation", id, "there is none of that id in %s", o.file)
	case 1:
		return found[0], nil
	default:
		return op, fault.New(fault.Conflict, "read operation", id, "several ids begin like that; give more of it")
	}
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
