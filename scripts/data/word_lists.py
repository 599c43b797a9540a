"""Closed lists that the rules for questions look words up in.

The treebank says neither whether a noun stands for a person nor whether it stands for a
place or a time, and no list of words is fetched: these are common nouns that mean so in
nearly every use. A word that is missing costs a question or makes it ask "what" for
"who"; so what is doubtful is left out.
"""


def _words(text):
    return frozenset(text.split())


# Kin, callings and roles; no animals and no groups: a team is asked for with "what".
PERSONS = _words(
    """
    actor adult agent analyst artist assistant attorney aunt author baby barber
    bartender biologist boss boy boyfriend brother builder captain cashier chairman chef
    child citizen clerk client coach colleague commander commissioner contractor
    controller cook counselor cousin coworker critic customer dad dancer daughter
    defendant dentist designer developer diplomat director doctor driver employee
    engineer expert explorer farmer farrier father fellow fiance folk foreigner friend
    gentleman girl girlfriend governor grandfather grandma grandmother guest guide guy
    guerrilla hairdresser historian hostess husband immigrant infant inspector
    instructor investigator Islamist journalist judge kid killer lady landlord lawmaker
    lawyer leader librarian lieutenant mama man manager mayor mechanic militant minister
    mom mother musician neighbor nephew niece novelist nurse officer official operator
    owner painter parent pastor patient people person photographer physician pilot
    plumber player poet police policeman politician president priest prisoner producer
    professor programmer prosecutor receptionist rep reporter representative
    researcher resident reviewer sailor salesman scientist secretary senator server
    singer sister soldier son speaker spokesman spokesperson spokeswoman staff stranger
    student supervisor surgeon teacher technician teen teenager terrorist therapist
    tourist trainer translator uncle vet veteran victim visitor voter waiter waitress
    wife witness woman worker writer
    """
)
TITLES = _words(
    """
    Mr. Mrs. Ms. Dr. Mr Mrs Ms Dr President Senator Judge Governor Gov. General Gen.
    Minister Professor Prof. Captain Rev. Sen. Rep. King Queen Prince Sir Pope Mullah
    Ayatollah Sheikh Chairman Doctor
    """
)
# Where something can be, when it stands behind "in" or "at".
PLACES = _words(
    """
    airport apartment area bakery bar barn basement bathroom beach bedroom building cafe
    cage camp campus cave cemetery center centre church circle city classroom clinic
    club college corner country county crate dealership desert district downtown factory
    farm forest garage garden gym hall headquarters home hospital hotel house island
    kitchen lab lake library lobby location lot mall market mountain mosque museum
    neighborhood nest office park pasture pool prison province pub refinery region
    restaurant river room salon school shop sink sky south north east west stable state
    station store street studio suburb tank temple theater theatre town tree university
    valley village warehouse yard zone zoo
    """
)
# Days, months and parts of them: a time without a preposition ("last week").
TIMES = _words(
    """
    afternoon april august autumn century day decade december evening fall february
    friday january july june march may monday month morning night noon november
    october saturday season september spring summer sunday thursday today
    tomorrow tonight tuesday wednesday week weekend winter year yesterday
    jan feb mar apr jun jul aug sep sept oct nov dec jan. feb. mar. apr. jun. jul. aug.
    sep. sept. oct. nov. dec. mon tue tues wed thu thurs fri sat sun
    """
)
# These need a word before them to say when: "last week", not "weeks".
TIME_WORDS_BEFORE = _words("last next this that")
TIMES_ALONE = _words(
    """
    friday monday saturday sunday thursday today tomorrow tonight tuesday wednesday
    yesterday
    """
)
# Nouns that name nothing: no answers.
VAGUE = _words(
    """
    all anything bit couple everything fact few half kind lot many more most much none
    nothing number one other part piece plenty rest some something sort stuff thing type
    way which
    """
)
# With a bare noun they make one meaning: "take place", "make sense".
LIGHT_VERBS = _words("close do get give have keep lose make pay play take")
# What their clause says is not so, or not known to be.
NO_FACTS = _words(
    """
    ask believe demand deny doubt guess hope imagine insist pretend propose recommend
    request suggest suppose want wish wonder
    """
)
# Clauses that these open are told as facts; those of "if" and "unless" are not.
FACT_MARKS = _words(
    "that because although though while since when after before as until"
)
# With these at its end a question stays English: "What did the staff apologize for?"
STRANDED = _words("about against by for from into of to with")
# Behind these verbs "at" names an aim and no place.
AIMING_VERBS = _words(
    "aim fire glare laugh look point shoot shout smile stare throw yell"
)
# Adverbs that speak of the sentence before.
LINKING = _words("anyway either however nevertheless nonetheless though too")
