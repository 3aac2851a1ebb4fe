"""Sound of one rate into sound of another, from stdin to stdout: python resample.py 44100 16000."""

import sys
from math import gcd

import numpy as np
from scipy.signal import resample_poly

given, wanted = int(sys.argv[1]), int(sys.argv[2])
sound = np.frombuffer(sys.stdin.buffer.read(), np.int16).astype(np.float32)
shared = gcd(given, wanted)
sys.stdout.buffer.write(resample_poly(sound, wanted // shared, given // shared).astype(np.int16).tobytes())
