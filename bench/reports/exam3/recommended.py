"""Items that a user has not seen are drawn one by one for each pair of a batch (YuanchenBei/ColdRec#9)."""

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

USERS, ITEMS = 3000, 6000


class Interaction:
    def __init__(self, each=60):
        draw = random.Random(0)
        self.user, self.item = {f"u{n}": n for n in range(USERS)}, {f"i{n}": n for n in range(ITEMS)}
        names = list(self.item)
        self.training_set_u = {user: dict.fromkeys(draw.sample(names, each), 1) for user in self.user}
        self.training_data = [(user, item) for user, seen in self.training_set_u.items() for item in seen]
        self.seen = numpy.zeros((USERS, ITEMS), bool)
        for user, item in self.training_data:
            self.seen[self.user[user], self.item[item]] = True
        self.pairs = numpy.array([(self.user[user], self.item[item]) for user, item in self.training_data])


def next_batch_pairwise(data, batch_size, n_negs=4):
    random.shuffle(data.training_data)
    item_list = list(data.item)
    for ptr in range(0, len(data.training_data), batch_size):
        u_idx, i_idx, j_idx = [], [], []
        for user, item in data.training_data[ptr : ptr + batch_size]:
            u_idx.append(data.user[user])
            i_idx.append(data.item[item])
            for _ in range(n_negs):
                neg_item = random.choice(item_list)
                while neg_item in data.training_set_u[user]:
                    neg_item = random.choice(item_list)
                j_idx.append(data.item[neg_item])
        yield u_idx, i_idx, j_idx


def next_batch_at_once(data, batch_size, n_negs=4):
    numpy.random.shuffle(data.pairs)
    for ptr in range(0, len(data.pairs), batch_size):
        pairs = data.pairs[ptr : ptr + batch_size]
        users = numpy.repeat(pairs[:, 0], n_negs)
        drawn = numpy.random.randint(0, ITEMS, len(users))
        left = numpy.flatnonzero(data.seen[users, drawn])
        while len(left):
            drawn[left] = numpy.random.randint(0, ITEMS, len(left))
            left = left[data.seen[users[left], drawn[left]]]
        yield pairs[:, 0], pairs[:, 1], drawn


class LightGCN:
    def __init__(self, data):
        self.data, self.gpu = data, Device(spin=False)
        self.optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(8))], lr=1e-3)

    def train(self):
        samples, draw = 0, next_batch_at_once if FIX else next_batch_pairwise
        while not over():
            for n, (user_idx, pos_idx, neg_idx) in enumerate(draw(self.data, 4096)):
                parts = [torch.as_tensor(part) for part in (user_idx, pos_idx, neg_idx)]
                self.gpu.copy(sum(part.nbytes for part in parts))
                self.gpu.launch(0.015, "propagate, bpr loss, backward")
                self.optimizer.step()
                if n % 50 == 0:
                    self.gpu.item()
                samples += len(parts[0])
                if over():
                    break
        return samples


def main():
    torch.set_num_threads(1)
    model = LightGCN(Interaction())
    done(model.gpu, model.train())


if __name__ == "__main__":
    main()
