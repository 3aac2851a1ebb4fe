// Package private finds folders that only this user can write, at every level, and checks which
// user is at the other end of a socket.
//
// Sockets, the start-up hook and traces are stored in such folders. A user who can write any
// folder on the path of a file can replace that file, and a path that was passed to a program
// is used as long as the program runs. So each folder from the root down must belong to root or
// to the user, and neither group nor others may have write permission. A folder like /tmp does
// not qualify: its sticky bit keeps other users from removing a file, but they can take its
// name once it is gone.
//
// Rights that the mode does not show (NFSv4 ACLs, permission to mount) are not checked.
// python/stoker/daemon/private.py applies the same rule in the Python client; both are tested
// with testdata/cases.json.
package private
