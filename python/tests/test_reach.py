"""Which code a fetch may run: what is held by a data set is searched, and nothing that it holds ends the program."""

import unittest

try:
    import torch
except ImportError:
    torch = None


def numbers(shift):
    return (shift + number for number in range(3))


@unittest.skipIf(torch is None, "needs torch")
class ReachTest(unittest.TestCase):
    def test_generator_with_a_closure(self):
        """A generator whose code has variables of the function around it."""
        from stoker.deferred.reach import find_witness

        self.assertEqual(find_witness({"numbers": numbers(2)}), "")

    def test_code_within_a_generator(self):
        from stoker.deferred.reach import find_witness

        def compared(values, kind):
            return (value for value in values if type(value) is kind)

        self.assertIn("compares types", find_witness([compared([1], torch.Tensor)]))

    def test_odd_object(self):
        """An object that raises when it is looked at: tensors do not wait, and the program goes on."""
        from stoker.deferred.reach import find_witness

        class Odd:
            @property
            def __dict__(self):
                raise RuntimeError("not now")

        self.assertIn("RuntimeError", find_witness([Odd()]))


if __name__ == "__main__":
    unittest.main()
