"""Grammars that read in context; where torch is not installed, nothing of this is run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latree
from latree.data import toy
from latree.errors import LatreeError
from latree.inference.forest import PASS, P
from latree.inference.forms.sparse import sparse, with_words
from latree.inference.potentials import Potentials
from latree.inference.subtypes import Layout
from latree.inference.sweep import inside_only
from latree.kinds.gm_lveg.model import GmLvegTagger
from latree.kinds.lvg.model import Lvg
from latree.kinds.product.model import Product
from latree.learning.checkpoint import Checkpoint
from latree.learning.loop import Progress, Training, after_steps
from tests.command import folder
from tests.command import latree as command
from tests.tiny_transformer import transformer

torch = pytest.importorskip("torch", reason="torch is not installed (extra neural)")

from latree.kinds.neural import NeuralOptions  # noqa: E402
from latree.kinds.neural.encoders import state_arrays  # noqa: E402
from latree.kinds.neural.model import NeuralParser, NeuralTagger  # noqa: E402
from latree.kinds.neural.spelling import Vocabulary  # noqa: E402
from latree.kinds.neural.training import Averages, backward, parameter_groups  # noqa: E402

torch.set_num_threads(1)  # as the command line has it: threads that wait for each other on busy cores take minutes

TREES = [tree for tree in latree.read_trees(toy("train")) if len(tree.words()) < 12][:40]
TAGGED = [(tuple(tree.words()), tuple(tree.tags())) for tree in TREES]
SMALL: dict[str, Any] = {"epochs": 2, "width": 6, "dim": 2, "batch": 8, "dropout": 0.2}


@cache
def pruner() -> Lvg:
    return Lvg(rounds=1, split_iterations=4, merge_iterations=2, smooth_iterations=2).fit(TREES)


@cache
def parser() -> NeuralParser:
    return NeuralParser(pruner=pruner(), **SMALL).fit(TREES)


@cache
def tagger() -> NeuralTagger:
    return NeuralTagger(**SMALL).fit(TAGGED)


def untrained(kind: Any, data: list[Any], **options: Any) -> tuple[Any, list[Any]]:
    """A model that has learned nothing, exact to the last digit, and its examples."""
    model = kind(**{**SMALL, "dropout": 0.0, **options})
    prepared = model.prepare_data(data)
    model.fit_pruner(prepared, Training())
    model.adopt(model.pruner)
    model.prepare()
    examples = model.examples(prepared)
    torch.manual_seed(0)
    model.network = model.make_network(examples, np.random.default_rng(0)).double()
    return model, examples


@pytest.mark.parametrize(("kind", "data"), [(NeuralParser, TREES[:20]), (NeuralTagger, TAGGED[:20])])
def test_gradients_are_the_slopes_of_log_p(kind: Any, data: list[Any]) -> None:
    options = {"rounds": 1, "word_dropout": 0.0} if kind is NeuralParser else {"word_dropout": 0.0}
    model, examples = untrained(kind, data, **options)
    batch, network = model.batch(examples[:6]), model.network
    network.double()
    backward(batch, network)
    rng, step = np.random.default_rng(1), 1e-6
    for name, parameter in network.named_parameters():
        if parameter.grad is None:
            assert name.startswith(("fence", "edge", "label"))  # a tagger weighs no spans
            continue
        flat, place = parameter.data.view(-1), int(rng.integers(parameter.numel()))
        kept, values = float(flat[place]), []
        for change in (step, -step):
            flat[place] = kept + change
            values.append(backward_value(batch, network))
        flat[place] = kept
        slope = -(values[0] - values[1]) / (2 * step) / len(batch.sentences)
        assert float(parameter.grad.view(-1)[place]) == pytest.approx(slope, rel=1e-4, abs=1e-7), name


def backward_value(batch: Any, network: Any) -> float:
    """The sum of log P(T | w), whatever happens to the gradients."""
    twin = [None if one.grad is None else one.grad.clone() for one in network.parameters()]
    value = backward(batch, network)
    for one, kept in zip(network.parameters(), twin, strict=True):
        one.grad = kept
    return value


def test_a_network_that_says_nothing_leaves_the_grammar_as_it_is() -> None:
    model, _ = untrained(NeuralParser, TREES, rounds=1, spread=0.0)
    for layer in (model.network.word, model.network.label[-1]):
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    model.network.eval()
    words = TREES[0].words()
    search = model.searched(words)
    assert search is not None
    forest, grammar = search.forest, model.grammar
    found = model.log_inside(forest, search.reading)
    # The same sum with numbers for rules; on the vector of every node two equal Gaussians meet.
    widths = np.ones(len(grammar.symbols), np.int64)
    layout, emissions = Layout(grammar, widths), np.exp(model.prior(search.reading.pruner.tags))
    weights = with_words(sparse(layout, model.pruner.coarse_theta()), layout, emissions)
    nodes = (forest.rule != PASS) & (forest.symbol[forest.ends[:, P]] > 0)
    meeting = np.where(nodes, -0.5 * model.options.dim * np.log(4 * np.pi), 0.0)
    expected = inside_only(forest, weights, widths, Potentials(edge=meeting))[0]
    assert found == pytest.approx(expected, rel=1e-10)


def test_words_begin_with_what_the_lexicon_says() -> None:
    """Where it is known; a word of one token is what it would be without it."""
    model, examples = untrained(NeuralParser, TREES, rounds=1)
    sentences, lexicon = [one.words for one in examples], model.lexicon
    learned, read = model.prior_in_training(sentences), model.prior(model.pruner.read_all(sentences).tags)
    words = [word for one in sentences for word in one]
    once = np.array([words.count(word) == 1 for word in words])
    assert once.any()
    assert not once.all()
    assert (learned[~once] == read[~once]).all()
    assert (learned.max(1) == 0.0).all()
    shares = np.exp(learned) * np.bincount([tag for one in examples for tag in one.tags], minlength=read.shape[1])
    for k in np.flatnonzero(once):
        first = words[k] == next(one for one in sentences if words[k] in one)[0]
        guessed = lexicon.by_looks(words[k], first)
        tags = np.add.reduceat(guessed, np.cumsum([0, *model.pruner.widths()[model.grammar.first_tag :][:-1]]))
        likely = tags > 0.05
        assert shares[k][likely] / shares[k][likely].sum() == pytest.approx(tags[likely] / tags[likely].sum(), rel=1e-6)
    model.options = replace(model.options, informed=False)
    assert not model.prior_in_training(sentences).any()


def test_weights_of_spans_that_are_zero_are_none() -> None:
    model, _ = untrained(NeuralParser, TREES, rounds=1)
    search = model.searched(TREES[1].words())
    forest, reading = search.forest, search.reading
    weighed = model.log_inside(forest, reading)
    torch.nn.init.zeros_(model.network.label[-1].weight)
    torch.nn.init.zeros_(model.network.label[-1].bias)
    nothing = model.log_inside(forest, reading)
    model.options = replace(model.options, spans=False)
    assert (model.log_inside(forest, reading) == nothing).all()
    assert (weighed != nothing).all()


def test_a_list_of_trees_has_their_probabilities() -> None:
    model, words = parser(), TREES[2].words()
    listed = model.kbest(words, 200)
    total = sum(one.probability for one in listed)
    assert 0.0 < total <= 1.0 + 1e-9
    assert listed[0].tree == model.parse(words).tree
    for one in model.posteriors(words):
        assert 0.0 <= one.probability <= 1.0 + 1e-9


def test_products_have_a_distribution_of_their_own() -> None:
    product, words = Product([pruner(), parser()]), TREES[2].words()
    listed = product.kbest(words, 200)
    assert sum(one.probability for one in listed) <= 1.0 + 1e-9
    assert listed[0].tree == product.parse(words).tree


@pytest.mark.parametrize("make", [parser, tagger])
def test_a_model_is_the_same_before_and_after_its_file(make: Any) -> None:
    model, path = make(), folder() / f"{make.__name__}.latree"
    model.save(path)
    again = latree.load(path)
    for tree in TREES[:5]:
        one, other = (next(m.analyse([tree.words()])) for m in (model, again))
        assert one == other


def test_batches_change_nothing_but_digits() -> None:
    model, sentences = parser(), [tree.words() for tree in TREES[:9]]
    together = list(model.parse_all(sentences))
    for words, one in zip(sentences, together, strict=True):
        alone = model.parse(words)
        assert alone.log_marginal == pytest.approx(one.log_marginal, rel=1e-2)


@pytest.mark.parametrize(("kind", "data"), [(NeuralParser, TREES), (NeuralTagger, TAGGED)])
def test_a_training_that_is_taken_up_ends_as_it_would_have(kind: Any, data: list[Any], tmp_path: Path) -> None:
    more = {"pruner": pruner()} if kind is NeuralParser else {}
    whole = kind(**SMALL, **more).fit(data)
    again = kind(**SMALL, **more).fit(data)
    assert same_weights(whole, again)

    def stop(progress: Progress) -> None:
        if not progress.inside and progress.step == 1:
            raise KeyboardInterrupt

    checkpoint = Checkpoint(tmp_path / "checkpoint", {})
    with pytest.raises(KeyboardInterrupt):
        kind(**SMALL, **more).fit(data, Training(after_steps(stop), checkpoint=checkpoint))
    resumed = kind(**SMALL, **more).fit(data, Training(checkpoint=checkpoint, resume=True))
    assert same_weights(whole, resumed)


def test_what_a_model_is_used_with_is_a_mean_of_steps() -> None:
    model, _ = untrained(NeuralTagger, TAGGED)
    averages, rng, seen = Averages(model.network, window := 3), np.random.default_rng(0), list[Any]()
    name, weights = next(iter(model.network.named_parameters()))
    for _ in range(5):
        with torch.no_grad():
            weights += torch.as_tensor(rng.normal(size=weights.shape))
        seen.append(weights.detach().clone())
        averages.add()
    expected = sum(seen[:window]) / window
    for one in seen[window:]:
        expected = expected + (one - expected) / window
    averages.swap()
    assert torch.allclose(weights, expected)
    assert torch.equal(averages.kept[name], seen[-1])  # training goes on from here
    averages.swap()
    assert torch.equal(weights, seen[-1])


def same_weights(one: Any, other: Any) -> bool:
    pairs = (state_arrays(model.network) for model in (one, other))
    first, second = pairs
    return all((first[name] == second[name]).all() for name in first)


@pytest.mark.parametrize("better", ["alone", "together"])
def test_held_out_data_says_whether_a_tagger_asks_its_pruner(better: str) -> None:
    def score(model: Any) -> float:
        return 2.0 if model.joint == (better == "together") else 1.0

    model = NeuralTagger(**SMALL).fit(TAGGED[:20], Training(score=score))
    assert model.joint == (better == "together")
    model.save(path := folder() / "joint.latree")
    again: Any = latree.load(path)
    assert again.joint == model.joint


def test_a_pruner_may_have_one_itself() -> None:
    below = GmLvegTagger(dim=2, epochs=1).fit(TAGGED)
    model = NeuralTagger(pruner=below, **SMALL).fit(TAGGED)
    assert model.bottom is below.pruner
    model.joint = True
    assert next(model.analyse([TREES[0].words()])).status == "ok"


def test_importing_latree_imports_no_torch() -> None:
    code = "import sys, latree, latree.cli; latree.kinds.registry.all_kinds(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", f"import latree.kinds.registry; {code}"], check=False).returncode == 0


# -- transformers


def test_a_transformer_becomes_part_of_the_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (extra neural)")
    options = {name: value for name, value in SMALL.items() if name != "width"}
    model = NeuralParser(pruner=pruner(), encoder=str(transformer()), **options).fit(TREES)
    model.save(tmp_path / "model.latree")
    again = latree.load(tmp_path / "model.latree")
    words = TREES[0].words()
    assert again.parse(words) == model.parse(words)
    assert str(transformer()) not in str(model.state().header["encoder"])  # the file is the same on every machine
    long = TREES[0].words() * 6 + ["\u200b", "x" * 300]  # more pieces than it has places for; a word without any
    assert again.parse(long).tokens == tuple(long)


def test_a_transformer_that_reads_no_capitals_is_told_of_them_by_letters() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (extra neural)")
    from latree.kinds.neural.encoders import make_encoder

    torch.manual_seed(0)
    encoder = make_encoder(NeuralOptions(encoder=str(transformer())), [["the", "The", "cat"]]).eval()
    small, large = (encoder([[word, "cat"]]) for word in ("the", "The"))
    assert not torch.allclose(small, large)
    torch.nn.init.zeros_(encoder.spelt.weight)
    small, large = (encoder([[word, "cat"]]) for word in ("the", "The"))
    assert torch.equal(small, large)


def test_a_word_is_the_mean_of_its_first_and_last_piece_in_all_layers() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (extra neural)")
    from latree.kinds.neural.pretrained import Pretrained

    torch.manual_seed(0)
    options, words = NeuralOptions(encoder=str(transformer())), ["cat", "telescopes", "saw"]
    encoder = Pretrained.found(options, Vocabulary([])).eval()
    (window,) = encoder._windows(words)
    ids, last = window
    assert last[1] - last[0] > 1  # a word of several pieces
    layers = encoder.body(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
    for shares in (torch.zeros(len(layers)), torch.randn(len(layers))):
        encoder.shares.data = shares
        mixed = sum(share * layer[0] for share, layer in zip(shares.softmax(0), layers, strict=True))
        expected = torch.stack([(mixed[last[0] + 1] + mixed[last[1]]) / 2, (mixed[last[1] + 1] + mixed[last[2]]) / 2])
        assert torch.allclose(encoder._read(encoder.body, [window])[1:], expected, atol=1e-5)


def test_pieces_are_hidden_in_training_alone() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (extra neural)")
    from latree.kinds.neural.pretrained import Pretrained

    torch.manual_seed(0)
    options = NeuralOptions(encoder=str(transformer()), piece_dropout=1.0)
    encoder = Pretrained.found(options, Vocabulary([]))
    encoder.body.eval()  # nothing else is random
    one, other = ([next(iter(encoder._windows([word])))] for word in ("cat", "the"))
    assert torch.equal(encoder._read(encoder.body, one), encoder._read(encoder.body, other))
    encoder.eval()
    assert not torch.equal(encoder._read(encoder.body, one), encoder._read(encoder.body, other))


def test_the_lower_a_layer_of_a_transformer_the_shorter_its_steps() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (extra neural)")
    options = {"encoder": str(transformer()), "encoder_rate": 1e-4, "depth_rate": 0.5, "width": NeuralOptions().width}
    model, _ = untrained(NeuralTagger, TAGGED, **options)
    rate = {id(one): group["lr"] for group in parameter_groups(model.network, model.options) for one in group["params"]}
    named = dict(model.network.named_parameters())
    assert rate.keys() == {id(one) for one in named.values()}
    layers = sorted({name.split("layer.")[1].split(".")[0] for name in named if ".body." in name and "layer." in name})
    for depth, layer in enumerate(reversed(layers)):
        told = {rate[id(one)] for name, one in named.items() if ".body." in name and f"layer.{layer}." in name}
        assert told == {1e-4 * 0.5**depth}
    pieces = next(one for name, one in named.items() if "word_embeddings" in name)
    assert rate[id(pieces)] == 1e-4 * 0.5 ** len(layers)
    assert rate[id(model.network.word.weight)] == model.options.rate


def test_a_transformer_in_half_precision_is_trained_in_full(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (extra neural)")
    from safetensors.torch import load_file, save_file

    from latree.kinds.neural.encoders import make_encoder, restore_encoder

    half = Path(shutil.copytree(transformer(), tmp_path / "half"))
    weights = {name: weight.half() for name, weight in load_file(half / "model.safetensors").items()}
    save_file(weights, half / "model.safetensors", metadata={"format": "pt"})
    encoder = make_encoder(options := NeuralOptions(encoder=str(half)), [["cat"]])
    again = restore_encoder(options, *encoder.parts())
    for one in (encoder, again):
        assert {parameter.dtype for parameter in one.parameters()} == {torch.float32}


def test_a_device_that_is_not_there_is_told() -> None:
    with pytest.raises(LatreeError, match="--device abacus: not to be had here"):
        NeuralTagger(device="abacus", **SMALL).fit(TAGGED)
    with pytest.raises(LatreeError, match="--device abacus: not to be had here"):
        tagger().device = "abacus"


def test_where_a_network_reads_is_chosen_when_a_model_is_used() -> None:
    tagger().save(path := folder() / "reads.latree")
    assert command("tag", "-m", path, "--device", "cpu", stdin="the cat sees\n").out.count("/") == 3
    assert "--device abacus: not to be had here" in command("tag", "-m", path, "--device", "abacus", stdin="cats\n").err
    pruner().save(plain := folder() / "plain.latree")
    refused = command("parse", "-m", plain, "--device", "cpu", stdin="cats\n")
    assert refused.code == 1
    assert "--device is for neural; this is a lvg" in refused.err


def test_what_is_no_transformer_is_told(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (extra neural)")
    from latree.kinds.neural.pretrained import folder_of

    with pytest.raises(LatreeError, match=r"no config\.json and no tokenizer\.json there"):
        folder_of(str(tmp_path))
    with pytest.raises(LatreeError, match="the package holds no folder"):
        NeuralParser(encoder="numpy").fit(TREES)  # told before the pruner is trained
