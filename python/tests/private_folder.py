"""A folder for a test that this user alone can write at every level, which one below /tmp is not."""

import contextlib
import shutil
import tempfile
import unittest

from stoker.daemon import private


@contextlib.contextmanager
def private_folder():
    try:
        folder = tempfile.mkdtemp(prefix="t", dir=private.place())
    except private.Shared as error:
        raise unittest.SkipTest(str(error)) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
