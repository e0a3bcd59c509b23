// Package proc identifies processes: pid and kernel start time, boot id, user,
// executable, environment and ancestry, as Linux shows them under /proc.
//
// It promises that an identity is never a bare pid, because pids are reused
// after a reboot, in a container and on another host that shares a home
// directory. It decides nothing about authority: the broker's human proof and
// the writer lock's "is the owner gone" are asked of it and judged by them. A
// Table is an interface so that tests use synthetic process trees.
package proc
