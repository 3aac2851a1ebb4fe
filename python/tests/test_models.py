"""The models without a run, against the real binary where it is built."""

import dataclasses
import importlib.util
import subprocess
import unittest

import stoker


def built():
    """The binary is there and has the verb."""
    try:
        found = subprocess.run([stoker.find_binary(), "predict", "transformation", "--help"], capture_output=True, check=False)
    except (stoker.StokerError, OSError):
        return False
    return b"--sample" in found.stdout


class Quantity:
    """What a quantity of pint is to the client: it converts, and is no plain number where it has a unit."""

    KNOWN = {
        **{"byte": (1, "size"), "kilobyte": (1e3, "size"), "gigabyte": (1e9, "size"), "meter": (1, "length"), "": (1, ""), "dimensionless": (1, "")},
        **{"byte/second": (1, "rate"), "gigabyte/second": (1e9, "rate"), "gigabit/second": (1e9 / 8, "rate"), "second": (1, "time"), "millisecond": (1e-3, "time")},
    }

    def __init__(self, magnitude, unit):
        self.magnitude, self.unit, self.unitless = magnitude, unit, unit == ""

    def to(self, unit):
        (factor, kind), (other, wanted) = self.KNOWN[self.unit], self.KNOWN[unit]
        if kind != wanted:
            raise AttributeError(f"Cannot convert from '{self.unit}' to '{unit}'")  # pint's DimensionalityError is no ValueError
        return Quantity(round(self.magnitude * factor / other, 12), unit)

    def __float__(self):
        if not self.unitless:
            raise AttributeError(f"Cannot convert from '{self.unit}' to 'dimensionless'")
        return float(self.magnitude)


@unittest.skipUnless(built(), "no binary with predict: make build")
class Models(unittest.TestCase):
    def test_the_tutorials_batch(self):
        given = {"batch_size": 256, "cpu_throughput": "2 GB/s", "accelerator_step_time": "11.74 ms"}
        answer = stoker.TransformationModel().solve(sample_size="500 KB", **given)
        self.assertEqual(answer.transform_time, 0.064)
        self.assertEqual(answer.step_time, 0.064)
        self.assertEqual(answer.accelerator_step_time, 0.01174)
        self.assertIs(answer.is_bottleneck, True)
        self.assertAlmostEqual(answer.accelerator_utilization, 0.183, places=3)
        self.assertAlmostEqual(answer.slowdown_factor, 5.45, places=2)
        self.assertEqual(answer, stoker.TransformationModel().solve(sample_size_bytes="500 KB", **given))
        with self.assertRaises(dataclasses.FrozenInstanceError):
            answer.step_time = 1

    def test_numbers_are_base_units(self):
        answer = stoker.TransformationModel().solve(64, 5e5, 2e9, 6.7e-3)
        self.assertEqual(answer.transform_time, 0.016)
        self.assertEqual(answer.accelerator_step_time, 0.0067)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no NumPy here")
    def test_numpy_scalars_are_numbers(self):
        """NumPy 2 prints its scalars as np.float64(...)."""
        import numpy as np

        solve, tutorial = stoker.TransformationModel().solve, (256, 5e5, 2e9, 0.01174)
        want = solve(*tutorial)
        for kinds in ((np.int64, np.float64, np.float64, np.float64), (np.uint16, np.int32, np.float32, np.float64), (np.array,) * 4):
            self.assertEqual(solve(*(kind(value) for kind, value in zip(kinds, tutorial, strict=True))), want)
        self.assertEqual(stoker.DataModel().solve(np.float64(10.9e9), storage=np.int64(7e9)).supply, 7e9)
        with self.assertRaisesRegex(stoker.StokerError, "sample_size is array"):
            solve(256, np.ones(3), 2e9, 0.01174)
        job = {"model": "resnet50", "gpu": "h100-sxm"}
        swept = stoker.predict(batch=np.array([32, 64]), cached=np.float32(0.5), pinned=np.bool_(False), **job)["sweep"]["axes"][0]
        self.assertEqual(swept["values"], [32, 64])

    def test_quantities_of_pint_know_their_unit(self):
        solve = stoker.TransformationModel().solve
        want = solve(256, 5e5, 2e9, 0.01174)
        self.assertEqual(solve(256, Quantity(500, "kilobyte"), Quantity(2, "gigabyte/second"), Quantity(11.74, "millisecond")), want)
        self.assertEqual(solve(Quantity(256, ""), Quantity(5e5, ""), Quantity(16, "gigabit/second"), Quantity(0.01174, "second")), want)
        for wrong, sentence in (
            ((256, Quantity(5, "meter"), 2e9, 1), "sample_size is .*: expected a number of B"),
            ((256, 5e5, Quantity(2, "gigabyte"), 1), "cpu_throughput is .*: expected a number of B/s"),
            ((True, 5e5, 2e9, 1), "batch_size is True: expected a number"),
            ((256, object(), 2e9, 1), "sample_size is <object"),
        ):
            with self.assertRaisesRegex(stoker.StokerError, sentence):
                solve(*wrong)
        with self.assertRaisesRegex(stoker.StokerError, "price is .*: quantities with units are bytes"):
            stoker.predict(batch=8, price=Quantity(3, "meter"))

    @unittest.skipUnless(importlib.util.find_spec("pint"), "no pint here")
    def test_pint_itself(self):
        import pint

        quantity = pint.UnitRegistry().Quantity
        solve = stoker.TransformationModel().solve
        answer = solve(256, quantity("500 kB"), quantity("2 GB/s"), quantity("11.74 ms"))
        self.assertEqual(answer, solve(256, 5e5, 2e9, 0.01174))
        with self.assertRaisesRegex(stoker.StokerError, "Cannot convert from 'meter'"):
            solve(256, quantity("5 m"), 2e9, 1)

    def test_unknown_supply_is_none(self):
        answer = stoker.DataModel().solve(demand="10.9 GB/s", gpu="a100-80gb-sxm")
        self.assertIsNone(answer.supply)
        self.assertIsNone(answer.utilization)
        self.assertIsNone(answer.is_stalled)

    def test_known_supply(self):
        answer = stoker.DataModel().solve(workload_data_rate=10.9e9, gpu="a100-80gb-sxm", storage="7 GB/s")
        self.assertEqual((answer.demand_bw, answer.supply_bw, answer.bottleneck), (10.9e9, 7e9, "storage"))
        self.assertAlmostEqual(answer.utilization, 1.557, places=3)
        self.assertIs(answer.is_stalled, True)
        self.assertIs(stoker.DataModel().solve(demand="1 GB/s", storage="nvme").is_stalled, False)

    def test_bad_input_is_a_sentence(self):
        solve = stoker.TransformationModel().solve
        for wanted, given in (
            ("is a size, expected a rate", (256, "500 KB", "500 KB", "11.74 ms")),
            ("more than 0", (0, "500 KB", "2 GB/s", "11.74 ms")),
            ("does not begin with a number", (256, float("nan"), "2 GB/s", "11.74 ms")),
            ("is negative", (256, "500 KB", "2 GB/s", -1.0)),
            ("nothing is given", (256, "500 KB", "2 GB/s")),
        ):
            with self.assertRaisesRegex(stoker.StokerError, wanted):
                solve(*given)
        with self.assertRaisesRegex(stoker.StokerError, "nearest: nvme"):
            stoker.DataModel().solve(demand="1 GB/s", storage="nvmee")
        with self.assertRaises(TypeError):
            stoker.DataModel().solve(demand="1 GB/s", workload_data_rate="1 GB/s")


if __name__ == "__main__":
    unittest.main()
