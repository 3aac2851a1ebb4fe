"""How functions of torch's are replaced, for good or for a while, and put back. A part of the start-up hook."""

import sys

from . import guarded, now

beside = []  # the hook's functions that are called without replacing another


def put_in_place(wanted):
    """Replace all of these, or none: a missing one raises before anything was changed."""
    found = [(owner, name, owner.__dict__[name], replace) for owner, name, replace in wanted]
    for owner, name, original, replace in found:
        ours = replace(original)
        for detail in ("__module__", "__qualname__", "__doc__"):
            setattr(ours, detail, getattr(original, detail, None))
        ours._torchdynamo_disable = True  # to compiled code we are what the original was: a call it leaves alone
        now.patches.append((owner, name, original, ours))
        setattr(owner, name, ours)
    keep_from_dynamo([patch[3] for patch in now.patches])


def keep_from_dynamo(ours):
    """torch.compile must not trace our functions: it would compile again at each of our counts."""
    frames = getattr(getattr(sys.modules.get("torch._C"), "_dynamo", None), "eval_frame", None)
    ours = [function.__code__ for function in ours + beside]
    guards = guarded(take_all).__code__  # of all guarded functions; nothing of the user's is called below it
    if hasattr(frames, "set_code_exec_strategy"):
        action, strategy = frames._FrameAction, frames._FrameExecStrategy
        for code in ours:
            frames.set_code_exec_strategy(code, strategy(action.SKIP, action.DEFAULT))
        frames.set_code_exec_strategy(guards, strategy(action.SKIP, action.SKIP))
    elif hasattr(frames, "skip_code"):  # before torch 2.7
        for code in ours + [guards]:
            frames.skip_code(code)


def _in_place(*args, **kwargs):
    # The words are constants, which `Swap` replaces: this code runs among the names of another module.
    busy = "busy"
    original = "original"
    if busy:
        return original(*args, **kwargs)
    enter = "enter"
    leave = "leave"
    mark = enter(args, kwargs)
    if mark is None:
        return original(*args, **kwargs)
    try:
        return original(*args, **kwargs)
    finally:
        leave(mark)


class Swap(object):
    """Lends a function other code. It stays the same function, so code that compares or keeps it sees no difference.

    enter(args, kwargs) returns a mark, which leave gets when the function returns; None if no call of leave is needed. While `busy` holds anything
    neither is called: so a function that calls itself for many parts costs next to nothing.
    """

    def __init__(self, function, enter, leave, busy=()):
        code, ours = function.__code__, _in_place.__code__
        if code.co_freevars:
            raise LookupError("%s is a closure" % function.__name__)
        original = type(function)(code, function.__globals__, function.__name__, function.__defaults__)
        original.__kwdefaults__ = function.__kwdefaults__
        words = {"busy": busy, "enter": enter, "original": original, "leave": leave}
        consts = tuple(words.get(const, const) if type(const) is str else const for const in ours.co_consts)
        named = {"co_filename": code.co_filename, "co_name": code.co_name, "co_firstlineno": code.co_firstlineno}
        self.function, self.theirs, self.ours = function, code, ours.replace(co_consts=consts, **named)

    def put(self):
        if self.function.__code__ is self.theirs:
            self.function.__code__ = self.ours

    def take(self):
        if self.function.__code__ is self.ours:
            self.function.__code__ = self.theirs


kept = []  # swaps that stay until the program compiles or the hook steps aside
compiled = []  # whether the program has compiled anything


def keep(swap):
    if not compiled:
        kept.append(swap)
        swap.put()


def give_back(swap):
    if swap in kept:
        kept.remove(swap)
        swap.take()


def take_all():
    for swap in list(kept):
        give_back(swap)


def compiles():
    """Something is compiled from now on: of the code that is traced, and guarded, none may be ours."""
    compiled.append(True)
    take_all()


class Replace(object):
    """Puts another thing under a name of a module or a class, and takes it away again."""

    def __init__(self, owner, name, ours):
        self.owner, self.name, self.ours = owner, name, ours
        self.own = name in vars(owner)
        self.theirs = vars(owner).get(name)

    def put(self):
        setattr(self.owner, self.name, self.ours)

    def take(self):
        if vars(self.owner).get(self.name) is not self.ours:
            return  # somebody put his own over it
        if self.own:
            setattr(self.owner, self.name, self.theirs)
        else:
            delattr(self.owner, self.name)


class Method(object):
    """Replaces a method of Tensor's and equals it: a table that somebody makes of them just now holds."""

    def __init__(self, original, call):
        self.original, self.call = original, call

    def __get__(self, tensor, kind=None):
        return self if tensor is None else self.call.__get__(tensor)

    def __call__(self, *args, **kwargs):
        return self.original(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self.original, name)

    def __eq__(self, other):
        return other is self or other == self.original

    def __hash__(self):
        return hash(self.original)
