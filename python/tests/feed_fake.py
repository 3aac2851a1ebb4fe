"""A daemon after feed/serve/PROTOCOL.md, for tests of the client: it shares no code with it.

Runs in place of the binary: STOKER_BIN names a script that starts this file. Every
pixel of a file has the value of its name's number % 251, its label is its class, its index its place among the samples. FEED_FAKE holds
words that make it misbehave: die-at=N (exit when batch N is due), mute-at=N (say
nothing any more), stall-at=N (answer pings, send no batches), young=1 (the first daemon alone does that), bad=I (sample I is
bad), fail-at=N (a fatal error; kind=KIND is its kind), words=TEXT (on stderr at the start).
"""

import array
import fcntl
import hashlib
import json
import mmap
import os
import select
import socket
import struct
import sys

SIZES = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4}


def knobs():
    return dict(word.partition("=")[::2] for word in os.environ.get("FEED_FAKE", "").split())


class Fake:
    def __init__(self):
        self.ends = {}  # socket: Session or None
        self.knobs = knobs()
        self.sent = 0
        self.mute = False
        if "young" in self.knobs:
            mark = os.environ["FEED_FAKE_LOG"] + ".young"
            if os.path.exists(mark):
                self.knobs = {}
            open(mark, "w").close()
        self.listener = None
        self.ranks, self.expected, self.parent = set(), 0, 0
        self.log = os.environ.get("FEED_FAKE_LOG")

    def expects(self):
        """Whether ranks will come that were not here yet: all do, unless the one that started us has gone."""
        return self.listener and len(self.ranks) < self.expected and os.path.exists(f"/proc/{self.parent}")

    def serve(self):
        while self.ends or self.expects():
            watched = [*self.ends, *([self.listener] if self.listener else [])]
            for end in select.select(watched, [], [], 0.05)[0]:
                if end is self.listener:
                    self.ends[end.accept()[0]] = None
                else:
                    try:
                        self.packet(end)
                    except ConnectionError:  # it went away while it was being answered
                        self.drop(end)

    def drop(self, end):
        end.close()
        del self.ends[end]

    def packet(self, end):
        data, descriptors, _, _ = socket.recv_fds(end, 1 << 17, 4)
        if not data:
            self.drop(end)
            return
        packet = json.loads(data)
        if "spec_bytes" in packet:
            packet["spec"] = json.loads(os.pread(descriptors[0], packet["spec_bytes"], 0))
        if self.log:
            with open(self.log, "a") as log:
                log.write(json.dumps(packet) + "\n")
        if self.mute:
            return
        kind = packet["type"]
        session = self.ends[end]
        if kind == "make":  # it has no pixels: the client makes them all
            for descriptor in descriptors:
                os.close(descriptor)
            send(end, {"type": "made", "n": packet["n"], "failed_more": 1})
            return
        if kind == "connect":
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.ends[ours] = None
            send(end, {"type": "connected"}, theirs.fileno())
            theirs.close()
        elif kind == "open":
            if "list_bytes" in packet:
                packet["samples"] = os.pread(descriptors[0], packet["list_bytes"], packet["spec_bytes"])
            try:
                self.ends[end] = Session(self, end, packet)
            except ValueError as error:
                send(end, {"type": "error", "text": str(error), "hint": "mend it", "fatal": True})
        elif kind == "start":
            session.start(packet)
        elif kind == "release":
            session.release(packet["slot"])
        elif kind == "ping":
            send(end, {"type": "pong", "n": packet["n"], "state": "the fake is thinking"})
        elif kind == "close":
            self.drop(end)


class Session:
    def __init__(self, fake, end, packet):
        self.fake, self.end = fake, end
        self.spec = spec = packet["spec"]
        self.rank = packet["rank"]
        fake.ranks.add(self.rank)
        self.classes = sorted(entry.name for entry in os.scandir(spec["root"]) if entry.is_dir())
        if "list" in spec:
            files = given(packet["samples"], spec["list"])
        else:
            files = [(label, name) for label, at in enumerate(self.classes) for name in sorted(os.listdir(os.path.join(spec["root"], at)))]
        if not files:
            raise ValueError("there are no images in " + spec["root"])
        self.labels = [label for label, _ in files]
        self.names = [os.path.basename(name) for _, name in files]
        self.pixels = [pixel(name, number) for number, (_, name) in enumerate(files)]
        self.samples = spec.get("samples") or list(range(len(files)))
        sized = [op["size"] for op in spec["ops"] if len(op.get("size", [])) == 2][-1]
        self.shape = [spec["batch"], 3, *sized]
        self.item = SIZES[spec["output"]["dtype"]]
        image = 3 * sized[0] * sized[1] * self.item
        offsets = [0, image * spec["batch"] + 63 & ~63]
        offsets.append(offsets[1] + 8 * spec["batch"] + 63 & ~63)
        slot = offsets[2] + 8 * spec["batch"] + 4095 & ~4095
        slots = spec.get("depth", 4)
        ring = os.memfd_create("ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(ring, slot * slots)
        fcntl.fcntl(ring, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.memory = mmap.mmap(ring, slot * slots)
        self.slot_bytes, self.offsets = slot, offsets
        self.free = list(range(slots))
        self.loaned = {}
        self.run, self.queue = 0, []
        h, w = sized
        strides = [image, h * w * self.item, w * self.item, self.item]
        if spec["output"]["layout"] == "channels_last":
            strides = [image, self.item, 3 * w * self.item, 3 * self.item]
        send(
            end,
            {
                "type": "opened",
                "samples": len(self.samples),
                "steps": self.steps(0),
                "classes": self.classes,
                "manifest": f"{len(files):032x}",
                "pipeline": "ab" * 16,
                "ring": {
                    "bytes": slot * slots,
                    "slots": slots,
                    "slot_bytes": slot,
                    "images": {"offset": 0, "shape": self.shape, "dtype": spec["output"]["dtype"], "strides": strides},
                    "labels": {"offset": offsets[1], "dtype": "int64"},
                    "indices": {"offset": offsets[2], "dtype": "int64"},
                },
            },
            ring,
        )
        os.close(ring)

    def steps(self, consumed):
        return -(-self.each(consumed) // self.spec["batch"])

    def each(self, consumed):
        """Places of a rank to the end of the epoch, as torch's DistributedSampler and DataLoader count them."""
        left, world, batch = len(self.samples) - consumed, self.spec["world"], self.spec["batch"]
        of_a_rank = {"drop": left // world, "trim": left // world}.get(self.spec["tail"], -(-left // world))
        if self.spec["tail"] in ("drop", "even-drop"):
            return of_a_rank // batch * batch
        return -(-of_a_rank // batch) * batch if self.spec["tail"] == "pad" else of_a_rank

    def start(self, packet):
        assert packet["run"] > self.run, "runs must grow"
        self.run = packet["run"]
        self.epoch, self.at, self.step = packet["epoch"], packet["consumed"], packet.get("done", 0)
        self.released, self.total = 0, self.steps(self.at)
        if self.step == self.total:
            self.ended(self.run, self.epoch)
        elif not packet.get("once"):
            self.fill()

    def release(self, slot):
        run, epoch = self.loaned.pop(slot)  # KeyError: it was not on loan
        self.free.append(slot)
        if run == self.run:
            self.queue.remove(epoch)
            if epoch not in self.queue and epoch < self.epoch:
                self.ended(run, epoch)
        self.fill()

    def ended(self, run, epoch):
        report = {"from": 0, "samples": len(self.samples), "digest": "d", "expected": "d", "exactly_once": True, "bad": 0, "inexact": 0}
        send(self.end, {"type": "end", "run": run, "epoch": epoch, "report": report})

    def order(self, epoch):
        samples = list(range(len(self.samples)))
        if not self.spec["shuffle"]:
            return samples
        turn = (self.spec["seed"] + 7 * epoch) % len(samples)
        return samples[turn:] + samples[:turn]

    def fill(self):
        while self.free and self.run and not self.fake.mute:
            if self.trouble():
                return
            self.batch(self.free.pop(0))
            if self.step == self.total:
                self.epoch, self.at, self.step, self.total = self.epoch + 1, 0, 0, self.steps(0)

    def trouble(self):
        knobs, sent = self.fake.knobs, str(self.fake.sent)
        if knobs.get("die-at") == sent:
            print("the fake dies as it was told to", file=sys.stderr, flush=True)
            os._exit(3)
        if knobs.get("mute-at") == sent:
            self.fake.mute = True
        if knobs.get("fail-at") == sent:
            send(self.end, {"type": "error", "text": "sample 7 is bad", "hint": "take it away", "fatal": True, **({"kind": knobs["kind"]} if "kind" in knobs else {})})
            return True
        return self.fake.mute or knobs.get("stall-at") == sent

    def batch(self, slot):
        world = self.spec["world"]
        size = min(self.spec["batch"], self.each(self.at) - self.step * self.spec["batch"])
        begin = self.at + self.step * self.spec["batch"] * world + self.rank * size
        order = self.order(self.epoch)
        positions = range(begin, begin + size)
        mask = [i for i, p in enumerate(positions) if p >= len(order)]
        if self.spec["tail"] == "short":
            positions, mask = [p for p in positions if p < len(order)], []
        chosen = [order[p % len(order)] for p in positions]
        base = slot * self.slot_bytes
        image = 3 * self.shape[2] * self.shape[3]
        for i, index in enumerate(chosen):
            sample = self.samples[index]
            value = self.pixels[sample]
            value = {1: bytes([value]), 2: struct.pack("<H", value), 4: struct.pack("<f", value)}[self.item]
            first = base + i * image * self.item
            self.memory[first : first + image * self.item] = value * image
            struct.pack_into("<q", self.memory, base + self.offsets[1] + 8 * i, self.labels[sample])
            struct.pack_into("<q", self.memory, base + self.offsets[2] + 8 * i, index)
        consumed = min(len(order), self.at + self.step * self.spec["batch"] * world + size * world)
        packet = {"type": "batch", "run": self.run, "epoch": self.epoch, "step": self.step, "slot": slot, "count": len(chosen), "consumed": consumed}
        if mask:
            packet["mask"] = mask
        bad = self.fake.knobs.get("bad")
        if bad is not None and int(bad) in chosen:
            packet["bad"] = [{"index": int(bad), "path": self.names[int(bad)], "reason": "it is torn", "kind": "truncated"}]
        self.loaned[slot] = (self.run, self.epoch)
        self.queue.append(self.epoch)
        self.step += 1
        self.fake.sent += 1
        send(self.end, packet)


def given(data, digest):
    """The samples of a list: label and path."""
    assert hashlib.sha256(data).hexdigest() == digest
    (count,) = struct.unpack_from("<Q", data)
    labels = struct.unpack_from(f"<{count}q", data, 8)
    *paths, end = data[8 + 8 * count :].split(b"\0")
    assert end == b"" and len(paths) == count
    return list(zip(labels, map(os.fsdecode, paths)))


def pixel(path, number):
    """The number that a file is called by, so that it shows which file was read."""
    stem = os.path.basename(path).split(".")[0]
    return (int(stem) if stem.isdigit() else number) % 251


def send(end, packet, *descriptors):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    end.sendmsg([json.dumps(packet).encode()], rights)


def main():
    flags = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    fake = Fake()
    if "words" in fake.knobs:
        print(fake.knobs["words"], file=sys.stderr, flush=True)
    if "--fd" in flags:
        fake.ends[socket.socket(fileno=int(flags["--fd"]))] = None
    else:
        place = flags["--socket"]
        if os.path.exists(place):
            os.unlink(place)
        fake.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fake.listener.bind(place)
        os.chmod(place, 0o600)
        fake.listener.listen()
        fake.expected, fake.parent = int(flags["--ranks"]), int(flags["--parent"])
    fake.serve()


if __name__ == "__main__":
    main()
