"""The models without a run, against the real binary where it is built."""

import dataclasses
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
