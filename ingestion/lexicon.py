"""Word lists behind entity extraction: what can be no part of a domain term, or not its beginning or end."""

from __future__ import annotations

FUNCTION = frozenset(
    """
    a about above across after again against ago all almost along already also although always am among an and
    another any anyone anything are around as at away back be became because become becomes been before behind
    being below beside besides between beyond both but by came can cannot could did do does doing done down
    due during each either else enough especially etc even ever every everyone everything except few following
    for former forth from further furthermore had has have having he hence her here hereby herein him his how
    however i ie eg if in indeed inside instead into is it its itself just kept last latter less lest let like
    made mainly make makes making many may maybe me meanwhile might mine more moreover most mostly much must
    my namely near nearly neither never nevertheless next no nobody none nor not nothing now of off often on
    once one ones only onto or other others otherwise our ours ourselves out outside over own per perhaps
    rather regarding same several she should since so some somehow someone something sometimes somewhat soon
    still such take taken takes than that the their theirs them themselves then thence there thereby therefore
    therein these they thing things third this those though through throughout thus together too toward
    towards under unless unlike until unto up upon us use used uses using usually via was we well were what
    whatever when whence whenever where whereas whereby wherein whether which whichever while who whoever
    whole whom whose why will with within without would yes yet you your yours two three four five six seven
    eight nine ten first second hundred thousand versus vs respectively et al
    """.split()
)
DETERMINERS = frozenset("a an the this these those each every our its their some any no his her my your such".split())
PREPOSITIONS = frozenset(
    """
    of in for with by from on at into between among against over under without within via per through about
    across during and or as than
    """.split()
)
VERB_CUES = frozenset(
    """
    to we they it he she i you can could will would may might must should shall cannot not which who that also
    then do does did
    """.split()
)
# Forms of verbs of prose that are hardly ever nouns.
VERBS = frozenset(
    """
    shows shown showed showing reported reporting see sees seen saw give gives given gave giving get gets got
    find finds found consider considers considered considering propose proposes proposed proposing presented
    presenting apply applies applied applying describe describes described describing obtain obtains obtained
    obtaining achieve achieves achieved achieving compare compares compared comparing provide provides
    provided providing allow allows allowed require requires required requiring follow follows followed
    contain contains contained include includes included including define defines defined defining denote
    denotes denoted introduce introduces introduced introducing perform performs performed performing depend
    depends depended based led lead leads needed wants go goes going say says said tell think seem seems
    appear appears appeared become becoming called remain remains known lets try tries tried exist exists
    existed meant noted note assume assumes assumed suppose chosen choose chooses choosing select selects
    generate generates add adds adding increases increased increasing reduce reduces reduced reducing improve
    improves improved improving investigate investigates investigated investigating evaluate evaluates
    demonstrate demonstrates demonstrated demonstrating suggest suggests suggested suggesting indicate
    indicates indicated discuss discusses discussed discussing differ differs differed vary varies varied
    corresponding resulting according concerning underlying existing conduct conducts conducted conducting
    explain explains explained ensure ensures ensured enable enables enabled involve involves involved
    involving occur occurs occurred ignore ignores ignored avoid avoids avoided accept accepts write writes
    written wrote build builds built read reads take gives want sit sits
    """.split()
)
# Words that say nothing about the domain: a term neither starts nor ends with one.
GENERIC_MODIFIER = frozenset(
    """
    able above-mentioned additional aforementioned alternative appropriate available average basic best better
    big certain clear common complete complex considerable correct current different difficult early easy
    empirical entire equal equivalent exact existing extensive final first following full fundamental future
    general given good great high higher highest huge identical important independent individual initial
    interesting key large larger largest last late later latter least limited little long longer low lower
    lowest main major many maximum minimum minor modern necessary new newer next novel numerous old older only
    original other overall own particular possible potential practical present previous primary prior proper
    proposed real recent related relative relevant remaining representative respective right same second
    separate serious several short shorter significant similar simple simpler single slight small smaller
    smallest special specific standard straightforward strong stronger subsequent substantial successful
    sufficient suitable third top total traditional true typical unique useful usual various wide wrong entire
    actual apparent obvious reasonable few less more most much very too quite rather highly widely commonly
    typically directly left first last original classic classical so-called theoretical experimental
    preliminary hands-on unknown favorable favourable valid invalid introductory constant reported ready
    needed desired given expensive cheap fast faster slow slower effective efficient natural nice
    state-of-the-art well-known above below today yesterday half twice non old upper
    """.split()
)
GENERIC_HEAD = frozenset(
    """
    ability account addition advantage aim amount approach argument aspect assumption attempt author
    background basis beginning behavior behaviour benefit case cases choice comparison concept conclusion
    connection consequence contribution contrast correspondence counterpart day degree detail development
    difference difficulty direction discussion effect effort element end example experiment extension extent
    fact factor fashion figure finding focus future goal group half hand idea impact improvement increase
    individual instance interest issue item kind lack level limit limitation line list lot majority manner
    material matter means method methods minute need note notion number observation outcome overview page
    paper paragraph part people performance period person perspective picture piece place point portion
    position possibility practice presence problem procedure project property proposal purpose quality
    quantity question range reader reason reference regard requirement result results role row scenario scheme
    scope section sense setting setup shape side similarity situation size solution sort stage start statement
    step strategy study style subject success suggestion summary support task technique thing thought time
    title topic total type usage use user value variation variety version view way week word words work world
    year
    """.split()
)
# No term when it stands alone.
GENERIC_WORD = frozenset(
    """
    access action activity advance agreement algorithm analysis answer application article association
    assessment attention attribute balance batch behaviour body book box branch business call candidate
    category cause center chance chapter character check child children citation class client cluster code
    collaboration collection column command comment communication community company computation computer
    condition configuration construction content context contract control copy correction country course
    criterion criteria current customer cycle data date decision degree delay demand design device dialogue
    dimension distance distribution document domain draft economy education environment equation error
    estimate evaluation event evidence exercise existence expert exploration failure family file filter flow
    force format formula formulation framework function gain gap generation grade graph ground growth guide
    head health history home human image implementation implication import inclusion index industry inference
    information infrastructure input insight institution instruction intention interaction interface interval
    investigation job journal keyword label language law layer learner learning lecture length lesson letter
    library life link load location log loss machine management map margin market mass match measurement media
    medium member memory mention message metric mistake mode model module moment month motion motivation move
    movement name nature network node noise object objective operation operator opportunity option
    organization origin output owner pair paradigm parameter partition path patient penalty percentage phase
    phrase plan platform player plot policy population power precision prediction preference pressure
    principle priority probability process processing product production professional profile progress proof
    prototype provider publication pupil query race rank ranking rating ratio reaction reading recall
    recommendation record region relation relationship release repetition replacement representation
    reproduction request research resource response restriction retrieval review reward risk rule sample scale
    school score script search sector segment selection sentence separation sequence service session shift
    sign signal significance skill society software solver specification speed split square stability staff
    standard station statistic stimulus stop storage story strength string structure student sum surface
    survey symbol system table tail target teacher teaching team technology template tendency term test
    testing text theorem theory threshold tool track tradition training transfer transition translation
    treatment tree trial trust truth turn uncertainty union unit update validation vector vertex video visit
    vocabulary voice volume weight width window winner workflow workshop
    """.split()
)
LABELS = frozenset(
    """
    figure fig table tab section sect sec equation eq eqn appendix theorem lemma proposition corollary
    definition algorithm chapter footnote example remark step line page vol volume pp no ref reference
    references supplementary supplement listing box panel acknowledgement acknowledgements acknowledgment
    acknowledgments abstract keyword keywords
    """.split()
)
CALENDAR = frozenset(
    """
    january february march april may june july august september october november december jan feb mar apr jun
    jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday spring summer autumn
    winter century
    """.split()
)
# Venues, publishers, affiliations and licences: strings about papers, not about their subject.
BIBLIOGRAPHY = frozenset(
    """
    proceedings conference conf proc workshop symposium journal transactions letters magazine annual meeting
    international association society university universitat universite universidad universita college
    institute institut school faculty department dept laboratory laboratories inc ltd gmbh corporation corp
    company press publisher publishers publication publications preprint arxiv doi isbn issn url http https
    www com org edu html pdf copyright license licence commons creative rights reserved editor editors edited
    author authors affiliation corresponding email correspondence received accepted revised submitted
    manuscript reviewer reviewers committee foundation grant award funded funding acknowledgement thesis
    dissertation phd msc ieee acm aaai ijcai icml iclr nips neurips acl emnlp naacl eacl coling aistats uai
    cvpr iccv eccv kdd sigir www icassp pmlr jmlr lrec springer center centre agency organisation organization
    council ministry observatory administration bureau union chair kingdom nation republic government facility
    academy consortium springs elsevier wiley mit usa uk eu us street road avenue country city gmail yahoo
    """.split()
)
# As the last word of a name in capitals: rather an institution, a place or an event.
NAME_HEAD = frozenset(
    """
    research science sciences engineering state states building program programme challenge convention prize
    initiative chemistry biology physics medicine day days id college hall park river lake city community fund
    report
    """.split()
)
ADJECTIVE_ENDINGS = (
    "ed", "ing", "ly", "ous", "ive", "ful", "able", "ible", "al", "ic", "ary", "less", "prone", "like", "free",
    "aware", "wise", "ical", "ish", "ant", "ent",
)  # fmt: skip
ROMAN = frozenset("ii iii iv vi vii viii ix xi xii xiii xiv xv xvi".split())
