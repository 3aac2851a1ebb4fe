package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed"
)

// patience is how long the daemon tries to send a packet before it gives the client up.
const patience = 2 * time.Second

// maxWaiting limits the packets queued for a client that does not read. Its slots cannot cause
// so many: such a client sends requests without reading the answers.
const maxWaiting = 1024

// link is the daemon's end of one connection. Sending never blocks: the sender is a decode
// thread, and one client that sleeps must not stop the others. Nearly always the socket takes a
// packet at once, and no other goroutine is needed.
type link struct {
	conn   *net.UnixConn
	peer   *peer
	sender sync.WaitGroup

	mu      sync.Mutex // guards what follows
	waiting []parcel
	sending bool  // a goroutine sends the queue
	refusal error // what the client was told by refuse
	broken  error
}

// parcel is a packet to send, with descriptors that it owns.
type parcel struct {
	packet []byte
	fds    []int
}

// sendPacket sends a message, in the order of the calls, and takes over the descriptors. An
// error means that the connection is closed; its reader notices that too.
func (l *link) sendPacket(message any, fds ...int) error {
	packet, err := json.Marshal(message)
	if err == nil && len(packet) > maxPacket {
		err = fmt.Errorf("a packet of %d bytes does not fit into %d", len(packet), maxPacket)
	}
	p := parcel{packet, fds}
	if err != nil {
		p.closeFiles()
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		p.closeFiles()
		return l.broken
	}
	if !l.sending {
		sent, err := sendNow(l.conn, p.packet, p.fds...)
		if sent || err != nil {
			p.closeFiles()
			return l.breaks(err)
		}
		l.sending = true
		l.sender.Go(l.sendWaiting)
	}
	if len(l.waiting) >= maxWaiting {
		p.closeFiles()
		return l.breaks(fmt.Errorf("%d packets are queued for a client that reads none", maxWaiting))
	}
	l.waiting = append(l.waiting, p)
	return nil
}

// sendWaiting sends the queue, whose packets the socket did not take at once.
func (l *link) sendWaiting() {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 || l.broken != nil {
			l.sending = false
			l.mu.Unlock()
			return
		}
		p := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()

		err := l.conn.SetWriteDeadline(time.Now().Add(patience))
		if err == nil {
			err = sendWaiting(l.conn, p.packet, p.fds...)
		}
		p.closeFiles()
		if err != nil {
			l.mu.Lock()
			_ = l.breaks(fmt.Errorf("the client took no packet for %v: %w", patience, err))
			l.mu.Unlock()
		}
	}
}

// breaks closes the connection if err is not nil. The caller holds mu.
func (l *link) breaks(err error) error {
	if err == nil || l.broken != nil {
		return err
	}
	l.broken = err
	l.dropPacket()
	_ = l.conn.Close() // the reader returns
	return err
}

func (l *link) dropPacket() {
	for _, p := range l.waiting {
		p.closeFiles()
	}
	l.waiting = nil
}

// receive blocks until the next packet arrives and reads it into buffer. The caller owns the descriptors
// that came with it. lost means that there were more: the kernel drops those for which the
// process has no free number. io.EOF means that the client has closed the connection.
func (l *link) receive(buffer []byte) (packet []byte, fds []int, lost bool, err error) {
	var control [controlBytes]byte
	n, controlled, flags, _, err := l.conn.ReadMsgUnix(buffer, control[:])
	if err != nil {
		return nil, nil, false, err
	}
	fds = descriptors(control[:controlled])
	if n == 0 {
		err = io.EOF
	}
	return buffer[:n], fds, flags&truncatedControl != 0, err
}

// controlBytes is room for two descriptors. The kernel closes any further ones.
const controlBytes = 24

// refuse sends the client the reason why its session ends, as the last packet. linger then
// reads on for a while, because closing a socket with unread packets would discard the reason.
// It returns false if the client has gone or was already told a reason.
func (l *link) refuse(why error) bool {
	l.mu.Lock()
	late := l.refusal != nil || l.broken != nil
	if !late {
		l.refusal = why
	}
	l.mu.Unlock()
	if late || l.sendPacket(failureOf(why)) != nil {
		return false
	}
	_ = l.conn.SetReadDeadline(time.Now()) // the reader ends the session
	return true
}

// toldReason returns the reason that refuse sent, or nil.
func (l *link) toldReason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusal
}

// linger closes the sending side, and reads on until the client closes the connection or
// patience is over.
func (l *link) linger() {
	l.sender.Wait()
	_ = l.conn.CloseWrite() // fails if the client has gone already
	if l.conn.SetReadDeadline(time.Now().Add(patience)) != nil {
		return
	}
	buffer := make([]byte, maxPacket+1)
	for {
		_, fds, _, err := l.receive(buffer)
		closeAll(fds)
		if err != nil {
			return
		}
	}
}

// closeSlowly sends the queue, as long as patience allows, and closes the connection. Nothing
// may be sent after it.
func (l *link) closeSlowly(why error) {
	l.sender.Wait()
	l.closeAtOnce(why)
}

// closeAtOnce closes the connection without sending the queue.
func (l *link) closeAtOnce(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.breaks(why)
}

func (p parcel) closeFiles() { closeAll(p.fds) }

func closeAll(fds []int) {
	for _, fd := range fds {
		closeDescriptor(fd)
	}
}

// failureOf tells a client why its session ends, and whether its data are at fault.
func failureOf(why error) failure {
	f := failure{Type: "error", Text: shorten([]byte(why.Error()), maxPacket/8), Fatal: true}
	if kind := feed.KindOf(why); kind != "" {
		f.Kind, f.Hint = string(kind), "the files may be sound, so nothing was put in their place"
	}
	return f
}
