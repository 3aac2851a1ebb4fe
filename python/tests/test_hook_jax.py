"""Steps of JAX (python/hook/own.py), on a stand-in whose compiled functions are called past all of Python."""

import unittest

from test_hook import CLOCK, FakeCase

MS = 1_000_000

JAX = {
    "__init__.py": """
        class PjitFunction:
            def __init__(self, function): self._fun = self.__wrapped__ = function
            def __call__(self, *args): return self._fun(*args)
            def lower(self): return "lowered"
            def __reduce__(self): return PjitFunction, (self._fun,)
        def jit(function=None, static=None):
            return PjitFunction(function) if function is not None else lambda function: jit(function, static)
        def default_backend(): return "gpu"
    """
}

LOOP = (
    CLOCK
    + """
    import jax, pickle
    @jax.jit
    def start(): return 0
    @jax.jit
    def inner(x): time.sleep(0.002); return x + 1
    @jax.jit(static="n")
    def outer(x): return inner(inner(x))
    class Model:
        @jax.jit
        def twice(self, x): return 2 * x
    assert Model().twice(3) == 6
    assert (inner.lower(), inner.__wrapped__(1), repr(inner)[:6]) == ("lowered", 2, "<jax.P"), repr(inner)
    assert type(pickle.loads(pickle.dumps(jax.jit(len)))).__name__ == "PjitFunction"
    own = sys.modules["_stoker_hook"].now.parts["own"]
    own.monotonic_ns = lambda: now[0]
"""
)


class Jax(FakeCase):
    def setUp(self):
        super().setUp()
        self.write(self.fake, "jax", JAX)

    def test_from_one_call_to_the_next(self):
        for torch in ("", "\n    import torch"):
            result = self.silent(self.run_program(torch + LOOP + """
    x = start()
    for n in range(6):
        time.sleep(0.01)
        x = outer(x)
    print(x)
        """), "12\n")
            self.assertEqual(result.of("warn"), [])
            steps = [(s["loader"], s["n"], s["p"] // MS, s["grad"]) for s in result.of("step")]
            self.assertEqual(steps, [(-1, n, 14, True) for n in range(4)])
            self.assertEqual([h["framework"] for h in result.of("hello")], [None if torch else "JAX"])
            self.assertEqual({o["framework"] for o in result.of("optim")}, {"JAX"})  # what computes, whatever is imported
            self.assertEqual([(told["device"], told["dtype"], told["steps"]) for told in result.of("optim")][:1], [("cuda", None, 0)])

    def test_an_error_of_the_program_s_passes(self):
        result = self.silent(self.run_program(LOOP + """
    bad = jax.jit(lambda x: 1 / x)
    for n in range(4):
        try: bad(0)
        except ZeroDivisionError as error: print(error)
    for n in range(3): print(inner(n))
        """), "division by zero\n" * 4 + "1\n2\n3\n")
        self.assertEqual(result.of("warn"), [])

    def test_an_error_of_ours_costs_nothing(self):
        result = self.silent(self.run_program(LOOP + """
    jax.default_backend = None
    print([outer(n) for n in range(4)])
        """), "[2, 3, 4, 5]\n")
        self.assertIn("TypeError", result.of("warn")[0]["text"])


if __name__ == "__main__":
    unittest.main()
