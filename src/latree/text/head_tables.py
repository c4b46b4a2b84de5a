"""Head tables for the annotation schemes that latree knows, in the format that `heads.HeadRules.read` reads.

`penn` is the published table (Magerman 1995, Collins 1999 appendix A).  The others are our own writing, each after the
principles named above it; where a treebank marks heads itself, the table was checked against the marks.  Apart from
`penn` and `alpino`, which follow their schemes, a clause's head is its lexical verb and not the auxiliary beside it.
"""

from __future__ import annotations

# Collins (1999, appendix A), who took over most of Magerman's table.  `NP`, where he gives a procedure, is five
# searches in turn; his first step (a final POS is the head) is part of the first, which starts at the right and has POS
# among its labels.  As published, auxiliaries head their VP, IN and WH-phrases their SBAR, the possessive 's its NP.
# Ours: NX and NML are searched as NP; X; ADVP|PRT; the tops of CRAFT (TITLE, HEADING, CAPTION, CIT).
PENN = """
ADJP left NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP right RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
ADVP|PRT right RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN RP
CONJP right CC RB IN
FRAG right
INTJ left
LST right LS :
NAC left NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
NP right NN|NNP|NNPS|NNS|NX|NML|POS|JJR
NP left NP
NP right $|ADJP|PRN
NP right CD
NP right JJ|JJS|RB|QP
NX right NN|NNP|NNPS|NNS|NX|NML|POS|JJR
NX left NP
NX right $|ADJP|PRN
NX right CD
NX right JJ|JJS|RB|QP
NML right NN|NNP|NNPS|NNS|NX|NML|POS|JJR
NML left NP
NML right $|ADJP|PRN
NML right CD
NML right JJ|JJS|RB|QP
PP right IN TO VBG VBN RP FW
PRN left
PRT right RP
QP left $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC right VP NP ADVP ADJP PP
S left TO IN VP S SBAR ADJP UCP NP
SBAR left WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ left SQ S SINV SBARQ FRAG
SINV left VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ left VBZ VBD VBP VB MD VP SQ
UCP right
VP left TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP left CC WRB JJ ADJP
WHADVP right CC WRB
WHNP left WDT WP WP$ WHADJP WHPP WHNP
WHPP right IN TO FW
X right
TITLE left S NP FRAG
HEADING left S NP FRAG
CAPTION left S NP FRAG
CIT left NP
%conjunction CC CONJP
%minor , . : `` '' -LRB- -RRB- HYPH NFP
%unlisted left
"""

# The Indonesian treebank writes Penn labels over a language that puts heads first.  Ours: nouns before what follows
# them, classifiers (NND) after nouns, the verb before its modal.
IDN = """
NP left NN|NNP|NP|PRP|FW|NAC|UCP NND PR|WH CD|QP OD DT JJ|ADJP VB|VP SBAR|S
VP left VB VP MD ADJP|JJ NP|NN|NNP PP
S left VP S SINV ADJP NP SBAR PP FRAG
SINV left VP S SINV ADJP NP
SQ left VP SQ S NP
SBARQ left SQ S
SBAR left SC IN WHNP WHADVP WH S SBAR FRAG
PP left IN SC PP
QP right CD OD QP NND
ADJP left JJ ADJP VB OD NN
ADVP left RB ADVP NEG MD IN SC NN
CONJP left CC
NAC left NN|NNP|NP CD
WHNP left WH
WHADVP left WH
FRAG left VP NP S
PRN left
UCP left
INTJ left UH
X left
%conjunction CC CONJP
%minor Z -LRB- -RRB- SYM
%unlisted left
"""

# The Penn parsed corpora of historical languages and their kin: IcePaHC, FarPaHC, PPCHY (Yiddish), MCVF (French, with
# tags of its own).  After the UD conversion of IcePaHC (Arnardóttir et al. 2020) the lexical verb heads IP and IP heads
# CP; unlike there a preposition heads its PP, as everywhere else here.  Tags may carry a case: N-A, D-N.
HISTORICAL = """
IP left V* DO*|DAN*|DAG* RD* BE*|EJ|EX|EPP|EG HV*|HAN*|HAG*|AJ|AX|APP|AG MD* IP VP ADJP NP PP ADVP CP
VP left V* DO* RD* BE* HV* VP
RRC left V* DAN*|DAG* RRC ADJP NP PP
CP left IP CP FRAG IPX NP ADVP
NP left N|N-*|N$|NS*|NPR*|NC* NX PRO*|WPRO*|ES*|MAN* NP ONE*|OTHER*|SUCH* Q|Q-*|QR*|QS*|QP|NUM*|ADJNUM
NP left ADJ|ADJ-*|ADJR*|ADJS*|ADJP|ADJX D|D-*|DZ* V* FW X H CP IP PP
NX left N|N-*|N$|NS*|NPR*|NC* NX PRO*|WPRO* NP ADJ* Q* D*
WNP left N|N-*|N$|NS*|NPR*|NC* WPRO* WD* WQ* WNP NP PRO* Q*
PP left P P-* DR+P PP RP ADV
WPP left P WPP PP
ADVP right ADV|ADV-*|ADVR*|ADVS*|ADVNEG|WADV* ADVP ALSO* NEG RP P N* Q*
WADVP right WADV* WADVP ADV* WPRO*
ADJP left ADJ|ADJ-*|ADJR*|ADJS*|ADJNUM|ADJZ ADJX VAN*|VAG*|VBN*|VPP|VG ADJP Q* SUCH* N* D*
ADJX left ADJ|ADJ-*|ADJR*|ADJS*|ADJNUM VAN*|VAG*|VBN*|VPP ADJX
WADJP left ADJ* WADJ* WADJP WADV* WQ*
QP right Q|Q-*|QR*|QS*|WQ*|ONE*|NUM*|N*
WQP right Q|Q-*|QR*|QS*|WQ* WQP
NUMP right NUM* NUMP ONE*
CONJP left
CL left CL PRO
INTJP left INTJ* ITJ*
ITJP left ITJ*
QTP left IP CP NP INTJ*|ITJ* PP
FRAG left IP CP NP PP ADJP ADVP
%conjunction CONJ CONJO CONJP
%minor , . " ' ; : - PUNC PON PONFP OPAREN CPAREN LS
%unlisted left
"""

# Keyaki (Japanese): heads stand last.  Ours: the first particle heads a PP (it tells the role, later ones the topic),
# the last verb or adjective an IP, and the copula where there is neither.
KEYAKI = """
IP right VB ADJI ADJN VB0 VB2 AX|AXD NP* PP* IP CP FRAG
CP right IP CP multi NP* PP* FRAG
PP left P PP CONJP
PP;* left P PP CONJP
NP right N|NPR|PRO|NML|WPRO|QN NP* NUMCLP|Q|NUM|FW IP CP ADJN|ADJI PP* D|PNL
NP;* right N|NPR|PRO|NML|WPRO|QN NP* NUMCLP|Q|NUM|FW IP CP ADJN|ADJI PP* D|PNL
NML right N|NPR|PRO|NML|QN NP* NUMCLP IP
NUMCLP right CL NUM|WNUM
CONJP left NP* PP* IP CONJP CONJ
ADVP right ADV|WADV ADJN|ADJI ADVP N VB
INTJP left INTJ
PRN right
FRAG right
multi right
%conjunction CONJ
%minor PU -LRB- -RRB- SYM LS
%unlisted right
"""

# Alpino (Dutch): the categories of Lassy and Alpino, whose heads (relations hd, cmp, rhd, whd) are part of the scheme:
# the finite verb heads a clause, te and dat head ti and cp, the relative or question phrase its clause.
# Ours: the first conjunct heads a coordination (crd there), the first nucleus a discourse unit (du).
ALPINO = """
np left noun|mwu|conj np name num|det|detp adj|ap verb|inf|ppart rel|whrel pp
pp left prep mwu pp fixed comp adv
smain left verb conj smain ppart|inf
sv1 left verb conj sv1
ssub right verb conj ssub ppart|inf
svan left comp
inf left verb inf conj ti
ppart left verb ppart conj ap|adj
ppres left verb
ti left comp mwu ti inf verb
oti left comp oti ti
ahi left mwu comp inf
cp left comp comparative mwu cp ssub
rel left noun|np|adv|pp|ap|adj|mwu|advp ssub
whrel left noun|np|adv|pp|ap|adj|mwu|advp ssub
whsub left noun|np|adv|pp|ap|adj|mwu|advp|det|num ssub
whq left noun|np|adv|pp|ap|adj|mwu|advp|conj sv1
ap right adj ap conj mwu verb|ppart num adv
advp right adv advp mwu part
detp right det|num|detp conj adv
mwu left
conj left
du left smain|sv1|ssub|whq|conj du np cp|oti|ti|inf|ppart
ROOT left smain|sv1|whq|conj|du
%conjunction vg
%minor punct
%unlisted left
"""

# CESS-ESP (Spanish), with labels cut at the first full stop or not: a grup is a phrase without its specifiers.
# Ours: the first noun, else the last full verb, heads a grup; the verb group or non-finite verb a clause.
CESS = r"""
S left grup.verb* grup infinitiu|gerundi|participi S|S.* \S* sn*|sp|sa|s|sadv
\S* left grup.verb* grup infinitiu|gerundi|participi S|S.* \S* sn*|sp|sa|s|sadv
S.* left grup.verb* grup infinitiu|gerundi|participi S|S.* \S* sn*|sp|sa|s|sadv
INC left S|S.* \S* sn*
sn* left grup|grup.nom* sn* relatiu S|S.* n*|p* s|sp
sp left prep sp sps* sn*
sp.* left prep sp sps* sn*
s left grup|grup.a* s|sa|s.* participi S|S.* sn* sp
s.* left grup|grup.a* s|sa|s.* participi S|S.* sn* sp
sa left grup|grup.a* sa|s|s.* participi S|S.* sn* sp
sa.* left grup|grup.a* sa|s|s.* participi S|S.* sn* sp
sadv left grup|grup.adv* sadv rg* sp
sadv.* left grup|grup.adv* sadv rg* sp
grup left n* W|Z*
grup right vm*|infinitiu|gerundi|participi vs* va*
grup left grup aq*|ao* p* rg*|rn* s|sa s*|S*
grup.nom* left n* W|Z* grup* p* aq*|ao* s* S*
grup.a* left aq*|ao* vm* grup* n*
grup.adv* left rg*|rn* grup* n*
grup.verb* right vm*|infinitiu|gerundi|participi vs* va* grup*
infinitiu right vm*|infinitiu|gerundi|participi vs* va*
gerundi right vm*|infinitiu|gerundi|participi vs* va*
participi right vm*|aq*|participi vs* va*
prep left s*
espec left d*|Z* rg*
espec.* left d*|Z* rg*
relatiu* right pr* grup* n*
coord left cc
conj left cs
conj.subord left cs
neg left rn
numero left Z
interjeccio left i|I
%conjunction coord cc
%minor F*
%unlisted left
"""

# Floresta (Portuguese), whose labels mark heads (H+n) until they are cleaned: the head's category, found again.
# In clauses, where the marks are P (predicator) and not H, the verb; in vp the main verb (MV there), which is the last.
FLORESTA = """
np* left n prop pron-indp|pron-pers np n-* cu pron-det num adj v-pcp|v-inf ap fcl|icl|acl art adv pp|advp
pp* left prp pp|prp- adv conj-s
ap left adj|v-pcp num cu ap pron-det adv pp
advp right adv advp n pron-det|pron-indp pp
fcl left v-fin|vp|vp- fcl v-inf|v-ger|v-pcp cu icl np|n|prop
icl left v-inf|v-ger|v-pcp|vp icl cu v-fin
acl left v-fin|v-inf|v-ger|v-pcp|vp np|n|prop|pron-det|pron-indp|pron-pers pp ap|adj fcl|icl|acl advp cu
vp* right v-pcp|v-inf|v-ger cu v-fin vp
sq right fcl|icl|acl cu np
cu left
? left v-fin|vp|v-inf|v-ger|v-pcp np|n|prop pp
%conjunction conj-c
%minor , . « » -- { } ; ... »" ! - ' [ ] / .. * "
%unlisted left
"""

# Sinica (Chinese): the scheme's Head: the verb of S and VP, the last noun of NP, P, Ng.  Phrases with 的, 地 or 得 have
# two heads there; the one that is taken is the semantic one (its role `head`), which says what the phrase is about.
SINICA = """
S left V_*|VA*|VB*|VC*|VD*|VE*|VF*|VG*|VH*|VI*|VJ*|VK*|VL*|V VP S
S right NP DM
VP left V_*|VA*|VB*|VC*|VD*|VE*|VF*|VG*|VH*|VI*|VJ*|VK*|VL*|V VP S NP
NP right Na*|Nb*|Nc*|Nd*|Nh*|Nv*|N|NP DM|Ne*|Nf* N*|V* S|VP
PP left P0*|P1*|P2*|P3*|P4*|P5*|P6*|PP NP
GP right Ng GP NP
N left N*
V left V*
DM left DM Neu N*
ADV left D*
N‧的 left N*
NP‧的 left NP N* S|VP DM
V‧的 left V*
VP‧的 left VP* V* S NP
S‧的 left S* VP* V* NP
GP‧的 left GP NP
PP‧的 left PP NP VP
DM‧的 left DM N*
A‧的 left A V*
ADV‧的 left D* ADV
V‧地 left V*
VP‧地 left VP* V*
ADV‧地 left D* ADV
DM‧地 left DM
N‧地 left N*
得‧VP right VP* V* S
得‧V right V* VP
得‧S right S VP
得‧NP right NP
%conjunction Ca*
%minor DE T* I Cb*
%unlisted left
"""

# Greynir (Icelandic): UD-like choices over its own categories; a tag is a word class with its morphology (no_et_þf_hk).
# Ours, with the lexical VP as the last of an auxiliary chain (VP-AUX VP, before the labels are cleaned).
GREYNIR = """
S0 left S
S left IP S VP CP NP ADVP PP
IP left VP IP CP NP
VP right VP so_*|so NP ADJP
NP left no_*|no person* sérnafn* fyrirtæki* entity* mælieining* pfn_* prósenta* abbrev* foreign*
NP left tala* NP abfn_* fn_* lo_* to_*|töl* dagsafs*|dagsföst*|tími*|ártal*|tímapunktur* raðnr* lén* gata*
NP left ADJP S CP IP gr_*
ADJP left lo_* ADJP to_*|töl*
PP left P PP fs* NP
P left fs* P ao*
ADVP left P ao*|eo ADVP dagsafs*|dagsföst*|tími*|ártal* NP
CP left IP CP VP NP ADVP
C right st* C
TO right nhm
FOREIGN left foreign
%conjunction C st stt
%minor grm
%unlisted left
"""

# MACULA Greek: clauses of functions (S subject, V verb, VC copula, P predicate, O object), phrases in lower case.
# Ours: the verb heads its clause, the noun the phrase with its article, the first of two nouns the second (a genitive).
# No conjunctions are named: γάρ and δέ stand second in their clause, and searches find the first conjunct anyway.
MACULA = """
CL left V VC CL P S O IO O2 ADV np vp
S left CL np adjp pp
V left vp verb
VC left vp verb
np left np|noun|pron|nump adjp|adj|num CL advp|adv pp det
vp left vp verb
pp left prep pp
adjp left adjp|adj np
advp left advp|adv
nump left nump|num
ADV left ADV CL pp advp np adjp
%minor PU conj ptcl intj
%unlisted left
"""

TABLES: dict[str, str] = {
    "penn": PENN,
    "idn": IDN,
    "historical": HISTORICAL,
    "keyaki": KEYAKI,
    "alpino": ALPINO,
    "cess": CESS,
    "floresta": FLORESTA,
    "sinica": SINICA,
    "greynir": GREYNIR,
    "macula": MACULA,
}
