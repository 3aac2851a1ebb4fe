"""A folder for a test that this user alone can write at every level, which one below /tmp is not."""

import contextlib
import shutil
import tempfile
import unittest

from stoker import _private


@contextlib.contextmanager
def private_folder():
    try:
        folder = tempfile.mkdtemp(prefix="t", dir=_private.place())
    except _private.Shared as error:
        raise unittest.SkipTest(str(error)) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
