variable "uri" {
  description = "The libvirt host."
  type        = string
  default     = "qemu:///system"
}

variable "image" {
  description = "A disk image that boots, with a guest agent inside: a path or a URL."
  type        = string
}

variable "nodes" {
  description = "Names of the machines. Their UUIDs and MAC addresses follow from them."
  type        = list(string)
  default     = ["node-1", "node-2", "node-3"]
}

variable "memory_mib" {
  description = "Memory of each machine. Change it and apply again: nothing is replaced."
  type        = number
  default     = 192
}

variable "console" {
  description = "Whether each machine has a serial console with a log."
  type        = bool
  default     = true
}
