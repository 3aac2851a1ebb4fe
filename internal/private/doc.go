// Package private finds folders that this user alone can write, at every level,
// and says who is at the other end of a socket.
//
// Sockets, the start-up hook and traces lie in such folders: whoever can write a
// folder on the way to a file can put another in its place, and a path that was
// handed to a program is used for as long as the program lives. So each folder
// from the root down must belong to root or to the user, and neither group nor
// others may write to it. A folder like /tmp, where a sticky bit keeps others from
// removing a file, is none: they take the name once the file is gone.
//
// What does not show in the mode (NFSv4 ACLs, who may mount what) is not seen.
// python/stoker/daemon/private.py is the same rule for the Python client;
// testdata/cases.json is the table of cases that both are tested with.
package private
