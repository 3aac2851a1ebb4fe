"""Sound of one rate into sound of another, from stdin to stdout: python resample.py 44100 16000."""

import sys

import numpy as np

given, wanted = int(sys.argv[1]), int(sys.argv[2])
sound = np.frombuffer(sys.stdin.buffer.read(), np.int16).astype(np.float32)
smooth = np.convolve(sound, np.hanning(64) / np.hanning(64).sum(), "same")
at = np.arange(0, len(sound), given / wanted)
sys.stdout.buffer.write(np.interp(at, np.arange(len(sound)), smooth).astype(np.int16).tobytes())
