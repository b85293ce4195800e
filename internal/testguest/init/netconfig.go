package main

import (
	"fmt"
	"net"
	"strings"

	"go.yaml.in/yaml/v3"
)

// linkConfig is what cloud-init's network configuration, version 2, says of
// one Ethernet link.
type linkConfig struct {
	Match struct {
		MACAddress string `yaml:"macaddress"`
		Name       string `yaml:"name"`
	} `yaml:"match"`
	SetName   string   `yaml:"set-name"`
	DHCP4     bool     `yaml:"dhcp4"`
	Addresses []string `yaml:"addresses"`
	Gateway4  string   `yaml:"gateway4"`
	Gateway6  string   `yaml:"gateway6"`
	MTU       int      `yaml:"mtu"`
	Routes    []struct {
		To  string `yaml:"to"`
		Via string `yaml:"via"`
	} `yaml:"routes"`
}

// networkConfig is the links by their key in the file.
type networkConfig map[string]linkConfig

// parseNetworkConfig reads the file with or without its outer "network" key.
func parseNetworkConfig(b []byte) (networkConfig, error) {
	type body struct {
		Version   int           `yaml:"version"`
		Ethernets networkConfig `yaml:"ethernets"`
	}
	var file struct {
		body    `yaml:",inline"`
		Network *body `yaml:"network"`
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("network-config: %w", err)
	}
	found := file.body
	if file.Network != nil {
		found = *file.Network
	}
	if found.Version != 2 {
		return nil, fmt.Errorf("network-config: version %d is not understood, only 2", found.Version)
	}
	for key, l := range found.Ethernets {
		if err := l.check(); err != nil {
			return nil, fmt.Errorf("network-config: %s: %w", key, err)
		}
	}
	return found.Ethernets, nil
}

func (l linkConfig) check() error {
	for _, a := range l.Addresses {
		if _, _, err := net.ParseCIDR(a); err != nil {
			return err
		}
	}
	for _, r := range l.routes() {
		if net.ParseIP(r.via) == nil {
			return fmt.Errorf("route to %s: gateway %q is no address", r.to, r.via)
		}
		if _, _, err := net.ParseCIDR(r.to); err != nil {
			return err
		}
	}
	return nil
}

type route struct{ to, via string }

// routes returns all routes with the default written out.
func (l linkConfig) routes() []route {
	var all []route
	add := func(to, via string) {
		switch {
		case via == "":
			return
		case to == "default" && strings.Contains(via, ":"):
			to = "::/0"
		case to == "default":
			to = "0.0.0.0/0"
		}
		all = append(all, route{to, via})
	}
	add("default", l.Gateway4)
	add("default", l.Gateway6)
	for _, r := range l.Routes {
		add(r.To, r.Via)
	}
	return all
}

// find returns the configuration of the link with that name and address. As in
// cloud-init a MAC address matches in any case, and a link that no entry names
// is not configured at all.
func (c networkConfig) find(name, mac string) (linkConfig, bool) {
	for key, l := range c {
		switch {
		case l.Match.MACAddress != "":
			if strings.EqualFold(l.Match.MACAddress, mac) {
				return l, true
			}
		case l.Match.Name == name, l.Match.Name == "" && key == name:
			return l, true
		}
	}
	return linkConfig{}, false
}
