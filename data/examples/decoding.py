# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Work on logits between a language model and the choice of its next token."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RepetitionPenalty(nn.Module):
    """Logits of tokens that already occurred are made less likely, whatever their sign.

    logits: (batch, vocab_size); previous: (batch, length) int64 in [0, vocab_size)
    """

    def __init__(self, penalty: float = 1.3):
        super().__init__()
        self.penalty = penalty

    def forward(self, logits: Tensor, previous: Tensor) -> Tensor:
        seen = logits.gather(1, previous)
        damped = torch.where(seen > 0, seen / self.penalty, seen * self.penalty)
        return logits.scatter(1, previous, damped)


class NucleusProbabilities(nn.Module):
    """Smallest set of tokens that holds `top_p` of the mass, renormalised; zero elsewhere.

    logits: (batch, vocab_size)
    """

    def __init__(self, top_p: float = 0.9, temperature: float = 0.8):
        super().__init__()
        self.top_p = top_p
        self.temperature = temperature

    def forward(self, logits: Tensor) -> Tensor:
        probs = F.softmax(logits / self.temperature, dim=-1)
        ranked, order = probs.sort(dim=-1, descending=True)
        mass_before = ranked.cumsum(dim=-1) - ranked
        kept = ranked.masked_fill(mass_before >= self.top_p, 0.0)
        kept = kept / kept.sum(dim=-1, keepdim=True)
        return torch.zeros_like(probs).scatter(1, order, kept)


class DraftAcceptance(nn.Module):
    """Speculative decoding without the dice: chance that each draft token survives, and the
    distribution from which a rejected one would be replaced.

    target_logits, draft_logits: (batch, draft_len, vocab)
    draft_tokens: (batch, draft_len) int64 in [0, vocab)
    """

    def forward(self, target_logits: Tensor, draft_logits: Tensor, draft_tokens: Tensor):
        p = target_logits.softmax(-1)
        q = draft_logits.softmax(-1)
        index = draft_tokens.unsqueeze(-1)
        accept = (p.gather(-1, index) / q.gather(-1, index)).squeeze(-1).clamp(max=1.0)
        excess = F.relu(p - q)
        return accept.cumprod(dim=1), excess / (excess.sum(dim=-1, keepdim=True) + 1e-9)


class ContrastiveDecoding(nn.Module):
    """Prefer what an expert finds likelier than an amateur, among tokens plausible to the expert.

    expert, amateur: (batch, vocab) logits -> (batch, vocab) log-probabilities
    """

    def __init__(self, plausibility: float = 0.1, strength: float = 0.5, floor: float = -30.0):
        super().__init__()
        self.plausibility = plausibility
        self.strength = strength
        self.floor = floor

    def forward(self, expert: Tensor, amateur: Tensor) -> Tensor:
        log_e = F.log_softmax(expert, dim=-1)
        log_a = F.log_softmax(amateur, dim=-1)
        threshold = self.plausibility * log_e.amax(dim=-1, keepdim=True).exp()
        contrast = (1 + self.strength) * log_e - self.strength * log_a
        return torch.where(log_e.exp() >= threshold, contrast, self.floor)


class PagedCacheAttention(nn.Module):
    """One decoding step: each sequence's keys and values lie in scattered pages of a cache.

    query: (batch, heads, head_dim)
    key_pages, value_pages: (num_pages, page_size, heads, head_dim)
    page_table: (batch, pages_per_seq) int64 in [0, num_pages)
    lengths: (batch,) int64 in [1, pages_per_seq * page_size]
    """

    def forward(
        self,
        query: Tensor,
        key_pages: Tensor,
        value_pages: Tensor,
        page_table: Tensor,
        lengths: Tensor,
    ) -> Tensor:
        keys = key_pages[page_table].flatten(1, 2)
        values = value_pages[page_table].flatten(1, 2)
        scores = torch.einsum("bhd,bnhd->bhn", query, keys) / query.size(-1) ** 0.5
        slot = torch.arange(keys.size(1), device=query.device)
        vacant = slot[None, :] >= lengths.clamp(min=1)[:, None]
        weight = scores.masked_fill(vacant.unsqueeze(1), float("-inf")).softmax(dim=-1)
        return torch.einsum("bhn,bnhd->bhd", weight, values)
