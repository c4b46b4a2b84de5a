"""Reading with whole numbers of eight bits; where torch is not installed, nothing of this is run."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra neural)")
pytest.importorskip("transformers", reason="transformers is not installed (extra neural)")

from latree.kinds.neural import NeuralOptions  # noqa: E402
from latree.kinds.neural.eight_bits import EightBitLayers, EightBits, product, whole_numbers  # noqa: E402
from latree.kinds.neural.encoders import letters_of  # noqa: E402
from latree.kinds.neural.pretrained import STEP, Pretrained  # noqa: E402
from tests.tiny_transformer import transformer  # noqa: E402

SENTENCES = [["the", "cat", "sees", "dogs"], ["cats"], ["the", "dogs"] * STEP, ["a", "cat"] * 40]


def reader() -> Pretrained:
    torch.manual_seed(1)
    options = NeuralOptions(encoder=str(transformer()), layers=2)
    encoder = Pretrained.found(options, letters_of(SENTENCES))
    encoder.eval()
    return encoder


@pytest.mark.parametrize("fast", [True, False])
def test_products_are_exact(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fast:
        monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    rng = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-127, 128, (rows, 2500), generator=rng, dtype=torch.int8) for rows in (7, 9))
    a[0], b[0] = 127, 127  # as large as sums get
    assert torch.equal(product(a, b).long(), a.long() @ b.long().T)


def test_a_linear_map_errs_by_no_more_than_half_a_step_each() -> None:
    torch.manual_seed(0)
    linear, vectors = torch.nn.Linear(50, 20), torch.randn(3, 4, 50)
    vectors[0, 0] = 0.0
    (_, of_weights), (_, of_vectors) = whole_numbers(linear.weight), whole_numbers(vectors.flatten(0, 1))
    error = (EightBits(linear.weight, linear.bias)(vectors) - linear(vectors)).abs().flatten(0, 1)
    halves = (of_weights / 2)[:, 0], of_vectors / 2
    bound = halves[1] * linear.weight.abs().sum(1) + vectors.flatten(0, 1).abs().sum(1, keepdim=True) * halves[0]
    assert (error <= bound + 50 * halves[0] * halves[1] + 1e-5).all()


def test_layers_are_those_of_torch() -> None:
    encoder, vectors = reader(), torch.randn(2, 5, 12)
    beyond = torch.tensor([[False] * 5, [False, False, False, True, True]])
    with torch.inference_mode():
        exact, near = encoder.top(vectors, src_key_padding_mask=beyond), EightBitLayers(encoder.top)(vectors, beyond)
    torch.testing.assert_close(near[~beyond], exact[~beyond], rtol=0.1, atol=0.1)


def test_a_sentence_is_read_alike_among_others() -> None:
    encoder = reader()
    with torch.inference_mode():
        together = encoder(SENTENCES).split([len(words) for words in SENTENCES])
        for rows, words in zip(together, SENTENCES, strict=True):
            torch.testing.assert_close(encoder([words]), rows, rtol=1e-4, atol=1e-4)


def test_all_sentences_are_read_in_one_go_as_by_like_length(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = reader()
    encoder.eight_bits = False
    longer = [*SENTENCES, 5 * SENTENCES[-1]]
    with torch.inference_mode():
        apart = encoder(longer)
        monkeypatch.setattr(encoder, "_together", lambda lengths: [np.arange(len(lengths))])  # as on a GPU
        torch.testing.assert_close(encoder(longer), apart, rtol=1e-4, atol=1e-4)


def test_eight_bits_are_near_to_all_bits() -> None:
    encoder = reader()
    with torch.inference_mode():
        near = encoder(SENTENCES)
        encoder.eight_bits = False
        exact = encoder(SENTENCES)
    assert not torch.equal(near, exact)
    torch.testing.assert_close(near, exact, rtol=0.1, atol=0.2)


def test_weights_that_change_are_read_anew() -> None:
    encoder = reader()
    with torch.inference_mode():
        before = encoder(SENTENCES)
        changed = {name: 2 * array for name, array in encoder.state_dict().items()}
        encoder.load_state_dict(changed)
        loaded = encoder(SENTENCES)
    assert not torch.equal(before, loaded)
    encoder.train()
    with torch.no_grad():
        for weight in encoder.parameters():
            weight *= 0.5
    encoder.eval()
    with torch.inference_mode():
        assert torch.equal(encoder(SENTENCES), before)
