terraform {
  required_version = ">= 1.11"
  required_providers {
    muster = {
      source = "musterlab/muster"
    }
  }
}

provider "muster" {
  # Names become MAC addresses and UUIDs within this namespace.
  identity {
    namespace = "lab-a"
  }

  # The host that resources are on unless they name another.
  libvirt {
    uri = "qemu:///system"
  }

  # A second host. Resources name it: uri = "rack2".
  host {
    name = "rack2"
    uri  = "qemu+ssh://ops@rack2.example.org/system"

    ssh {
      key_file = "~/.ssh/lab_ed25519"
    }
  }
}
