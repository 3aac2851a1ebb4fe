"""The loss compares each utterance with each centroid in three nested loops (HarryVolek/PyTorch_Speaker_Verification#33)."""

import torch
import torch.nn.functional as F
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

N, M = 4, 5  # speakers, utterances of each


class SpeakerDatasetTIMITPreprocessed(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.rand(M, 160, 40)


def get_centroid(embeddings, speaker_num, utterance_num):
    centroid = embeddings[speaker_num].sum(0) - embeddings[speaker_num][utterance_num]
    return centroid / (M - 1)


def get_cossim_prior(gpu, embeddings, centroids):
    cossim = torch.zeros(N, M, N)
    for speaker_num, speaker in enumerate(embeddings):
        for utterance_num, utterance in enumerate(speaker):
            for centroid_num, centroid in enumerate(centroids):
                if speaker_num == centroid_num:
                    centroid = get_centroid(embeddings, speaker_num, utterance_num)
                    gpu.launch(0.000004, "centroid")
                output = F.cosine_similarity(utterance, centroid, dim=0) + 1e-6
                gpu.launch(0.000004, "cosine_similarity")
                cossim[speaker_num][utterance_num][centroid_num] = output
                gpu.launch(0.000003, "copy")
    return cossim


def calc_loss_prior(gpu, sim_matrix):
    per_embedding_loss = torch.zeros(N, M)
    for j in range(N):
        for i in range(M):
            per_embedding_loss[j][i] = -(sim_matrix[j][i][j] - (torch.exp(sim_matrix[j][i]).sum() + 1e-6).log())
            gpu.launch(0.000004, "exp, sum, log")
    return per_embedding_loss.sum()


def get_cossim(gpu, embeddings, centroids):
    others = (embeddings.sum(1, keepdim=True) - embeddings) / (M - 1)
    cossim = F.cosine_similarity(embeddings[:, :, None], centroids[None, None], dim=3)
    own = F.cosine_similarity(embeddings, others, dim=2)
    same = torch.arange(N)
    cossim = cossim.clone()
    cossim[same, :, same] = own
    gpu.launch(0.00003, "cosine_similarity")
    return cossim + 1e-6


def calc_loss(gpu, sim_matrix):
    same = torch.arange(N)
    gpu.launch(0.00002, "exp, sum, log")
    return ((sim_matrix.exp().sum(2) + 1e-6).log() - sim_matrix[same, :, same]).sum()


class GE2ELoss(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.w, self.b = gpu, torch.nn.Parameter(torch.tensor(10.0)), torch.nn.Parameter(torch.tensor(-5.0))

    def forward(self, embeddings):
        torch.clamp(self.w, 1e-6)
        centroids = embeddings.mean(1)
        cossim = (get_cossim if FIX else get_cossim_prior)(self.gpu, embeddings, centroids)
        sim_matrix = self.w * cossim + self.b
        return (calc_loss if FIX else calc_loss_prior)(self.gpu, sim_matrix)


def train():
    gpu, samples = Device(), 0
    embedder_net, ge2e_loss = torch.nn.Linear(40, 64), GE2ELoss(gpu)
    optimizer = torch.optim.SGD([*embedder_net.parameters(), *ge2e_loss.parameters()], lr=0.01)
    loader = DataLoader(SpeakerDatasetTIMITPreprocessed(), batch_size=N, shuffle=True, num_workers=1, pin_memory=True)
    for batch_id, mel_db_batch in enumerate(loader):
        gpu.copy(mel_db_batch.nbytes, pinned=True, non_blocking=True)
        optimizer.zero_grad()
        embeddings = F.normalize(embedder_net(mel_db_batch[:, :, -1]), dim=2)
        gpu.launch(0.003, "lstm")
        loss = ge2e_loss(embeddings)
        loss.backward()
        gpu.launch(0.005, "backward")
        torch.nn.utils.clip_grad_norm_(embedder_net.parameters(), 3.0)
        optimizer.step()
        samples += N * M
        if batch_id % 30 == 0:
            gpu.item()  # the loss is printed
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    torch.set_num_threads(1)
    train()
