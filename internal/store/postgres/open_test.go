package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/store"
	"github.com/musterlab/terraform-provider-muster/internal/store/postgres"
	"github.com/musterlab/terraform-provider-muster/internal/store/storetest"
)

var server *storetest.Server

func TestMain(m *testing.M) {
	var err error
	if server, err = storetest.StartServer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	server.Stop()
	os.Exit(code)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Engine{
		Empty: server.Database,
		Open:  postgres.Open,
		Exec: func(t testing.TB, location, statement string) {
			db, err := sql.Open("pgx", location)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// The password of a URL is in no message.
func TestOpen_refusals(t *testing.T) {
	for _, c := range []struct {
		behaviour, url string
		want           fault.Kind
	}{
		{"nobody listens", "postgres://u:geheim@127.0.0.1:1/db?sslmode=disable&connect_timeout=2", fault.Unavailable},
		{"a name that does not exist", "postgres://u:geheim@host.invalid/db", fault.Unavailable},
		{"an unreadable URL", "postgres://u:geheim@host:port/db", fault.Invalid},
		{"a database that is not there", strings.Replace(server.URL("absent"), "muster@", "muster:geheim@", 1), fault.NotFound},
		{"a user that is not there", strings.Replace(server.URL("postgres"), "muster@", "nobody:geheim@", 1), fault.Denied},
	} {
		db, err := postgres.Open(context.Background(), c.url, store.Create)
		if !fault.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.behaviour, db, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the password is in the message: %v", c.behaviour, err)
		}
	}
}

func TestOpen_whereHasNoPassword(t *testing.T) {
	url := strings.Replace(server.Database(t), "muster@", "muster:geheim@", 1)
	db, err := postgres.Open(context.Background(), url, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if where := db.Where(); strings.Contains(where, "geheim") || !strings.HasPrefix(where, "postgres://muster@/") {
		t.Errorf("it is called %s", where)
	}
}
