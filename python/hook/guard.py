"""When a part of the hook fails: it says so once, puts everything back, and leaves the user's own exceptions alone. A part of the start-up hook."""

from . import follower, now


def fail(error):
    """Our first error is our last: say so once, and put everything back."""
    state = now.state
    try:
        step_aside()
        state.channel.say(state, "hook off: " + text_of(error))
    except Exception:
        pass  # even this failed: silence is all that is left


def step_aside():
    now.off = True
    for owner, name, original, ours in reversed(now.patches):
        # Somebody may have wrapped ours since; then ours stays, and passes straight through.
        if owner.__dict__.get(name) is ours:
            setattr(owner, name, original)
    del now.patches[:]
    if now.state is not None and now.state.inside is not None:
        now.state.inside.put_back()
        now.parts["lend"].take_all()
    # Three stay, and do nothing: our finder and our optimizer hooks. Somebody may be on his way through either list just now.
    follower.wanted.clear()


def text_of(error):
    place, entry = "", error.__traceback__
    while entry is not None:
        if is_ours(entry.tb_frame):
            place = "%s:%d" % (entry.tb_frame.f_code.co_filename.rpartition("/")[2], entry.tb_lineno)
        entry = entry.tb_next
    return "%s: %s (%s)" % (type(error).__name__, str(error)[:300], place)


def raised_by_signal_handler(error):
    import _signal

    codes = set()
    for number in range(1, _signal.NSIG):
        handler = _signal.getsignal(number)
        if callable(handler):
            inside = [getattr(handler, name, None) for name in ("__func__", "func")]  # a method, a partial
            for function in [handler, getattr(type(handler), "__call__", None)] + inside:
                codes.add(getattr(function, "__code__", None))
    codes.discard(None)
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code in codes:
            return True
        entry = entry.tb_next
    return False


def hide_our_frames(error):
    """Take our inner frames out of a traceback: for nested calls, too, the user sees one frame more, not three."""
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        if is_ours(entry.tb_next.tb_frame):
            entry.tb_next = entry.tb_next.tb_next
        else:
            entry = entry.tb_next


def is_ours(frame):
    return any(frame.f_globals is names for names in now.ours)
