"""Games of a batch are drawn one by one, each with the priorities of all games (werner-duvaud/muzero-general#117)."""

import multiprocessing

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class GameHistory:
    def __init__(self, length=60):
        self.game_priority = 0.5 + numpy.random.random()
        self.observations = numpy.zeros((length, 3, 6, 7), numpy.float32)


class ReplayBuffer:
    def __init__(self, games=3000, batch_size=256):
        self.buffer, self.batch_size = {n: GameHistory() for n in range(games)}, batch_size

    def sample_game(self):
        game_probs = numpy.array([game.game_priority for game in self.buffer.values()], dtype="float32")
        game_probs /= game_probs.sum()
        game_id = numpy.random.choice(len(self.buffer), p=game_probs)
        return game_id, self.buffer[game_id], game_probs[game_id]

    def sample_n_games(self, n_games):
        game_probs = numpy.array([game.game_priority for game in self.buffer.values()], dtype="float32")
        game_probs /= game_probs.sum()
        chosen = numpy.random.choice(len(self.buffer), n_games, p=game_probs)
        return [(game_id, self.buffer[game_id], game_probs[game_id]) for game_id in chosen]

    def get_batch(self):
        if FIX:
            games = self.sample_n_games(self.batch_size)
        else:
            games = [self.sample_game() for _ in range(self.batch_size)]
        observations, weights = [], []
        for _, game_history, game_prob in games:
            observations.append(game_history.observations[numpy.random.randint(len(game_history.observations))])
            weights.append(1 / (len(self.buffer) * game_prob))
        return numpy.stack(observations), numpy.array(weights, numpy.float32)


def serve(connection):
    """The buffer is an actor with a process for itself."""
    replay_buffer = ReplayBuffer()
    while connection.recv():
        connection.send(replay_buffer.get_batch())


class Trainer:
    def __init__(self, connection):
        self.gpu, self.connection = Device(spin=False), connection
        self.optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(8))], lr=0.05)

    def update_weights(self, batch):
        observations, weights = (torch.from_numpy(part) for part in batch)
        self.gpu.copy(observations.nbytes + weights.nbytes)
        self.gpu.launch(0.025, "initial and recurrent inference, backward")
        self.optimizer.step()
        self.gpu.item()
        return len(observations)

    def continuous_update_weights(self):
        samples = 0
        self.connection.send(True)
        while not over():
            batch = self.connection.recv()
            self.connection.send(True)
            samples += self.update_weights(batch)
        return samples


def main():
    torch.set_num_threads(1)
    connection, other = multiprocessing.Pipe()
    actor = multiprocessing.Process(target=serve, args=(other,), daemon=True)
    actor.start()
    trainer = Trainer(connection)
    done(trainer.gpu, trainer.continuous_update_weights())
    actor.terminate()


if __name__ == "__main__":
    main()
