"""Stops in a known place, and says where that is by Python's own word. Then it ends with its stdin."""

import os
import sys
import threading
import traceback


class Faces:
    def __getitem__(self, index):
        names = [self.prepare(one)
                 for one in range(index, index + 1)]
        return names

    def prepare(self, one):
        values = (
            value
            for value in self.steps(one)
        )
        return max(
            values,
            key=lambda value: value,
        )

    def steps(self, one):
        yield one
        try:
            raise ValueError
        except ValueError:
            with open(os.devnull):
                yield (lambda: self.wait())()

    def wait(self):
        told = [(f.filename, f.lineno, f.name) for f in traceback.extract_stack()]
        for file, line, name in told[:-1]:
            print("%s\t%d\t%s" % (file, line, name))
        print("tid\t%d\t%s" % (threading.get_native_id(), os.getpid()), flush=True)
        sys.stdin.read(); return 0  # the line that is waited in


def deeper(depth):
    return deeper(depth - 1) if depth else Faces()[3]


if __name__ == "__main__":
    if sys.argv[1] == "thread":
        thread = threading.Thread(target=deeper, args=(20,))
        thread.start()
        thread.join()
    else:
        deeper(20)
