"""Head rules against trees whose heads were found by hand, one set a table; tables as files, and their faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from latree.errors import InputError, LatreeError
from latree.text.head_table import TABLES
from latree.text.heads import HeadRules
from latree.text.tree import Tree
from tests.heads import head_word

# A table, a tree, and the head words of its phrases of two children or more, from the top down, left to right.
CHECKED = [
    # subject NP and VP with auxiliary: the auxiliary heads, as published
    ("penn", "(S (NP (DT the) (NN cat)) (VP (MD will) (VP (VB eat) (NP (NN fish)))) (. .))", "will cat will eat"),
    ("penn", "(VP (TO to) (VP (VB go) (PP (TO to) (NP (NNP Rome)))))", "to go to"),
    ("penn", "(NP (NP (DT a) (NN man)) (PP (IN in) (NP (JJ black) (NNS clothes))))", "man man in clothes"),
    ("penn", "(SBAR (IN that) (S (NP (PRP it)) (VP (VBD rained))))", "that rained"),
    ("penn", "(SBAR (WHNP (WP who)) (S (VP (VBD left) (ADVP (RB early)))))", "who left"),
    ("penn", "(QP (RBR more) (IN than) ($ $) (CD 500) (CD million))", "$"),
    ("penn", "(QP (RB about) (CD 500) (CD million))", "about"),
    ("penn", "(NP (CD 500) (CD million))", "million"),
    # possessives: POS heads the inner NP, the noun the outer one
    ("penn", "(NP (NP (DT the) (NN dog) (POS 's)) (JJ long) (NN tail))", "tail 's"),
    # coordination: the first conjunct, of phrases, of words and behind a comma
    ("penn", "(NP (NP (NNS cats)) (CC and) (NP (NNS dogs)))", "cats"),
    ("penn", "(NP (NNS cats) (CC and) (NNS dogs))", "cats"),
    ("penn", "(NP (NNS cats) (, ,) (CC and) (NNS dogs))", "cats"),
    ("penn", "(S (CC But) (NP (PRP it)) (VP (VBZ is) (ADJP (RB very) (JJ old))))", "is is old"),
    ("penn", "(VP (VP (VBD came)) (, ,) (VP (VBD saw)) (CC and) (VP (VBD won)))", "came"),
    # unary chains, and a root that the table does not name
    ("penn", "(ROOT (S (VP (VB go) (PRT (RP on)))) (. .))", "go go"),
    ("penn", "(SQ (VBZ is) (NP (DT this) (NN it)) (ADJP (JJ new)))", "is it"),
    ("penn", "(PRN (-LRB- -LRB-) (NP (DT the) (NN one)) (-RRB- -RRB-))", "one one"),
    ("idn", "(S (NP (NN binatang) (PR ini)) (VP (MD akan) (VP (VB menaiki) (NP (NN kereta) (NN metro)))) (Z .))",
     "menaiki binatang menaiki menaiki kereta"),
    ("idn", "(NP (NP (NN direksi)) (Z ,) (NP (NN komisaris)) (CC dan) (NP (NN pemegang) (JJ utama)))",
     "direksi pemegang"),
    ("historical", "(IP (CONJ og) (HVPI hefur) (ADVP (ADV nú)) (VBN lagzt) (PP (P í) (NP (N-A skaut) (NP (N-G s)))))",
     "lagzt í skaut"),
    ("historical", "(IP (NP (NP (NPR-A Júda)) (CONJP (CONJ og) (NP (NS-A Bröður) (NP (PRO-G hans))))) (BEDI var))",
     "var Júda Bröður Bröður"),
    ("historical", "(CP (C sum) (IP (NP (PRO-N tit)) (VBPI siga)))", "siga siga"),
    ("historical", "(IP (CONJO Et) (NP (Q tous)) (EJ furent) (VPP remplis) (PP (P d@) (NP (D @u) (NPRS esperit))))",
     "remplis d@ esperit"),
    ("keyaki", "(CP (IP (PP (NP (PRO 彼)) (P に) (P は)) (VB 見) (P て) (VB2 い) (AXD た)) (P か) (PU 。))",
     "見 見 に"),
    ("keyaki", "(NP (IP (PP (NP (N 道)) (P を)) (VB 歩く)) (N とき))", "とき 歩く を"),
    ("keyaki", "(IP (PP;* (NP (N 犬)) (P は)) (NP (D この) (N 動物)) (AX だ))", "だ は 動物"),
    ("alpino", "(ROOT (smain (np (det de) (noun man)) (verb heeft) (ppart (np (adj oud) (noun brood)) (verb gegeten)))"
     " (punct .))", "heeft heeft man gegeten brood"),
    ("alpino", "(oti (comp om) (ti (noun die) (comp te) (inf (verb zien))))", "om te"),
    ("alpino", "(np (noun man) (rel (noun die) (ssub (conj (np (noun a)) (vg en) (np (noun b))) (verb zag))))",
     "man die zag a"),
    ("cess", "(S (neg (rn No)) (grup (vaip3s0 ha) (vmp00sm visto)) (sn (espec (da0fs0 la)) (grup (ncfs000 casa)"
     " (sp (prep (sps00 de)) (sn (grup (np0000p Ana))))))  (Fp .))", "visto visto casa casa de"),
    ("cess", "(sn.co-SUJ (sn (grup.nom.ms (ncms000 pan))) (coord (cc y)) (sn (grup.nom (ncms000 vino))))", "pan"),
    ("cess", "(S* (Fe x) (sn (grup (s (grup (aq0fs0 grande))) (ncfs000 casa))) (Fe x))", "casa casa"),
    ("floresta", "(fcl (np (art o) (n homem) (adj velho)) (vp (v-fin foi) (v-pcp visto)) (pp (prp em) (np (n casa)))"
     " (. .))", "visto homem visto em"),
    ("floresta", "(cu (np (art o) (n pai)) (conj-c e) (np (art a) (n mãe)))", "pai pai mãe"),
    ("sinica", "(S (NP (Nhaa 我)) (PP (P07 把) (NP (Nab 月亮))) (VG2 叫做) (NP (V‧的 (VH11 白) (DE 的)) (Nab 盤)))",
     "叫做 把 盤 白"),
    ("sinica", "(NP (NP (Nab 狗)) (Caa 和) (NP (Nab 貓)))", "狗"),
    ("sinica", "(GP (NP (DM 這種) (Nad 政治)) (Ng 下))", "下 政治"),
    ("greynir", "(IP (NP (lo_et saga) (no_et bók)) (VP (VP (so_0 hefur)) (VP (so_1 haldið)) (ADVP (ao áfram))))",
     "haldið bók haldið"),
    ("greynir", "(CP (C (stt sem)) (IP (NP (fn_et það)) (VP (VP (so_0 var)) (PP (P (fs_þgf á)) (NP (no_et x))))))",
     "var var var á"),
    ("macula", "(CL (ADV (pp (prep εἰς) (np (pron τοῦτο)))) (conj γὰρ) (CL (V (vp (verb ἐκλήθητε))) (O (np (det τὸν)"
     " (np (np (noun λόγον)) (np (noun Θεοῦ)))))))", "ἐκλήθητε εἰς ἐκλήθητε λόγον λόγον"),
    ("default", "(NP (D the) (N dog) (N house) (PP (P in) (NP (N town))))", "dog in"),
    ("default", "(vp (adv often) (v-fin sees) (np (art the) (noun cat)))", "sees cat"),
    ("default", "(X (, ,) (CC and) (Y y) (Z z))", "y"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "text", "expected"), CHECKED)
def test_hand_checked_heads(table: str, text: str, expected: str) -> None:
    rules = HeadRules.named(table)
    phrases = [node for node in Tree.read(text).subtrees() if len(node.children) > 1]
    assert [head_word(rules, phrase) for phrase in phrases] == expected.split()


def test_every_table_has_hand_checked_trees() -> None:
    assert {table for table, _, _ in CHECKED} == {*TABLES, "default"}


def test_searches_go_on_from_line_to_line_and_end_where_the_last_line_says() -> None:
    rules = HeadRules.parse(["NP right A|B C", "NP left D"], "test", "<test>")
    assert rules.head("NP", ["D", "B", "A", "C", "E"]) == 2
    assert rules.head("NP", ["D", "D", "C", "E"]) == 2
    assert rules.head("NP", ["E", "D", "D"]) == 1
    assert rules.head("NP", ["E", "F"]) == 0


def test_stars_and_backslashes() -> None:
    rules = HeadRules.parse(["S* left V*", r"\S* left X", r"Q left \# \V*"], "test", "<test>")
    assert rules.head("SBAR", ["N", "VBD"]) == 1
    assert rules.head("S*", ["VBD", "X"]) == 1
    assert rules.head("Q", ["VBD", "V*"]) == 1
    assert rules.head("Q", ["V*", "#"]) == 1


def test_the_end_for_unlisted_categories() -> None:
    children = ["NN", "NN", "IN"]
    assert HeadRules.default().head("NP", children) == 0
    assert HeadRules.default("right").head("NP", children) == 1
    assert HeadRules.default("right").head("Q", [*children, "."]) == 2
    assert HeadRules.default().head("Q", [",", "."]) == 0
    with pytest.raises(LatreeError, match="middle"):
        HeadRules.default("middle")  # type: ignore[arg-type]


def test_no_children_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="no children"):
        HeadRules.default().head("NP", [])


@pytest.mark.parametrize("name", [*TABLES, "default"])
def test_json_keeps_everything(name: str) -> None:
    rules = HeadRules.named(name)
    assert HeadRules.from_json(json.loads(json.dumps(rules.to_json()))) == rules
    assert HeadRules.from_json(HeadRules.default("right").to_json()) == HeadRules.default("right")


def test_a_table_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("# my own\n\nNP right NN NNS NP  # nouns\nVP left V*\n%minor PU\n%unlisted right\n")
    rules = HeadRules.read(path)
    assert (rules.name, rules.unlisted, rules.minor) == ("mine", "right", ("PU",))
    assert rules.head("NP", ["NN", "NNS", "NN", "PP"]) == 2
    assert rules.head("ZP", ["A", "B", "PU"]) == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("NP right NN\nVP\n", 2, "category 'VP' alone"),
        ("NP NN NNS\n", 1, "'NN' after category 'NP'"),
        ("NP left NN||NNS\n", 1, "empty label"),
        ("# x\n\n%punct ,\n", 3, "unknown setting '%punct'"),
        ("%unlisted\n", 1, "expected left or right"),
        ("%unlisted up\n", 1, "expected left or right"),
    ],
)
def test_faults_are_told_with_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as fault:
        HeadRules.read(path)
    assert str(fault.value).startswith(f"{path}:{line}: ")


def test_empty_and_missing_tables(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("# nothing\n")
    with pytest.raises(LatreeError, match="no head rules"):
        HeadRules.read(path)
    with pytest.raises(LatreeError, match="cannot be read"):
        HeadRules.read(tmp_path / "none.txt")
    with pytest.raises(LatreeError, match="unknown head table 'pen'; expected one of penn"):
        HeadRules.named("pen")


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ("ROOT S NP VP PP SBAR ADJP ADVP WHNP QP NX", "penn"),
        ("S NP VP PP SBAR QP ADJP NN NNP VB Z SC CD NND NEG PR", "idn"),
        ("IP NP PP CP ADVP CONJP WNP N-A VBDI D-N", "historical"),
        ("IP NP PP NUMCLP PRN CONJP NML AXD VB2", "keyaki"),
        ("smain np pp ssub inf ppart mwu conj", "alpino"),
        ("np pp fcl icl cu vp ap acl", "floresta"),
        ("sn grup espec sp prep S sadv", "cess"),
        ("foo bar baz", "default"),
        ("", "default"),
    ],
)
def test_the_guess_by_labels(labels: str, name: str) -> None:
    assert HeadRules.for_labels(labels.split()).name == name
