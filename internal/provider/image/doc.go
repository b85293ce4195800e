// Package image is the resource muster_image: a volume with known content in a
// storage pool of a libvirt host. The volume's name carries the content's
// hash, so that one content is stocked once; a companion volume, the marker,
// says that the upload was finished and for whom.
package image
